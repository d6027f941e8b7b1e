import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { signedDelivery, signedRequest } from '@referral/webhook-verifier/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { snippetsOf } from '../docs/snippets.ts'

const root = join(import.meta.dirname, '../../webhook-verifier')
const recipes = join(import.meta.dirname, 'recipes')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

describe('the README contains the tested files verbatim', () => {
  const shown = [...readme.matchAll(/<!-- recipe: (\S+) -->\n```\w+\n(.*?)\n```\n/gs)]

  it.each(shown.map(([, name, code]) => ({ name, code })))('$name', ({ name, code }) => {
    expect(`${code}\n`).toBe(readFileSync(join(recipes, name!), 'utf8'))
  })

  it('or the guide does', () => {
    const guide = snippetsOf('docs/guides/receive-webhooks.md').map(({ file }) => file?.split('/').at(-1))
    const named = [...shown.map(([, name]) => name), ...guide]
    expect(readdirSync(recipes).filter((name) => !named.includes(name))).toEqual([])
  })
})

describe('the recipes', () => {
  const secret = 'a shared secret'
  const event = {
    event: 'commission.created',
    data: { affiliateId: 'aff_1', commissionAmountCents: 1250, currency: 'EUR' },
  }
  let printed: string[]
  const servers: Server[] = []

  beforeEach(() => {
    vi.stubEnv('WEBHOOK_SECRET', secret)
    vi.stubEnv('PORT', '0')
    printed = []
    vi.spyOn(console, 'log').mockImplementation((...parts) => printed.push(parts.join(' ')))
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  })
  afterEach(() => {
    vi.restoreAllMocks()
    for (const server of servers.splice(0)) server.close()
  })

  const overHttp = async (listener: RequestListener | Server) => {
    const server = typeof listener === 'function' ? createServer(listener) : listener
    servers.push(server)
    // The server of the recipe for Node.js already listens.
    if (server !== listener) server.listen(0, '127.0.0.1')
    if (!server.listening) await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`
    return async (request: Request) =>
      fetch(url, { method: 'POST', headers: request.headers, body: await request.arrayBuffer() })
  }

  const start: Record<string, () => Promise<(request: Request) => Promise<Response> | Response>> = {
    express: async () => overHttp((await import('./recipes/express.ts')).app),
    fastify: async () => {
      const { app } = await import('./recipes/fastify.ts')
      await app.ready()
      return async (request) => {
        const payload = Buffer.from(await request.arrayBuffer())
        const { statusCode } = await app.inject({
          method: 'POST',
          url: '/webhooks',
          headers: Object.fromEntries(request.headers),
          payload,
        })
        return new Response(null, { status: statusCode })
      }
    },
    hono: async () => (await import('./recipes/hono.ts')).app.fetch,
    'next, app router': async () => (await import('./recipes/next-app.ts')).POST,
    'next, pages router': async () => overHttp((await import('./recipes/next-pages.ts')).default),
    node: async () => overHttp((await import('./recipes/node.ts')).server),
    web: async () => {
      const { default: worker } = await import('./recipes/web.ts')
      return (request) => worker.fetch(request, { WEBHOOK_SECRET: secret })
    },
  }

  it.each(Object.keys(start))('%s: accepts a delivery and rejects a forged one', async (name) => {
    const deliver = await start[name]!()
    expect((await deliver(await signedRequest(event, { secret }))).status).toBe(200)
    expect(printed).toEqual(['aff_1 earns 1250 EUR'])
    expect((await deliver(await signedRequest(event, { secret: 'forged' }))).status).toBe(400)
    expect(printed).toHaveLength(1)
  })

  it.each([true, false])('lambda: accepts a delivery, in base64: %s', async (isBase64Encoded) => {
    const { handler } = await import('./recipes/lambda.ts')
    const { body, headers } = await signedDelivery(event, { secret })
    const text = Buffer.from(body).toString(isBase64Encoded ? 'base64' : 'utf8')
    expect(await handler({ body: text, isBase64Encoded, headers })).toEqual({ statusCode: 200 })
    await expect(handler({ body: text, isBase64Encoded: !isBase64Encoded, headers })).rejects.toThrow(
      'signature_mismatch',
    )
    expect(printed).toHaveLength(1)
  })

  it('once: processes an event once when it arrives eight times concurrently', async () => {
    const { app } = await import('./recipes/once.ts')
    const body = JSON.stringify({ ...event, timestamp: '2026-10-20T15:04:05.000Z', shop_id: 'shp_1' })
    const requests = await Promise.all(Array.from({ length: 8 }, () => signedRequest(body, { secret })))
    const responses = await Promise.all(requests.map((request) => app.fetch(request)))
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect((await app.fetch(await signedRequest(body, { secret }))).status).toBe(200)
    expect(printed).toEqual(['processing commission.created in the same transaction'])
  })
})
