import type { Context as HonoContext } from 'hono'
import type { Selection } from '../contract/selection.ts'
import type { AnyReply, ContextOf, Handlers, Operation, OperationId, Scheme } from '../contract/spec.ts'
import type { Context, Contexts, PublicContext } from '../core/context.ts'
import { recordAccess } from '../core/mutate.ts'
import { authorizeKey, currentRateLimit } from './authorize-key.ts'
import { authorizeOwner, authorizeSignIn, browserRequestOf } from './authorize-owner.ts'
import { authorizeStore, identifyStore } from './authorize-store.ts'
import { addressOwner, type BodyOwner, shopOwner, storeOwner } from './body-budget.ts'
import { clientAddress, clientNetwork } from './client-address.ts'
import { handlers } from './operations.ts'
import {
  canonicalJson,
  LARGE_BODY_BYTES,
  MAX_BODY_BYTES,
  MAX_NOTIFICATION_BYTES,
  parseBody,
  parseNotification,
} from './parse-body.ts'
import type { ParsedJson } from './parse-json.ts'
import { rateLimitHeaders } from './rate-limit.ts'
import { readBody } from './read-body.ts'
import { pathParametersOf, readParameters } from './read-parameters.ts'
import { type ApiResponse, errorResponse, NOSNIFF, toResponse } from './response.ts'
import type { Server } from './server.ts'
import { type Env, type RequestState, resolveRequestId } from './server.ts'

/** Serves one operation. Its response is made at once with all its headers: each one added later makes a new answer. */
export function serveOperation(server: Server, op: Operation) {
  return async function serveOperation(c: HonoContext<Env>): Promise<Response> {
    const request = startRequest(server, c)
    request.operation = op.id
    const answer = await execute(server, op, { c, request }).catch((error) =>
      errorResponse(server, error, request.requestId),
    )
    const usual = await standardHeaders(server, request, op.path)
    finishRequest(server, request, c, answer.status)
    return toResponse(answer, { ...usual, ...op.deprecation })
  }
}

export function startRequest(server: Server, c: HonoContext<Env>): RequestState {
  const request: RequestState = {
    startedAt: performance.now(),
    authorization: c.req.header('Authorization') ?? null,
    get address() {
      return clientNetwork(clientAddress(c, server.deps.config.trustProxy))
    },
    requestId: resolveRequestId(c.req.header('X-Request-Id'), server.deps),
  }
  c.set('request', request)
  return request
}

/** What every answer carries. */
export async function standardHeaders(
  server: Server,
  request: RequestState,
  path: string,
): Promise<Record<string, string>> {
  // Keys, tokens and who did what: nothing for a browser to keep.
  const usual = { 'X-Request-Id': request.requestId, ...NOSNIFF }
  if (/^\/admin(\/|$)/.test(path)) return { ...usual, 'Cache-Control': 'no-store' }
  if (!path.startsWith('/api/v1/')) return usual
  return { ...usual, ...rateLimitHeaders(await currentRateLimit(server, request)) }
}

export function finishRequest(
  { metrics, deps }: Server,
  request: RequestState,
  c: HonoContext<Env>,
  status: number,
): void {
  request.bodyReservation?.release()
  const ms = performance.now() - request.startedAt
  metrics?.request(request.operation ?? 'other', status, ms / 1000)
  const { method, path } = c.req
  deps.log.info({ requestId: request.requestId, method, path, status, ms: Math.round(ms) }, 'request')
}

interface IncomingCall {
  c: HonoContext<Env>
  request: RequestState
}

/** A caller who may send a body of `maxBodyBytes`. */
interface Authorization<Ctx> {
  /** Whose turn it takes to read a large body. */
  subject: string
  holder: BodyOwner
  maxBodyBytes: number
  /** Reads a body; `canonical` is the same text for all ways to write the same body. */
  parse: (bytes: Uint8Array, selection: Selection) => Promise<ParsedJson>
  /** Undefined for a credential that covers the body, as the signature of a store does. */
  ctx: Ctx | undefined
  /** @throws ApiError 401, 403 or 429 for a credential that does not cover these bytes. */
  verify: (bytes: Uint8Array) => Promise<Ctx>
}

type Authorizer<Ctx> = (server: Server, op: Operation, call: IncomingCall) => Promise<Authorization<Ctx>>

const authorized = <Ctx>(ctx: Ctx, subject: string, holder: BodyOwner): Authorization<Ctx> => ({
  subject,
  holder,
  maxBodyBytes: MAX_BODY_BYTES,
  parse: parseBody,
  ctx,
  verify: async () => ctx,
})

const authorizers: { [S in Scheme]: Authorizer<Contexts[S]> } = {
  apiKey: async (server, op, { request }) => {
    const ctx = await authorizeKey(server, op, request)
    return authorized(ctx, ctx.shop.id, shopOwner(ctx.shop))
  },
  ownerToken: async (server, op, { c, request }) => {
    const ctx = await authorizeOwner(server, op, request, browserRequestOf(c, server.deps.config.trustProxy))
    return authorized(ctx, ctx.shop.id, shopOwner(ctx.shop))
  },
  storeSignature: async (server, _op, { c, request }) => {
    const store = await identifyStore(server, c)
    return {
      subject: store.shop.id,
      holder: storeOwner(store.shop, request.address),
      maxBodyBytes: MAX_NOTIFICATION_BYTES,
      // A store sends no `Idempotency-Key`, so nothing is compared with the canonical text.
      parse: async (bytes, selection) => ({ value: await parseNotification(bytes, selection), canonical: 'null' }),
      ctx: undefined,
      verify: (bytes) => authorizeStore(server, store, bytes, request),
    }
  },
  none: async (server, op, { c, request }) => {
    const browser = browserRequestOf(c, server.deps.config.trustProxy)
    if (op.throttle === 'sign-in') await authorizeSignIn(server, request.address, browser)
    const ctx = { ...server.deps, requestId: request.requestId, isHttps: browser.isHttps }
    return authorized(ctx, request.address, addressOwner(request.address))
  },
}

async function execute<Id extends OperationId>(
  server: Server,
  op: Operation<Id>,
  call: IncomingCall,
): Promise<ApiResponse> {
  const { c } = call
  const admitCaller: Authorizer<ContextOf<Id, Contexts>> = authorizers[op.scheme]
  const admission = await admitCaller(server, op, call)
  // A caller whose signature is wrong learns nothing of what a notification must be.
  const early = admission.ctx && readParameters(op, c)
  const limit = op.maxBodyBytes ?? admission.maxBodyBytes
  const received = op.readBody && (await readBody(server, c, { limit, owner: admission.holder }))
  const bytes = received?.bytes ?? NO_BYTES
  const ctx = await admission.verify(bytes)
  // A caller whose credential was revoked while the body was arriving or waiting in line learns nothing from it.
  const recheck = async () => void (await shopContext(ctx)?.recheck?.(server.deps.db.read))
  if (received?.wasLate) await recheck()
  const parameters = early ?? readParameters(op, c)
  const read = () => admission.parse(bytes, op.selection)
  const readLater = () => server.parseQueue.run(admission.subject, () => recheck().then(read))
  const json = op.readBody && (await (bytes.length > LARGE_BODY_BYTES ? readLater() : read()))
  const body = op.readBody ? op.readBody(json?.value) : NO_BODY
  // HEAD never opens a stream.
  if (op.streams && c.req.method === 'HEAD') return { status: 200, body: new Blob().stream(), headers: {} }
  const caller = shopContext(ctx)
  if (caller && op.takesIdempotencyKey)
    setIdempotencyKey(caller, op, c, { query: parameters.query, canonical: json?.canonical ?? 'null' })
  const handle: Handlers<Contexts>[Id] = handlers[op.id]
  const reply: AnyReply = await handle(ctx, { ...parameters, body })
  if (caller && op.audit) await recordAccess(caller, op.audit, Object.values(pathParametersOf(c))[0] ?? null)
  const replayed = caller?.idempotency?.replayed && { 'Idempotent-Replayed': 'true' }
  return { status: reply.status, body: reply.body, headers: { ...reply.headers, ...replayed } }
}

/** The context of a caller who acts on a shop; undefined for a public operation. */
const shopContext = (ctx: PublicContext | Context): Context | undefined => ('shop' in ctx ? ctx : undefined)

const NO_BYTES = new Uint8Array()
/** The body of an operation that documents none. */
const NO_BODY = undefined as never

/** What an `Idempotency-Key` stands for: this operation with this query and this body, however they were written. */
function setIdempotencyKey(
  ctx: Context,
  op: Operation,
  c: HonoContext<Env>,
  { query, canonical }: { query: unknown; canonical: string },
): void {
  const key = c.req.header('Idempotency-Key')
  op.readKey({ 'Idempotency-Key': key })
  if (key !== undefined) ctx.idempotency = { key, subject: `${op.path}\n${canonicalJson(query)}\n${canonical}` }
}
