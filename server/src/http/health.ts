import type { Env, Hono } from 'hono'
import type { Deps } from '../context.ts'
import { createReadiness } from '../services/readiness.ts'

/** Liveness and readiness. They are never limited, so they stay cheap. */
export function mountHealth<E extends Env>(app: Hono<E>, { db }: Deps): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  const isReady = createReadiness(db)
  app.get('/readyz', async (c) => {
    const ready = await isReady()
    return c.json({ status: ready ? 'ok' : 'unavailable' }, ready ? 200 : 503)
  })
}
