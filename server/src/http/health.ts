import { createHash, timingSafeEqual } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Env, Hono } from 'hono'
import type { Deps } from '../core/context.ts'
import { findInstallationSetting } from '../core/installation.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Database } from '../database/database.ts'
import { clientAddress } from './server.ts'

/** Liveness and readiness. They are not rate-limited, so they must stay cheap. `isDraining`: whether the server is stopping. */
export function mountHealth<E extends Env>(app: Hono<E>, { db }: Deps, isDraining = () => false): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  const isReady = createReadiness(db)
  app.get('/readyz', async (c) => {
    const ready = !isDraining() && (await isReady())
    return c.json({ status: ready ? 'ok' : 'unavailable' }, ready ? 200 : 503)
  })
}

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
/** Headers that proxies add to a forwarded request. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|true-client-ip|cdn-loop|cf-.*)$/

/** `GET /metrics`, for processes of this machine and for callers with the metrics token. */
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
 * Whether the request comes from a process of this machine and was not forwarded by a proxy. A proxy adds a header, names
 * another host or, like nginx by default until 1.29.7, speaks HTTP/1.0. A proxy that does none of these looks like a local
 * process; docs/self-hosting.md describes how to configure it.
 */
const isLocal = (c: Context): boolean =>
  LOOPBACK.test(clientAddress(c, 0)) &&
  LOOPBACK_HOST.test(c.req.header('Host') ?? '') &&
  (c.env as HttpBindings).incoming.httpVersion !== '1.0' &&
  ![...c.req.raw.headers.keys()].some((name) => FORWARDED.test(name))

function hasToken(c: Context, token: string): boolean {
  const sent = /^Bearer +(\S+)$/i.exec(c.req.header('Authorization')?.trim() ?? '')?.[1] ?? ''
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sent), digest(token))
}

/** Whether the schema is current and the database is reachable. A current schema stays current, so it is checked until then. */
export function createReadiness(db: Database): () => Promise<boolean> {
  let migrated = false
  return async () => {
    try {
      migrated ||= await db.isMigrated()
      await findInstallationSetting(db.read, 'apiEnabled')
      return migrated
    } catch {
      // The failing requests log the cause.
      return false
    }
  }
}
