import type { Env, Hono } from 'hono'
import type { Deps } from '../context.ts'
import { createReadiness } from '../services/readiness.ts'
import { document, documentText } from './document.ts'

/** What is not part of the API: health, and the contract itself. */
export function mountHealth<E extends Env>(app: Hono<E>, { db }: Deps): void {
  app.get('/', (c) => c.redirect('/api/v1/docs'))
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  const isReady = createReadiness(db)
  app.get('/readyz', async (c) => {
    const ready = await isReady()
    return c.json({ status: ready ? 'ok' : 'unavailable' }, ready ? 200 : 503)
  })
  app.get('/openapi.yaml', (c) => c.body(documentText, 200, { 'Content-Type': 'application/yaml; charset=utf-8' }))
  app.get('/openapi.json', (c) => c.json(document))
}
