import { createHash, timingSafeEqual } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Env, Hono } from 'hono'
import type { Metrics } from '../metrics.ts'
import { clientAddress } from './client-address.ts'

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
/** What proxies add to a request that they pass on. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|true-client-ip|cdn-loop|cf-.*)$/

/** `GET /metrics`: for this machine, and for whoever has the token when there is one. */
export function mountMetrics<E extends Env>(app: Hono<E>, metrics: Metrics, token: string | undefined): void {
  app.get('/metrics', async (c) => {
    if (!isLocal(c) && !(token && holds(c, token))) {
      const error = 'Metrics are for processes of this machine. Send METRICS_TOKEN as a bearer token from elsewhere.'
      return c.json({ error }, 403)
    }
    const { type, text } = await metrics.text()
    return c.body(text, 200, { 'Content-Type': type })
  })
}

/**
 * Whether a process of this machine asks for itself. What a proxy of this machine passes on comes from elsewhere: it adds
 * a header, names another host, or, as nginx did by default until 1.29.7, speaks HTTP/1.0. A proxy that does none of these
 * looks like a local process; docs/self-hosting.md says how to configure it.
 */
const isLocal = (c: Context): boolean =>
  LOOPBACK.test(clientAddress(c, 0)) &&
  LOOPBACK_HOST.test(c.req.header('Host') ?? '') &&
  (c.env as HttpBindings).incoming.httpVersion !== '1.0' &&
  ![...c.req.raw.headers.keys()].some((name) => FORWARDED.test(name))

function holds(c: Context, token: string): boolean {
  const sent = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization')?.trim() ?? '')?.[1] ?? ''
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sent), digest(token))
}
