import { Hono, type Context as HonoContext } from 'hono'
import { COMPRESSIBLE_CONTENT_TYPE_REGEX, compress } from 'hono/compress'
import type { Result, Router } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { pathUnknown } from './contract/errors.ts'
import { operations } from './contract/spec.ts'
import type { Deps } from './core/context.ts'
import { createHealthCheck } from './core/health.ts'
import { createApiSwitch } from './core/installation.ts'
import type { Metrics } from './core/metrics.ts'
import type { Tracing } from './core/tracing.ts'
import type { PageBindings } from './dashboard/mount.ts'
import { mountApiReference, mountDocument } from './http/api-reference.ts'
import { createKeyUseRecorder } from './http/authorize-key.ts'
import { mountPreflights, mountSitePreflights } from './http/cors.ts'
import { type HealthOptions, mountHealth, mountMetrics } from './http/health.ts'
import { createRateLimiter, type RateLimiter } from './http/rate-limit.ts'
import { BodyBudget } from './http/read-body.ts'
import { ReadTurns } from './http/read-turns.ts'
import { errorResponse, rejectMethod } from './http/response.ts'
import { finishRequest, serveOperation, standardHeaders, startRequest } from './http/serve-operation.ts'
import type { Env, Server } from './http/server.ts'

interface AppOptions {
  limiter?: RateLimiter
  bodyBudget?: BodyBudget
  metrics?: Metrics
  tracing?: Tracing | undefined
  checkHealth?: HealthOptions['checkHealth']
  isDraining?: HealthOptions['isDraining']
}

/** Composes the HTTP surface. Everything about an operation except its use case comes from openapi.yaml. */
export function createApp(deps: Deps, options: AppOptions = {}): Hono<Env> {
  const server: Server = {
    deps,
    limiter: options.limiter ?? createRateLimiter(),
    bodyBudget: options.bodyBudget ?? new BodyBudget(),
    readTurns: new ReadTurns(),
    apiSwitch: createApiSwitch(deps),
    recordKeyUse: createKeyUseRecorder(deps),
    metrics: options.metrics,
    tracing: options.tracing,
  }
  const app = new Hono<Env>({ router: new StaticPathsFirstRouter() })
  for (const op of operations) {
    const serve = serveOperation(server, op)
    app.on(op.method, op.path, op.path === DOCS_PATH || op.site === 'script' ? compressed(serve) : serve)
  }
  // Only paths that no operation serves: operations track their own requests.
  app.use(trackRequest(server))
  app.use(compression)
  mountHealth(app, { checkHealth: createHealthCheck(deps), ...options })
  mountDocument(app, server)
  mountApiReference(app, server)
  if (options.metrics) mountMetrics(app, options.metrics, deps.config.metricsToken)
  mountPreflights(app, deps.config.corsOrigins, operations)
  mountSitePreflights(app, server, operations)
  for (const [path, methods] of methodsByPath()) app.all(path, rejectMethod(methods))
  mountDashboard(app, server)
  app.all('*', () => {
    throw pathUnknown()
  })
  app.onError((error, c) => {
    const { status, body, headers } = errorResponse(server, error, c.get('request'))
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    return c.json(body, status as ContentfulStatusCode)
  })
  return app
}

let dashboard: Promise<typeof import('./dashboard/mount.ts')> | undefined

/** Loads the pages once: Node.js looks for the file again for each file that imports it. */
export const loadDashboard = () => {
  dashboard ??= import('./dashboard/mount.ts')
  return dashboard
}

/** Mounts the pages, which are loaded with the first request for one: no request of the API needs them. */
function mountDashboard(app: Hono<Env>, server: Server): void {
  let pages: Promise<Hono<Env>> | undefined
  const serve = async (c: HonoContext<Env>, next: () => Promise<void>) => {
    if (c.req.path.startsWith('/admin/v1/')) return next()
    pages ??= loadDashboard().then(({ createDashboard }) => createDashboard(server))
    const bindings: PageBindings = { ...(c.env as object), request: c.get('request') }
    return (await pages).fetch(c.req.raw, bindings)
  }
  app.all('/admin/*', serve)
  app.all('/affiliate/*', serve)
}

const DOCS_PATH = '/api/v1/docs'

const compression = compress({
  contentTypeFilter: (type) => COMPRESSIBLE_CONTENT_TYPE_REGEX.test(type) || type.startsWith('application/yaml'),
})

/** Compresses operations that serve a page or a script. Other responses are too small to benefit. */
const compressed =
  (serve: (c: HonoContext<Env>) => Promise<Response>) =>
  async (c: HonoContext<Env>): Promise<Response> => {
    await compression(c, async () => {
      c.res = await serve(c)
    })
    return c.res
  }

/** Starts and finishes a request that no operation serves: request ID, standard headers, metrics and log line. */
function trackRequest(server: Server) {
  return async function trackRequest(c: HonoContext<Env>, next: () => Promise<void>): Promise<void> {
    const request = startRequest(server, c)
    await next()
    for (const [name, value] of Object.entries(await standardHeaders(server, request, c.req.path)))
      if (!c.res.headers.has(name)) c.header(name, value)
    finishRequest(server, request, c, c.res.status)
  }
}

function methodsByPath(): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { path, method } of operations) paths.set(path, [...(paths.get(path) ?? []), method])
  return paths
}

/**
 * Matches static paths that were added before any middleware with one map lookup, without middleware. Everything else
 * goes to Hono's trie router.
 */
class StaticPathsFirstRouter<T> implements Router<T> {
  readonly name = 'StaticPathsFirst'
  readonly #static = new Map<string, Result<T>>()
  readonly #trie = new TrieRouter<T>()
  #beforeMiddleware = true

  add(method: string, path: string, handler: T): void {
    if (path.includes('*')) this.#beforeMiddleware = false
    const key = `${method} ${path}`
    const isStatic = this.#beforeMiddleware && method !== 'ALL' && !/[:{]/.test(path)
    if (isStatic && !this.#static.has(key)) this.#static.set(key, [[[handler, {}]]])
    this.#trie.add(method, path, handler)
  }

  match(method: string, path: string): Result<T> {
    return this.#static.get(`${method} ${path}`) ?? this.#trie.match(method, path)
  }
}
