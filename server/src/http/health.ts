import { createHash, timingSafeEqual } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Env, Hono } from 'hono'
import { VERSION } from '../config.ts'
import { type DatabaseHealth, isReady } from '../core/health.ts'
import type { Metrics } from '../core/metrics.ts'
import { clientAddress } from './server.ts'

export interface HealthOptions {
  checkHealth: () => Promise<DatabaseHealth>
  /** Whether the server is stopping. */
  isDraining?: (() => boolean) | undefined
}

/** Liveness and readiness. They are not rate-limited, so they must stay cheap. */
export function mountHealth<E extends Env>(
  app: Hono<E>,
  { checkHealth, isDraining = () => false }: HealthOptions,
): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }, 200, { 'X-Server-Version': VERSION }))
  app.get('/readyz', async (c) => {
    const ready = !isDraining() && isReady(await checkHealth())
    return c.json({ status: ready ? 'ok' : 'unavailable' }, ready ? 200 : 503)
  })
}

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
/** Headers that proxies add to a forwarded request. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|true-client-ip|cdn-loop|cf-.*)$/

/** `GET /metrics`, for processes on this machine and for callers with the metrics token. */
export function mountMetrics<E extends Env>(app: Hono<E>, metrics: Metrics, token: string | undefined): void {
  app.get('/metrics', async (c) => {
    if (!isLocal(c) && !(token && hasToken(c, token))) {
      const error = 'Metrics are limited to this machine. From elsewhere, send METRICS_TOKEN as a bearer token.'
      return c.json({ error }, 403)
    }
    const { type, text } = await metrics.text()
    return c.body(text, 200, { 'Content-Type': type })
  })
}

/**
 * Whether the request comes from a process on this machine and was not forwarded by a proxy. A proxy adds a header,
 * names another host or, like nginx by default until 1.29.7, speaks HTTP/1.0. A proxy that does none of these looks
 * like a local process; docs/self-hosting/monitoring.md describes how to configure it.
 */
const isLocal = (c: Context): boolean =>
  LOOPBACK.test(clientAddress(c, 0)) &&
  LOOPBACK_HOST.test(c.req.header('Host') ?? '') &&
  (c.env as HttpBindings).incoming.httpVersion !== '1.0' &&
  ![...c.req.raw.headers.keys()].some((name) => FORWARDED.test(name))

function hasToken(c: Context, token: string): boolean {
  const bearer = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization')?.trim() ?? '')?.[1] ?? ''
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(bearer), digest(token))
}
