import type { Context as HonoContext } from 'hono'
import type { Selection } from '../contract/selection.ts'
import type { AnyReply, ContextOf, Handlers, Operation, OperationId, Scheme } from '../contract/spec.ts'
import type { Context, Contexts, OperatorContext, PublicContext, StoreContext } from '../core/context.ts'
import { recordOperatorRequest } from '../core/installation.ts'
import { recordAccess } from '../core/mutate.ts'
import { formatTraceParent, parseTraceParent } from '../core/tracing.ts'
import { shopify } from '../domains/stores/shopify.ts'
import type { StoreSignature } from '../domains/stores/store.ts'
import { stripe } from '../domains/stores/stripe.ts'
import { authorizeKey, currentRateLimit, limitToAffiliate } from './authorize-key.ts'
import { authorizeOperator } from './authorize-operator.ts'
import { authorizeOwner, authorizeSignIn, browserRequestOf } from './authorize-owner.ts'
import { authorizeSite } from './authorize-site.ts'
import { authorizeStore, identifyStore } from './authorize-store.ts'
import { clientOf } from './client.ts'
import { corsHeaders, siteCorsHeaders } from './cors.ts'
import { toLinkPage } from './link-page.ts'
import { handlers } from './operations.ts'
import {
  canonicalJson,
  inTurn,
  LARGE_BODY_BYTES,
  MAX_BODY_BYTES,
  MAX_NOTIFICATION_BYTES,
  type ParsedBody,
  parseBody,
  parseNotification,
  pathParametersOf,
  readParameters,
} from './parse-request.ts'
import { rateLimitHeaders } from './rate-limit.ts'
import { type BodyHash, type BodyOwner, type ReceivedBody, readBody } from './read-body.ts'
import { type ApiResponse, errorResponse, NOSNIFF, toResponse } from './response.ts'
import {
  clientAddress,
  clientNetwork,
  type Env,
  logFields,
  type RequestState,
  resolveRequestId,
  type Server,
} from './server.ts'

/** Serves one operation. The response is built once with all its headers, because Hono copies it for each one added later. */
export function serveOperation(server: Server, op: Operation) {
  return async function serveOperation(c: HonoContext<Env>): Promise<Response> {
    const request = startRequest(server, c)
    request.operation = op.id
    const response = await execute(server, op, { c, request }).catch((error) => {
      const rejection = errorResponse(server, error, request)
      return op.site === 'link' ? toLinkPage(rejection, c.req.header('Accept')) : rejection
    })
    const headers = await standardHeaders(server, request, op.path)
    finishRequest(server, request, c, response.status)
    const cors =
      op.site === 'report'
        ? siteCorsHeaders(request.allowedOrigin)
        : corsHeaders(server.deps.config.corsOrigins, op, c.req.header('Origin'))
    return toResponse(response, { ...headers, ...cors, ...op.deprecation })
  }
}

/** Assigns the request id and starts the clock. */
export function startRequest(server: Server, c: HonoContext<Env>): RequestState {
  const parent = parseTraceParent(c.req.header('traceparent'))
  const span = server.tracing?.start(parent)
  const current = span ?? parent
  const request: RequestState = {
    startedAt: performance.now(),
    authorization: c.req.header('Authorization') ?? null,
    address: clientNetwork(clientAddress(c, server.deps.config.trustProxy)),
    requestId: resolveRequestId(c.req.header('X-Request-Id'), server.deps),
    traceId: current?.traceId,
    traceparent: current && formatTraceParent(current),
    span,
  }
  c.set('request', request)
  return request
}

/** The headers of every response. */
export async function standardHeaders(
  server: Server,
  request: RequestState,
  path: string,
): Promise<Record<string, string>> {
  const headers = { 'X-Request-Id': request.requestId, ...NOSNIFF }
  // These responses contain keys, tokens and the audit log.
  if (/^\/(admin|operator)(\/|$)/.test(path)) return { ...headers, ...NO_STORE }
  if (!path.startsWith('/api/v1/')) return headers
  const limits = rateLimitHeaders(await currentRateLimit(server, request))
  // All but the quick start contains personal data.
  return { ...headers, ...limits, ...(path !== '/api/v1/docs' && NO_STORE) }
}

const NO_STORE = { 'Cache-Control': 'no-store' }

/** Releases the memory of the body and writes metrics and one log line, without the query. */
export function finishRequest(
  { metrics, deps }: Server,
  request: RequestState,
  c: HonoContext<Env>,
  status: number,
): void {
  request.bodyReservation?.release()
  const ms = performance.now() - request.startedAt
  metrics?.request(request.operation ?? 'other', status, ms / 1000)
  const { method } = c.req
  const path = withoutAddresses(c.req.path)
  if (!PROBES.has(path)) endSpan(request, method, status)
  const level = PROBES.has(path) ? 'debug' : 'info'
  deps.log[level]({ ...logFields(request), method, path, status, ms: Math.round(ms) }, 'request')
}

/** An order id of the caller can contain an email address, and a link a person's name, which logs could not forget. */
const withoutAddresses = (path: string): string => {
  const text = /@|%40/i.test(path) ? path.replace(/[^/]*(?:@|%40)[^/]*/gi, '[address]') : path
  return text.replace(/^(\/r\/[^/]*\/).*/, '$1[ref]')
}

/** Names the span by the operation: paths contain ids. */
function endSpan({ span, operation, caller, requestId }: RequestState, method: string, status: number): void {
  span?.end({
    name: operation ?? method,
    isError: status >= 500,
    attributes: {
      'http.request.method': method,
      'http.response.status_code': status,
      'referral.request.id': requestId,
      'referral.shop.id': caller?.shopId,
      'referral.key.id': caller?.keyId,
    },
  })
}

/** Called every few seconds by machines. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics'])

interface IncomingCall {
  c: HonoContext<Env>
  request: RequestState
}

/** An authorized caller, and how to read its body. */
interface Authorization<Ctx> {
  bodyOwner: BodyOwner
  maxBodyBytes: number
  parse: (bytes: Uint8Array, selection: Selection) => Promise<ParsedBody>
  /** Undefined until {@link verify} for a credential that covers the body, such as a store's signature. */
  ctx: Ctx | undefined
  /** Updated with the bytes of the body as they arrive, before {@link verify}. */
  hash?: BodyHash
  /** @throws ApiError 401, 403 or 429 when the credential does not cover the body. */
  verify: () => Promise<Ctx>
}

type Authorizer<Ctx> = (server: Server, op: Operation, call: IncomingCall) => Promise<Authorization<Ctx>>

const authorized = <Ctx>(ctx: Ctx, bodyOwner: BodyOwner): Authorization<Ctx> => ({
  bodyOwner,
  maxBodyBytes: MAX_BODY_BYTES,
  parse: parseBody,
  ctx,
  verify: async () => ctx,
})

/** A notification of a store, whose signature covers the body. */
const notification =
  ({ signature }: { signature: StoreSignature }): Authorizer<StoreContext> =>
  async (server, _op, { c, request }) => {
    const store = await identifyStore(server, c, signature)
    request.caller = { shopId: store.shop.id }
    return {
      bodyOwner: `address ${request.address}`,
      maxBodyBytes: MAX_NOTIFICATION_BYTES,
      parse: parseNotification,
      ctx: undefined,
      hash: store.hash,
      verify: () => authorizeStore(server, store, request),
    }
  }

const authorizers: { [S in Scheme]: Authorizer<Contexts[S]> } = {
  apiKey: async (server, op, { request }) => {
    const ctx = await authorizeKey(server, op, request)
    return authorized(ctx, `shop ${ctx.shop.id}`)
  },
  ownerToken: async (server, op, { c, request }) => {
    const ctx = await authorizeOwner(server, op, request, browserRequestOf(c, server.deps.config))
    return authorized(ctx, `shop ${ctx.shop.id}`)
  },
  storeSignature: notification(shopify),
  stripeSignature: notification(stripe),
  operatorToken: async (server, _op, { request }) => {
    const ctx = await authorizeOperator(server, request)
    return authorized(ctx, `address ${request.address}`)
  },
  site: async (server, op, call) =>
    authorized(await authorizeSite(server, op, call), `address ${call.request.address}`),
  none: async (server, op, { c, request }) => {
    const browser = browserRequestOf(c, server.deps.config)
    if (op.throttle === 'sign-in') await authorizeSignIn(server, request.address, browser)
    const { requestId, address } = request
    const client = clientOf(c, address)
    const ctx = { ...server.deps, requestId, isHttps: browser.isHttps, origin: browser.origin, client }
    return authorized(ctx, `address ${request.address}`)
  },
}

/** Serves one request in five steps. */
async function execute<Id extends OperationId>(
  server: Server,
  op: Operation<Id>,
  call: IncomingCall,
): Promise<ApiResponse> {
  const authorize: Authorizer<ContextOf<Id, Contexts>> = authorizers[op.scheme]
  const caller = await authorize(server, op, call) // 401, 403, 429
  const received = op.readBody && (await receiveBody(server, op, call, caller)) // 400, 503
  const ctx = await confirm(server, caller, received) // 401: a store's signature, a key revoked meanwhile
  const input = await parseInput(server, op, call, { ctx, parse: caller.parse, bytes: received?.bytes }) // 400
  return respond(server, op, call, { ctx, input })
}

const receiveBody = <Id extends OperationId>(
  server: Server,
  op: Operation<Id>,
  { c }: IncomingCall,
  { maxBodyBytes, bodyOwner: owner, hash }: Authorization<ContextOf<Id, Contexts>>,
): Promise<ReceivedBody> => readBody(server, c, { limit: op.maxBodyBytes ?? maxBodyBytes, owner, hash })

/** The context of the request. A credential may have been revoked while the body was arriving. */
async function confirm<Ctx extends AnyContext>(
  server: Server,
  { verify }: Authorization<Ctx>,
  received: ReceivedBody | undefined,
): Promise<Ctx> {
  const ctx = await verify()
  if (received?.wasLate) await recheck(server, ctx)
  return ctx
}

/** What a handler receives, and what the stored response and the headers need. */
interface ParsedInput<Id extends OperationId> {
  input: Parameters<Handlers<Contexts>[Id]>[1]
  /** All of the body, as it was sent. */
  all: unknown
  ignored: string[]
}

async function parseInput<Id extends OperationId>(
  server: Server,
  op: Operation<Id>,
  { c }: IncomingCall,
  {
    ctx,
    parse,
    bytes,
  }: { ctx: ContextOf<Id, Contexts>; bytes: Uint8Array | undefined } & Pick<Authorization<unknown>, 'parse'>,
): Promise<ParsedInput<Id>> {
  // After the signature, so that validation errors reach authorized callers only.
  const read = readParameters(op, c)
  const affiliateId = 'affiliateId' in ctx ? ctx.affiliateId : undefined
  const query = affiliateId === undefined ? read.query : limitToAffiliate(op, affiliateId, read.query)
  const { readBody } = op
  if (!readBody || !bytes) return { input: { ...read, query, body: NO_BODY }, all: undefined, ignored: [] }
  const parseNow = async () => {
    const { all, value, ignored } = await parse(bytes, op.selection)
    const body = await readBody.inSlices(value)
    return { input: { ...read, query, body }, all, ignored: [...ignored, ...readBody.namesOfOthers(value)] }
  }
  if (bytes.length <= LARGE_BODY_BYTES) return parseNow()
  return inTurn(() => recheck(server, ctx).then(parseNow))
}

async function respond<Id extends OperationId>(
  server: Server,
  op: Operation<Id>,
  { c }: IncomingCall,
  { ctx, input: { input, all, ignored } }: { ctx: ContextOf<Id, Contexts>; input: ParsedInput<Id> },
): Promise<ApiResponse> {
  // HEAD writes no audit record of an export.
  if (op.isNdjson && c.req.method === 'HEAD') return { status: 200, body: new Blob().stream(), headers: {} }
  const operator = operatorContext(ctx)
  if (operator) await recordOperatorRequest(operator, op.id, pathParametersOf(c).shopId ?? null)
  const caller = shopContext(ctx)
  if (caller && op.acceptsIdempotencyKey) await setIdempotencyKey(caller, op, c, { query: input.query, body: all })
  const handle: Handlers<Contexts>[Id] = handlers[op.id]
  const run = async (): Promise<AnyReply> => handle(ctx, input)
  const isRead = caller && op.method === 'GET' && !op.isNdjson && !op.site
  const reply = await (isRead ? server.readTurns.run(caller.shop.id, run, () => recheck(server, ctx)) : run())
  if (caller && op.audit) await recordAccess(caller, op.audit, Object.values(pathParametersOf(c))[0] ?? null)
  const replayed = caller?.idempotency?.replayed && { 'Idempotent-Replayed': 'true' }
  const headers = { ...reply.headers, ...replayed, ...ignoredHeader(ignored) }
  return { status: reply.status, body: reply.body, headers }
}

/** @throws ApiError 401 or 403 when the credential was revoked meanwhile. */
async function recheck(server: Server, ctx: AnyContext): Promise<void> {
  await shopContext(ctx)?.recheck?.(server.deps.db.read)
}

/** Proxies buffer few headers. */
const MAX_IGNORED_LENGTH = 1024

/** Lists the ignored properties of a body. Names of the caller may contain any character, a header only some. */
function ignoredHeader(paths: string[]): Record<string, string> {
  if (paths.length === 0) return {}
  const names = paths.map((path) => path.replaceAll(/[^!-+\--~]/gu, encodeURIComponent))
  return { 'X-Ignored-Properties': names.join(', ').slice(0, MAX_IGNORED_LENGTH) }
}

type AnyContext = PublicContext | OperatorContext | Context

/** The context of a caller of a shop; undefined for a public operation and for the operator. */
const shopContext = (ctx: AnyContext): Context | undefined => ('shop' in ctx ? ctx : undefined)

const operatorContext = (ctx: AnyContext): OperatorContext | undefined =>
  'actor' in ctx && !('shop' in ctx) ? ctx : undefined

/** The body of an operation without a request body. */
const NO_BODY = undefined as never

/** Binds an `Idempotency-Key` to the operation, its query and its canonical body. */
async function setIdempotencyKey(
  ctx: Context,
  op: Operation,
  c: HonoContext<Env>,
  { query, body }: { query: unknown; body: unknown },
): Promise<void> {
  const key = c.req.header('Idempotency-Key')
  op.readKey({ 'Idempotency-Key': key })
  if (key === undefined) return
  const subject = `${op.path}\n${canonicalJson(query)}\n${canonicalJson(body)}`
  ctx.idempotency = { key, fingerprints: ctx.vault.fingerprints(subject) }
}
