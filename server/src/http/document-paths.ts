import { createHash } from 'node:crypto'
import type { Context, Hono } from 'hono'
import type { Env } from './admit.ts'
import { document, documentText } from './document.ts'
import { countPublic } from './public-window.ts'
import type { Server } from './server.ts'

interface Served {
  text: string
  type: string
  tag: string
}

/** The contract itself, for anyone. Each form of it is built once, and a client that has it gets 304. */
export function mountDocument(app: Hono<Env>, server: Server): void {
  const yaml = once(() => served(documentText, 'application/yaml; charset=utf-8'))
  const json = once(() => served(JSON.stringify(document), 'application/json'))
  const serve = (form: () => Served) => async (c: Context<Env>) => {
    await countPublic(server, c.get('visit'))
    const { text, type, tag } = form()
    const headers = { ETag: tag, 'Cache-Control': 'no-cache' }
    if (holds(c.req.header('If-None-Match'), tag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'Content-Type': type })
  }
  app.get('/', async (c) => {
    await countPublic(server, c.get('visit'))
    return c.redirect('/api/v1/docs')
  })
  app.get('/openapi.yaml', serve(yaml))
  app.get('/openapi.json', serve(json))
}

const served = (text: string, type: string): Served => ({
  text,
  type,
  tag: `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`,
})

/** Whether `If-None-Match` names the tag. Comparison is weak, as RFC 9110 says for this header. */
const holds = (given: string | undefined, tag: string): boolean =>
  (given ?? '').split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
