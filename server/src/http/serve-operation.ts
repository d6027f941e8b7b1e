import type { Context as HonoContext } from 'hono'
import type { Selection } from '../contract/selection.ts'
import type { AnyReply, ContextOf, Handlers, Input, Operation, OperationId, Scheme } from '../contract/spec.ts'
import type { Context, Contexts, PublicContext } from '../core/context.ts'
import { recordAccess } from '../core/mutate.ts'
import { admit, type Env, type Visit, windowToShow } from './authorize.ts'
import { admitOwner, admitSignIn } from './authorize-owner.ts'
import { admitStore, expectStore } from './authorize-store.ts'
import { addressHolder, type Holder, shopHolder, storeHolder } from './body-budget.ts'
import { clientAddress, clientNetwork } from './client-address.ts'
import { handlers } from './operations.ts'
import { NOSNIFF } from './page-headers.ts'
import { readQuery, searchOf } from './query.ts'
import { windowHeaders } from './rate-limit.ts'
import { readBody } from './read-body.ts'
import type { ReadJson } from './read-json.ts'
import {
  canonicalJson,
  LARGE,
  MAX_BODY_BYTES,
  MAX_NOTIFICATION_BYTES,
  parseBody,
  parseSelected,
} from './request-body.ts'
import { requestIdOf } from './request-id.ts'
import { type Answer, refusal, render } from './response.ts'
import type { Server } from './server.ts'
import { browserOf } from './session-cookie.ts'
import { nameable } from './storable.ts'

/** Serves one operation. Its response is made at once with all its headers: each one added later makes a new answer. */
export function serveOperation(server: Server, op: Operation) {
  return async function serveOperation(c: HonoContext<Env>): Promise<Response> {
    const visit = enter(server, c)
    visit.operation = op.id
    const answer = await perform(server, op, { c, visit }).catch((error) => refusal(server, error, visit.requestId))
    const usual = await usualHeaders(server, visit, op.path)
    leave(server, visit, c, answer.status)
    return render(answer, { ...usual, ...op.deprecation })
  }
}

export function enter(server: Server, c: HonoContext<Env>): Visit {
  const visit: Visit = {
    startedAt: performance.now(),
    authorization: c.req.header('Authorization') ?? null,
    get address() {
      return clientNetwork(clientAddress(c, server.deps.config.trustProxy))
    },
    requestId: requestIdOf(c.req.header('X-Request-Id'), server.deps),
  }
  c.set('visit', visit)
  return visit
}

/** What every answer carries. */
export async function usualHeaders(server: Server, visit: Visit, path: string): Promise<Record<string, string>> {
  // Keys, tokens and who did what: nothing for a browser to keep.
  const usual = { 'X-Request-Id': visit.requestId, ...NOSNIFF }
  if (/^\/admin(\/|$)/.test(path)) return { ...usual, 'Cache-Control': 'no-store' }
  if (!path.startsWith('/api/v1/')) return usual
  return { ...usual, ...windowHeaders(await windowToShow(server, visit)) }
}

export function leave({ metrics, deps }: Server, visit: Visit, c: HonoContext<Env>, status: number): void {
  visit.body?.release()
  const ms = performance.now() - visit.startedAt
  metrics?.request(visit.operation ?? 'other', status, ms / 1000)
  const { method, path } = c.req
  deps.log.info({ requestId: visit.requestId, method, path, status, ms: Math.round(ms) }, 'request')
}

interface Call {
  c: HonoContext<Env>
  visit: Visit
}

/** A caller who may send a body of `maxBodyBytes`. */
interface Admission<Ctx> {
  /** Whose turn it takes to read a large body. */
  subject: string
  holder: Holder
  maxBodyBytes: number
  /** Reads a body; `canonical` is the same text for all ways to write the same body. */
  parse: (bytes: Uint8Array, selection: Selection) => Promise<ReadJson>
  /** Undefined for a credential that covers the body, as the signature of a store does. */
  ctx: Ctx | undefined
  /** @throws ApiError 401, 403 or 429 for a credential that does not cover these bytes. */
  verify: (bytes: Uint8Array) => Promise<Ctx>
}

type Admit<Ctx> = (server: Server, op: Operation, call: Call) => Promise<Admission<Ctx>>

const verified = <Ctx>(ctx: Ctx, subject: string, holder: Holder): Admission<Ctx> => ({
  subject,
  holder,
  maxBodyBytes: MAX_BODY_BYTES,
  parse: parseBody,
  ctx,
  verify: async () => ctx,
})

const admissions: { [S in Scheme]: Admit<Contexts[S]> } = {
  apiKey: async (server, op, { visit }) => {
    const ctx = await admit(server, op, visit)
    return verified(ctx, ctx.shop.id, shopHolder(ctx.shop))
  },
  ownerToken: async (server, op, { c, visit }) => {
    const ctx = await admitOwner(server, op, visit, browserOf(c, server.deps.config.trustProxy))
    return verified(ctx, ctx.shop.id, shopHolder(ctx.shop))
  },
  storeSignature: async (server, _op, { c, visit }) => {
    const store = await expectStore(server, c)
    return {
      subject: store.shop.id,
      holder: storeHolder(store.shop, visit.address),
      maxBodyBytes: MAX_NOTIFICATION_BYTES,
      // A store sends no `Idempotency-Key`, so nothing is compared with the canonical text.
      parse: async (bytes, selection) => ({ value: await parseSelected(bytes, selection), canonical: 'null' }),
      ctx: undefined,
      verify: (bytes) => admitStore(server, store, bytes, visit),
    }
  },
  none: async (server, op, { c, visit }) => {
    const browser = browserOf(c, server.deps.config.trustProxy)
    if (op.throttle === 'sign-in') await admitSignIn(server, visit.address, browser)
    const ctx = { ...server.deps, requestId: visit.requestId, isHttps: browser.isHttps }
    return verified(ctx, visit.address, addressHolder(visit.address))
  },
}

async function perform<Id extends OperationId>(server: Server, op: Operation<Id>, call: Call): Promise<Answer> {
  const { c } = call
  const admitCaller: Admit<ContextOf<Id, Contexts>> = admissions[op.scheme]
  const admission = await admitCaller(server, op, call)
  // A caller whose signature is wrong learns nothing of what a notification must be.
  const early = admission.ctx && readParameters(op, c)
  const limit = op.maxBodyBytes ?? admission.maxBodyBytes
  const received = op.readBody && (await readBody(server, c, { limit, holder: admission.holder }))
  const bytes = received?.bytes ?? NO_BYTES
  const ctx = await admission.verify(bytes)
  // A caller whose credential was revoked while the body was arriving or waiting in line learns nothing from it.
  const recheck = async () => void (await shopContext(ctx)?.recheck?.(server.deps.db.read))
  if (received?.wasLate) await recheck()
  const parameters = early ?? readParameters(op, c)
  const read = () => admission.parse(bytes, op.selection)
  const readLater = () => server.readingLine.read(admission.subject, () => recheck().then(read))
  const json = op.readBody && (await (bytes.length > LARGE ? readLater() : read()))
  const body = op.readBody ? op.readBody(json?.value) : NO_BODY
  // HEAD never opens a stream.
  if (op.streams && c.req.method === 'HEAD') return { status: 200, body: new Blob().stream(), headers: {} }
  const caller = shopContext(ctx)
  if (caller && op.takesIdempotencyKey)
    remember(caller, op, c, { query: parameters.query, canonical: json?.canonical ?? 'null' })
  const handle: Handlers<Contexts>[Id] = handlers[op.id]
  const reply: AnyReply = await handle(ctx, { ...parameters, body })
  if (caller && op.audit) await recordAccess(caller, op.audit, Object.values(pathOf(c))[0] ?? null)
  const replayed = caller?.idempotency?.replayed && { 'Idempotent-Replayed': 'true' }
  return { status: reply.status, body: reply.body, headers: { ...reply.headers, ...replayed } }
}

/** The context of a caller who acts on a shop; undefined for a public operation. */
const shopContext = (ctx: PublicContext | Context): Context | undefined => ('shop' in ctx ? ctx : undefined)

const NO_BYTES = new Uint8Array()
/** The body of an operation that documents none. */
const NO_BODY = undefined as never

function readParameters<Id extends OperationId>(op: Operation<Id>, c: HonoContext<Env>): Omit<Input<Id>, 'body'> {
  const { queryParameters, pathParameters, headerParameters } = op
  return {
    query: op.readQuery(queryParameters.length > 0 ? readQuery(queryParameters, searchOf(c.req.url)) : {}),
    path: op.readPath(pathParameters.length > 0 ? pathOf(c) : {}),
    headers: op.readHeaders(headerParameters.length > 0 ? headersOf(op, c) : {}),
  }
}

const headersOf = ({ headerParameters }: Operation, c: HonoContext<Env>): Record<string, string | undefined> =>
  Object.fromEntries(headerParameters.map(({ name }) => [name, c.req.header(name)]))

const pathOf = (c: HonoContext<Env>): Record<string, string> =>
  Object.fromEntries(Object.entries<string>(c.req.param()).map(([name, text]) => [name, nameable(text)]))

/** What an `Idempotency-Key` stands for: this operation with this query and this body, however they were written. */
function remember(
  ctx: Context,
  op: Operation,
  c: HonoContext<Env>,
  { query, canonical }: { query: unknown; canonical: string },
): void {
  const key = c.req.header('Idempotency-Key')
  op.readKey({ 'Idempotency-Key': key })
  if (key !== undefined) ctx.idempotency = { key, subject: `${op.path}\n${canonicalJson(query)}\n${canonical}` }
}
