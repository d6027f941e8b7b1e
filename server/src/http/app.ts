import { Hono, type Context as HonoContext } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { mountAdmin } from '../admin/mount.ts'
import type { Context, Deps } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { Metrics } from '../metrics.ts'
import { recordAccess } from '../services/access.ts'
import { createApiSwitch } from '../services/api-switch.ts'
import { admit, type Env, type Visit, windowToShow } from './admit.ts'

import { admitOwner, admitSignIn } from './admit-owner.ts'
import { admitStore } from './admit-store.ts'
import { createLastUsed } from './authenticate.ts'
import { canonicalJson, MAX_NOTIFICATION_BYTES, nameable, parseJson, readBytes, readJson } from './body.ts'
import { browserOf } from './browser.ts'
import { clientAddress, clientNetwork } from './client-address.ts'
import { readQuery } from './coerce.ts'
import { mountHealth } from './health.ts'
import { mountMetrics } from './metrics.ts'
import { handlers } from './operations.ts'
import { createRateLimiter, type RateLimiter } from './rate-limit.ts'
import { refusalOf } from './refusal.ts'
import { requestIdOf } from './request-id.ts'
import type { Server } from './server.ts'
import { type Input, type Operation, type OperationId, operations } from './spec.ts'

type AnyHandler = (
  ctx: Context,
  input: Input<OperationId>,
) => Promise<{ status: number; body: unknown; headers?: Record<string, string> }>

export interface AppOptions {
  limiter?: RateLimiter
  metrics?: Metrics
}

/** The whole HTTP surface: everything about an operation but its use case comes from openapi.yaml. */
export function createApp(deps: Deps, options: AppOptions = {}): Hono<Env> {
  const server: Server = {
    deps,
    limiter: options.limiter ?? createRateLimiter(),
    apiSwitch: createApiSwitch(deps),
    noteUse: createLastUsed(deps),
    metrics: options.metrics,
  }
  const app = new Hono<Env>()
  app.use(visiting(server))
  mountHealth(app, deps)
  if (options.metrics) mountMetrics(app, options.metrics, deps.config.metricsToken)
  for (const op of operations) app.on(op.method, op.path, serve(server, op))
  for (const [path, methods] of methodsByPath()) {
    app.all(path, (c) => {
      c.header('Allow', methods.join(', '))
      throw new ApiError(405, 'method_not_allowed', `${c.req.method} is not allowed here.`)
    })
  }
  mountAdmin(app, server)
  app.all('*', () => {
    throw new ApiError(404, 'path_unknown', 'There is nothing at this path.')
  })
  app.onError((error, c) => renderError(server, error, c))
  return app
}

/** Names the request, and finishes every answer: request id, rate-limit headers, one log line without the query. */
function visiting(server: Server) {
  return async function visiting(c: HonoContext<Env>, next: () => Promise<void>): Promise<void> {
    const startedAt = performance.now()
    const visit: Visit = {
      authorization: c.req.header('Authorization') ?? null,
      address: clientNetwork(clientAddress(c, server.deps.config.trustProxy)),
      requestId: requestIdOf(c.req.header('X-Request-Id'), server.deps),
    }
    c.set('visit', visit)
    await next()
    c.header('X-Request-Id', visit.requestId)
    // Keys, tokens and who did what: nothing for a browser to keep.
    if (/^\/admin(\/|$)/.test(c.req.path) && !c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store')
    if (c.req.path.startsWith('/api/v1/')) {
      const { limit, remaining, reset } = await windowToShow(server, visit)
      c.header('X-RateLimit-Limit', String(limit))
      c.header('X-RateLimit-Remaining', String(remaining))
      c.header('X-RateLimit-Reset', String(reset))
    }
    const ms = performance.now() - startedAt
    server.metrics?.request(visit.operation ?? 'other', c.res.status, ms / 1000)
    server.deps.log.info(
      { requestId: visit.requestId, method: c.req.method, path: c.req.path, status: c.res.status, ms: Math.round(ms) },
      'request',
    )
  }
}

function serve(server: Server, op: Operation) {
  const handler = handlers[op.id] as unknown as AnyHandler
  return async function serve(c: HonoContext<Env>): Promise<Response> {
    c.get('visit').operation = op.id
    const bytes = op.credential === 'storeSignature' ? await readBytes(c.req.raw, MAX_NOTIFICATION_BYTES) : undefined
    const ctx = bytes ? await admitStore(server, bytes, c) : await letIn(server, op, c)
    const input = await readInput(op, c, bytes)
    if (op.takesIdempotencyKey) remember(ctx, op, c, input)
    const { status, body, headers = {} } = await handler(ctx, input)
    if (op.audit) await recordAccess(ctx, op.audit, Object.values<string>(input.path ?? {})[0] ?? null)
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    if (ctx.idempotency?.replayed) c.header('Idempotent-Replayed', 'true')
    if (op.deprecation) announceSunset(c, op.deprecation.sunset)
    if (typeof body === 'string') return c.html(body)
    if (body instanceof ReadableStream) return c.body(body, 200, STREAMED)
    return c.json(body, status as ContentfulStatusCode)
  }
}

/** Whoever the operation is for, or a refusal. */
async function letIn(server: Server, op: Operation, c: HonoContext<Env>): Promise<Context> {
  const visit = c.get('visit')
  if (op.credential === 'apiKey') return admit(server, op, visit)
  const browser = browserOf(c, server.deps.config.trustProxy)
  if (op.credential === 'ownerToken') return admitOwner(server, op, visit, browser)
  if (op.throttle === 'sign-in') await admitSignIn(server, visit.address, browser)
  // Who nobody let in has no shop; the use case finds out what it is about.
  return { ...server.deps, requestId: visit.requestId, isHttps: browser.isHttps } as Context
}

/** Nobody on the way may keep or gather what is to be read at once. */
const STREAMED = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

type RawInput = Input<OperationId> & { json: unknown }

/** `bytes`: the body, where it was needed before. */
async function readInput(op: Operation, c: HonoContext<Env>, bytes?: Uint8Array): Promise<RawInput> {
  const search = new URL(c.req.url).searchParams
  const query = op.readQuery(readQuery(op.queryParameters, search))
  const path = op.readPath(pathOf(c))
  const headers = op.headerParameters.length > 0 ? op.readHeaders(headersOf(op, c)) : {}
  const json = bytes ? parseJson(bytes, { exact: true }) : op.readBody && (await readJson(c.req.raw))
  return { query, path, headers, body: op.readBody?.(json), json } as RawInput
}

const headersOf = ({ headerParameters }: Operation, c: HonoContext<Env>): Record<string, string | undefined> =>
  Object.fromEntries(headerParameters.map(({ name }) => [name, c.req.header(name)]))

const pathOf = (c: HonoContext<Env>): Record<string, string> =>
  Object.fromEntries(Object.entries<string>(c.req.param()).map(([name, text]) => [name, nameable(text)]))

/** What an `Idempotency-Key` stands for: this operation with this query and this body, however they were written. */
function remember(ctx: Context, op: Operation, c: HonoContext<Env>, { query, json }: RawInput): void {
  const key = c.req.header('Idempotency-Key')
  op.readKey({ 'Idempotency-Key': key })
  if (key !== undefined)
    ctx.idempotency = { key, subject: `${op.path}\n${canonicalJson(query)}\n${canonicalJson(json)}` }
}

function announceSunset(c: HonoContext<Env>, sunset: string): void {
  c.header('Deprecation', `@${Math.floor(Date.parse(sunset) / 1000)}`)
  c.header('Sunset', new Date(sunset).toUTCString())
  c.header('Link', '</api/v1/docs>; rel="deprecation"')
}

function renderError(server: Server, thrown: Error, c: HonoContext<Env>): Response {
  const { status, code, message, retryAfter } = refusalOf(server, thrown, c.get('visit').requestId)
  c.header('X-Error-Code', code)
  if (retryAfter !== undefined) c.header('Retry-After', String(retryAfter))
  return c.json({ error: message }, status)
}

function methodsByPath(): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { path, method } of operations) paths.set(path, [...(paths.get(path) ?? []), method])
  return paths
}
