import type { Context as HonoContext } from 'hono'
import type { Input, Operation, OperationId } from '../contract/spec.ts'
import type { Context } from '../core/context.ts'
import { recordAccess } from '../core/mutate.ts'
import { admit, type Env, type Visit, windowToShow } from './authorize.ts'
import { admitOwner, admitSignIn } from './authorize-owner.ts'
import { admitStore, type ExpectedStore, expectStore } from './authorize-store.ts'
import { addressHolder, shopHolder, storeHolder } from './body-budget.ts'
import { clientAddress, clientNetwork } from './client-address.ts'
import { handlers } from './operations.ts'
import { NOSNIFF } from './page-headers.ts'
import { readQuery, searchOf } from './query.ts'
import { windowHeaders } from './rate-limit.ts'
import { type ReceivedBody, readBody } from './read-body.ts'
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

type AnyHandler = (
  ctx: Context,
  input: Input<OperationId>,
) => Promise<{ status: number; body: unknown; headers?: Record<string, string> }>

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

async function perform(server: Server, op: Operation, { c, visit }: Call): Promise<Answer> {
  const caller =
    op.credential === 'storeSignature' ? await expectStore(server, c) : await letIn(server, op, { c, visit })
  const isStore = 'signature' in caller
  const early = isStore ? undefined : readParameters(op, c)
  const received = op.readBody && (await receive(server, op, { c, visit }, caller))
  const bytes = received?.bytes ?? NO_BYTES
  const ctx = isStore ? await admitStore(server, caller, bytes, visit) : caller
  // A caller whose credential was revoked while the body was arriving or waiting in line learns nothing from it.
  const recheck = () => ctx.recheck?.(ctx.db.read)
  if (received?.wasLate) await recheck()
  // Nobody whose signature is wrong learns what a notification must be.
  const parameters = early ?? readParameters(op, c)
  const read = () => (isStore ? readNotification(op, parameters, bytes) : readInput(op, parameters, bytes))
  const readLater = () => server.readingLine.read(ctx.shop.id, () => Promise.resolve(recheck()).then(read))
  const input = await (bytes.length > LARGE ? readLater() : read())
  // A look at the headers is no reader.
  if (op.streams && c.req.method === 'HEAD') return { status: 200, body: new Blob().stream(), headers: {} }
  if (op.takesIdempotencyKey) remember(ctx, op, c, input)
  const handler = handlers[op.id] as unknown as AnyHandler
  const { status, body, headers = {} } = await handler(ctx, input)
  if (op.audit) await recordAccess(ctx, op.audit, Object.values<string>(input.path ?? {})[0] ?? null)
  const replayed = ctx.idempotency?.replayed && { 'Idempotent-Replayed': 'true' }
  return { status, body, headers: { ...headers, ...replayed } }
}

/** Whoever the operation is for, or a refusal. */
async function letIn(server: Server, op: Operation, { c, visit }: Call): Promise<Context> {
  if (op.credential === 'apiKey') return admit(server, op, visit)
  const browser = browserOf(c, server.deps.config.trustProxy)
  if (op.credential === 'ownerToken') return admitOwner(server, op, visit, browser)
  if (op.throttle === 'sign-in') await admitSignIn(server, visit.address, browser)
  // Who nobody let in has no shop; the use case finds out what it is about.
  return { ...server.deps, requestId: visit.requestId, isHttps: browser.isHttps } as Context
}

const NO_BYTES = new Uint8Array()

type Parameters = Pick<Input<OperationId>, 'query' | 'path' | 'headers'>
/** `canonical`: one text for all ways to write the same body. */
type RawInput = Input<OperationId> & { canonical: string }

function readParameters(op: Operation, c: HonoContext<Env>): Parameters {
  const query = op.queryParameters.length > 0 ? op.readQuery(readQuery(op.queryParameters, searchOf(c.req.url))) : {}
  const path = op.pathParameters.length > 0 ? op.readPath(pathOf(c)) : {}
  const headers = op.headerParameters.length > 0 ? op.readHeaders(headersOf(op, c)) : {}
  return { query, path, headers } as Parameters
}

function receive(
  server: Server,
  op: Operation,
  { c, visit }: Call,
  caller: Context | ExpectedStore,
): Promise<ReceivedBody> {
  if ('signature' in caller) {
    const holder = storeHolder(caller.shop, visit.address)
    return readBody(server, c, { limit: op.maxBodyBytes ?? MAX_NOTIFICATION_BYTES, holder })
  }
  const holder = op.credential === 'none' ? addressHolder(visit.address) : shopHolder(caller.shop)
  return readBody(server, c, { limit: op.maxBodyBytes ?? MAX_BODY_BYTES, holder })
}

async function readInput(op: Operation, parameters: Parameters, bytes: Uint8Array): Promise<RawInput> {
  if (!op.readBody) return { ...parameters, canonical: 'null' } as RawInput
  const { value, canonical } = await parseBody(bytes, op.selection)
  return { ...parameters, body: op.readBody(value), canonical } as RawInput
}

async function readNotification(op: Operation, parameters: Parameters, bytes: Uint8Array): Promise<RawInput> {
  const body = op.readBody?.(await parseSelected(bytes, op.selection))
  // A store sends no `Idempotency-Key`.
  return { ...parameters, body, canonical: 'null' } as RawInput
}

const headersOf = ({ headerParameters }: Operation, c: HonoContext<Env>): Record<string, string | undefined> =>
  Object.fromEntries(headerParameters.map(({ name }) => [name, c.req.header(name)]))

const pathOf = (c: HonoContext<Env>): Record<string, string> =>
  Object.fromEntries(Object.entries<string>(c.req.param()).map(([name, text]) => [name, nameable(text)]))

/** What an `Idempotency-Key` stands for: this operation with this query and this body, however they were written. */
function remember(ctx: Context, op: Operation, c: HonoContext<Env>, { query, canonical }: RawInput): void {
  const key = c.req.header('Idempotency-Key')
  op.readKey({ 'Idempotency-Key': key })
  if (key !== undefined) ctx.idempotency = { key, subject: `${op.path}\n${canonicalJson(query)}\n${canonical}` }
}
