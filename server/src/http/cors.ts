import type { Context, Hono, Next } from 'hono'
import type { Operation } from '../contract/spec.ts'
import { findSite, isFromSite } from './authorize-site.ts'
import { limitPublic } from './rate-limit.ts'
import type { Env, Server } from './server.ts'

/** Headers that a page may send, and headers that it may read beyond the ones browsers always allow. */
const REQUEST_HEADERS = 'Authorization, X-Request-Id'
const RESPONSE_HEADERS =
  'X-Request-Id, X-Error-Code, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Deprecation, Sunset, Link'
const MAX_AGE_SECONDS = 600

/** Whether pages on other origins may be allowed to call an operation. Only reads with an API key qualify. */
const isReadable = ({ method, path }: Pick<Operation, 'method' | 'path'>): boolean =>
  method === 'GET' && path.startsWith('/api/v1/')

/** Headers that let a page on an allowed origin read the response. None without allowed origins. */
export function corsHeaders(origins: string[], op: Operation, origin: string | undefined): Record<string, string> {
  if (origins.length === 0 || !isReadable(op)) return {}
  // Caches must not send the response for one origin to another.
  if (origin === undefined || !origins.includes(origin)) return { Vary: 'Origin' }
  return {
    Vary: 'Origin',
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': RESPONSE_HEADERS,
  }
}

/** Responds to allowed origins' preflight requests for reads. Any other OPTIONS request gets 405. */
export function mountPreflights(app: Hono<Env>, origins: string[], operations: Operation[]): void {
  if (origins.length === 0) return
  const preflight = (c: Context<Env>, next: Next) => {
    const origin = c.req.header('Origin') ?? ''
    const method = c.req.header('Access-Control-Request-Method') ?? ''
    if (!origins.includes(origin) || !['GET', 'HEAD'].includes(method)) return next()
    return c.body(null, 204, {
      Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Allow-Methods': 'GET, HEAD',
      'Access-Control-Allow-Headers': REQUEST_HEADERS,
      'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
    })
  }
  for (const { path } of operations.filter(isReadable)) app.on('OPTIONS', path, preflight)
}

/** Headers that let a page of the shop read the response to its report. */
export const siteCorsHeaders = (origin: string | undefined): Record<string, string> => ({
  Vary: 'Origin',
  ...(origin !== undefined && { 'Access-Control-Allow-Origin': origin }),
})

/** Responds to the preflight requests of a shop's pages, which the tracking script does not need. */
export function mountSitePreflights(app: Hono<Env>, server: Server, operations: Operation[]): void {
  for (const { path } of operations.filter(({ site }) => site === 'report'))
    app.on('OPTIONS', path, async (c: Context<Env>, next: Next) => {
      await limitPublic(server, c.get('request'))
      const shop = await findSite(server.deps.db.read, c).catch(() => undefined)
      if (!shop || !isFromSite(shop, c) || c.req.header('Access-Control-Request-Method') !== 'POST') return next()
      return c.body(null, 204, {
        ...siteCorsHeaders(c.req.header('Origin')),
        'Access-Control-Allow-Methods': 'POST',
        'Access-Control-Allow-Headers': 'Content-Type, X-Request-Id',
        'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
      })
    })
}
