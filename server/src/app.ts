import { Hono, type Context as HonoContext } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { mountAdmin } from './admin/mount.ts'
import { ApiError } from './contract/errors.ts'
import { operations } from './contract/spec.ts'
import { createApiSwitch } from './core/api-switch.ts'
import type { Deps } from './core/context.ts'
import type { Metrics } from './core/metrics.ts'
import { createLastUsed } from './http/authenticate.ts'
import type { Env } from './http/authorize.ts'
import { BodyBudget } from './http/body-budget.ts'
import { mountDocument } from './http/docs.ts'
import { mountHealth, mountMetrics } from './http/health.ts'
import { ReadingLine } from './http/parse-queue.ts'
import { createRateLimiter, type RateLimiter } from './http/rate-limit.ts'
import { allowHeader, refusal } from './http/response.ts'
import { PlainPathsFirst } from './http/router.ts'
import { enter, leave, serveOperation, usualHeaders } from './http/serve-operation.ts'
import type { Server } from './http/server.ts'

export interface AppOptions {
  limiter?: RateLimiter
  bodies?: BodyBudget
  metrics?: Metrics
}

/** The whole HTTP surface: everything about an operation but its use case comes from openapi.yaml. */
export function createApp(deps: Deps, options: AppOptions = {}): Hono<Env> {
  const server: Server = {
    deps,
    limiter: options.limiter ?? createRateLimiter(),
    bodies: options.bodies ?? new BodyBudget(),
    readingLine: new ReadingLine(),
    apiSwitch: createApiSwitch(deps),
    noteUse: createLastUsed(deps),
    metrics: options.metrics,
  }
  const app = new Hono<Env>({ router: new PlainPathsFirst() })
  for (const op of operations) app.on(op.method, op.path, serveOperation(server, op))
  // For whatever no operation answers.
  app.use(visiting(server))
  mountHealth(app, deps)
  mountDocument(app, server)
  if (options.metrics) mountMetrics(app, options.metrics, deps.config.metricsToken)
  for (const [path, methods] of methodsByPath()) {
    app.all(path, (c) => {
      c.header('Allow', allowHeader(methods))
      throw new ApiError(405, 'method_not_allowed', `${c.req.method} is not allowed here.`)
    })
  }
  mountAdmin(app, server)
  app.all('*', () => {
    throw new ApiError(404, 'path_unknown', 'There is nothing at this path.')
  })
  app.onError((error, c) => {
    const { status, body, headers } = refusal(server, error, c.get('visit').requestId)
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    return c.json(body, status as ContentfulStatusCode)
  })
  return app
}

/** Names the request, and finishes the answer: request id, rate-limit headers, one log line without the query. */
function visiting(server: Server) {
  return async function visiting(c: HonoContext<Env>, next: () => Promise<void>): Promise<void> {
    const visit = enter(server, c)
    await next()
    for (const [name, value] of Object.entries(await usualHeaders(server, visit, c.req.path)))
      if (!c.res.headers.has(name)) c.header(name, value)
    leave(server, visit, c, c.res.status)
  }
}

function methodsByPath(): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { path, method } of operations) paths.set(path, [...(paths.get(path) ?? []), method])
  return paths
}
