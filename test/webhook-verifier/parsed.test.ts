import { connect } from 'node:net'
import { unwrap, type WebhookError } from '@referral/webhook-verifier'
import { webhook as expressWebhook } from '@referral/webhook-verifier/express'
import { webhook as fastifyWebhook } from '@referral/webhook-verifier/fastify'
import { webhook as honoWebhook } from '@referral/webhook-verifier/hono'
import { webhook as nextWebhook, pagesWebhook } from '@referral/webhook-verifier/next'
import { webhook as nodeWebhook } from '@referral/webhook-verifier/node'
import { signedDelivery, signedRequest } from '@referral/webhook-verifier/testing'
import express from 'express'
import fastify from 'fastify'
import { type Context, Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { listen, type Receiver } from './receivers.ts'

const secret = 'a shared secret'
const body = '{"event":"test","timestamp":"2026-10-20T15:04:05.000Z","shop_id":"shp_1","data":{"a":1.0}}'

const events: unknown[] = []
const refused: string[] = []
const options = { secret, onRefused: (error: WebhookError) => refused.push(error.message) }
const work = (event: unknown) => events.push(event)

const open: Receiver[] = []
const listening = async (listener: Parameters<typeof listen>[0]) => {
  const receiver = await listen(listener)
  open.push(receiver)
  return receiver
}
afterEach(() => {
  events.length = 0
  refused.length = 0
  for (const receiver of open.splice(0)) receiver.close()
})

const expectRefusal = async (response: Response, message: RegExp) => {
  expect([response.status, await response.json()]).toEqual([500, { error: 'body_parsed' }])
  expect(refused).toHaveLength(1)
  expect(refused[0]).toMatch(message)
  expect(events).toEqual([])
}

describe('a body that was parsed before is refused with the recipe', () => {
  it('Express: after express.json()', async () => {
    const app = express().use(express.json()).post('/', expressWebhook(options, work))
    const { fetch } = await listening(app)
    await expectRefusal(await fetch(await signedRequest(body, { secret })), /express\.raw\(.*before express\.json\(\)/)
  })

  it('Express: unwrap() after express.json()', async () => {
    const app = express().use(express.json())
    app.post('/', async (request, response) => {
      await unwrap(request, { secret }).catch((error: WebhookError) => response.status(500).send(error.message))
    })
    const { fetch } = await listening(app)
    const response = await fetch(await signedRequest(body, { secret }))
    expect(await response.text()).toMatch(
      /^body_parsed: .*express\.raw\(\{ type: '\*\/\*' \}\) before express\.json\(\)/,
    )
  })

  it('Fastify: unwrap() in a route whose body was parsed', async () => {
    const app = fastify()
    app.post('/', (request) => unwrap(request, { secret }).catch((error: WebhookError) => error.message))
    const { headers } = await signedDelivery(body, { secret })
    const response = await app.inject({ method: 'POST', url: '/', headers, payload: body })
    expect(response.body).toMatch(/^body_parsed: .*Fastify parseAs: 'buffer'/)
    await app.close()
  })

  it('Hono: after a middleware that read it', async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      await c.req.json()
      await next()
    })
    app.post('/webhooks', honoWebhook(options, work))
    await expectRefusal(await app.fetch(await signedRequest(body, { secret })), /something read the body/)
  })

  it('Next.js app router: after request.json()', async () => {
    const request = await signedRequest(body, { secret })
    await request.json()
    await expectRefusal(await nextWebhook(options, work)(request), /something read the body/)
  })

  it('Next.js pages router: with its body parser on', async () => {
    const post = pagesWebhook(options, work)
    const app = express().use(express.json()).post('/', post)
    const { fetch } = await listening(app)
    await expectRefusal(await fetch(await signedRequest(body, { secret })), /Next bodyParser: false/)
  })

  it('Node: after something consumed the stream', async () => {
    const receive = nodeWebhook(options, work)
    const { fetch } = await listening((request, response) => {
      request.resume().on('end', () => receive(request, response))
    })
    await expectRefusal(await fetch(await signedRequest(body, { secret })), /raw bytes needed/)
  })

  it('Node: after setEncoding()', async () => {
    const receive = nodeWebhook(options, work)
    const { fetch } = await listening((request, response) => receive(request.setEncoding('utf8'), response))
    await expectRefusal(await fetch(await signedRequest(body, { secret })), /setEncoding/)
  })
})

describe('a body that only looks parsed', () => {
  it('is read where Express 4 put an empty object', async () => {
    const receive = expressWebhook(options, work)
    const { fetch } = await listening((request, response) =>
      receive(Object.assign(request, { body: {} }), response, () => response.end()),
    )
    expect((await fetch(await signedRequest(body, { secret }))).status).toBe(200)
    expect(events).toHaveLength(1)
  })

  it('is taken from rawBody where a platform keeps it', async () => {
    const app = express()
    app.use(express.json({ verify: (request, _response, buffer) => Object.assign(request, { rawBody: buffer }) }))
    app.post('/', expressWebhook(options, work))
    const { fetch } = await listening(app)
    expect((await fetch(await signedRequest(body, { secret }))).status).toBe(200)
    expect(events).toHaveLength(1)
  })
})

describe('Fastify', () => {
  it('keeps its parsers outside the prefix of the webhook', async () => {
    const app = fastify()
    app.register(fastifyWebhook(options, work), { prefix: '/webhooks' })
    app.post('/other', (request) => ({ parsed: request.body }))
    const { headers } = await signedDelivery(body, { secret })
    const other = await app.inject({ method: 'POST', url: '/other', headers, payload: body })
    expect(other.json()).toMatchObject({ parsed: { event: 'test' } })
    for (const url of ['/webhooks', '/webhooks/'])
      expect((await app.inject({ method: 'POST', url, headers, payload: body })).statusCode).toBe(200)
    expect(events).toHaveLength(2)
    await app.close()
  })
})

describe('Node', () => {
  it('survives a caller that hangs up in the middle of the body', async () => {
    const errors: unknown[] = []
    const settled = Promise.withResolvers<void>()
    const receive = nodeWebhook({ ...options, onError: (error) => errors.push(error) }, work)
    const server = await listening((request, response) => receive(request, response).then(settled.resolve))
    const { url } = await server.fetch(new Request('https://receiver.test/', { method: 'POST' }))
    refused.length = 0
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"event"')
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.destroy()
    await settled.promise
    await expect.poll(() => errors.length).toBe(1)
    expect(events).toEqual([])
  })

  it('leaves the answer to a handler that answers itself', async () => {
    const receive = nodeWebhook(options, (_event, _facts, { response }) => {
      response.statusCode = 202
      response.end('later')
    })
    const { fetch } = await listening((request, response) => receive(request, response))
    const response = await fetch(await signedRequest(body, { secret }))
    expect([response.status, await response.text()]).toEqual([202, 'later'])
  })
})

describe('options for one request', () => {
  it('may take the secret from the environment of the request', async () => {
    interface Env {
      Bindings: { SECRET: string }
    }
    const app = new Hono<Env>()
    app.post(
      '/webhooks',
      honoWebhook((c: Context<Env>) => ({ ...options, secret: c.env.SECRET }), work),
    )
    expect((await app.fetch(await signedRequest(body, { secret }), { SECRET: secret })).status).toBe(200)
    expect((await app.fetch(await signedRequest(body, { secret }), { SECRET: 'other' })).status).toBe(400)
    expect(events).toHaveLength(1)
  })
})
