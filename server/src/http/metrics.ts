import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, Env, Hono } from 'hono'
import type { Metrics } from '../metrics.ts'
import { clientAddress } from './client-address.ts'

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/

/** `GET /metrics`: for this machine, and for whoever has the token when there is one. */
export function mountMetrics<E extends Env>(app: Hono<E>, metrics: Metrics, token: string | undefined): void {
  app.get('/metrics', async (c) => {
    if (!isLocal(c) && !(token && holds(c, token))) {
      return c.json({ error: 'Metrics are for this machine, or for those who send the token METRICS_TOKEN.' }, 403)
    }
    const { type, text } = await metrics.text()
    return c.body(text, 200, { 'Content-Type': type })
  })
}

/** From this machine and for itself: what a proxy here passes on comes from elsewhere. */
const isLocal = (c: Context): boolean =>
  LOOPBACK.test(clientAddress(c, 0)) && !c.req.header('X-Forwarded-For') && !c.req.header('Forwarded')

function holds(c: Context, token: string): boolean {
  const sent = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization')?.trim() ?? '')?.[1] ?? ''
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sent), digest(token))
}
