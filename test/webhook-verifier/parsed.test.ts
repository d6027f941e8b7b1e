// Full: it waits for time to pass.
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
const rejected: string[] = []
const options = { secret, onRejected: (error: WebhookError) => rejected.push(error.message) }
const handler = (event: unknown) => events.push(event)

const open: Receiver[] = []
const listening = async (listener: Parameters<typeof listen>[0]) => {
  const receiver = await listen(listener)
  open.push(receiver)
  return receiver
}
afterEach(() => {
  events.length = 0
  rejected.length = 0
  for (const receiver of open.splice(0)) receiver.close()
})

const expectRejection = async (response: Response, message: RegExp) => {
  expect([response.status, await response.json()]).toEqual([500, { error: 'body_parsed' }])
  expect(rejected).toHaveLength(1)
  expect(rejected[0]).toMatch(message)
  expect(events).toEqual([])
}

describe('a parsed body is rejected with instructions', () => {
  it('Express: after express.json()', async () => {
    const app = express().use(express.json()).post('/', expressWebhook(options, handler))
    const { fetch } = await listening(app)
    await expectRejection(
      await fetch(await signedRequest(body, { secret })),
      /express\.raw\(.*before express\.json\(\)/,
    )
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

  it('Hono: after middleware that read it', async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      await c.req.json()
      await next()
    })
    app.post('/webhooks', honoWebhook(options, handler))
    await expectRejection(await app.fetch(await signedRequest(body, { secret })), /already read/)
  })

  it('Next.js app router: after request.json()', async () => {
    const request = await signedRequest(body, { secret })
    await request.json()
    await expectRejection(await nextWebhook(options, handler)(request), /already read/)
  })

  it('Next.js pages router: with the body parser enabled', async () => {
    const post = pagesWebhook(options, handler)
    const app = express().use(express.json()).post('/', post)
    const { fetch } = await listening(app)
    await expectRejection(await fetch(await signedRequest(body, { secret })), /Next bodyParser: false/)
  })

  it('Node: after the stream was consumed', async () => {
    const receive = nodeWebhook(options, handler)
    const { fetch } = await listening((request, response) => {
      request.resume().on('end', () => receive(request, response))
    })
    await expectRejection(await fetch(await signedRequest(body, { secret })), /not raw bytes/)
  })

  it('Node: after setEncoding()', async () => {
    const receive = nodeWebhook(options, handler)
    const { fetch } = await listening((request, response) => receive(request.setEncoding('utf8'), response))
    await expectRejection(await fetch(await signedRequest(body, { secret })), /setEncoding/)
  })
})

describe('a body that was not parsed', () => {
  it('is read when Express 4 set an empty object', async () => {
    const receive = expressWebhook(options, handler)
    const { fetch } = await listening((request, response) =>
      receive(Object.assign(request, { body: {} }), response, () => response.end()),
    )
    expect((await fetch(await signedRequest(body, { secret }))).status).toBe(200)
    expect(events).toHaveLength(1)
  })

  it('is taken from rawBody when the platform provides it', async () => {
    const app = express()
    app.use(express.json({ verify: (request, _response, buffer) => Object.assign(request, { rawBody: buffer }) }))
    app.post('/', expressWebhook(options, handler))
    const { fetch } = await listening(app)
    expect((await fetch(await signedRequest(body, { secret }))).status).toBe(200)
    expect(events).toHaveLength(1)
  })
})

describe('Fastify', () => {
  it('parses bodies outside the prefix of the webhook', async () => {
    const app = fastify()
    app.register(fastifyWebhook(options, handler), { prefix: '/webhooks' })
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
  it('calls onError when the connection closes during the body', async () => {
    const errors: unknown[] = []
    const settled = Promise.withResolvers<void>()
    const receive = nodeWebhook({ ...options, onError: (error) => errors.push(error) }, handler)
    const server = await listening((request, response) => receive(request, response).then(settled.resolve))
    const { url } = await server.fetch(new Request('https://receiver.test/', { method: 'POST' }))
    rejected.length = 0
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"event"')
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.destroy()
    await settled.promise
    await expect.poll(() => errors.length).toBe(1)
    expect(events).toEqual([])
  })

  it('sends nothing when the handler has responded', async () => {
    const receive = nodeWebhook(options, (_event, _verification, { response }) => {
      response.statusCode = 202
      response.end('later')
    })
    const { fetch } = await listening((request, response) => receive(request, response))
    const response = await fetch(await signedRequest(body, { secret }))
    expect([response.status, await response.text()]).toEqual([202, 'later'])
  })
})

describe('options for one request', () => {
  it('can read the secret from the environment of the request', async () => {
    interface Env {
      Bindings: { SECRET: string }
    }
    const app = new Hono<Env>()
    app.post(
      '/webhooks',
      honoWebhook((c: Context<Env>) => ({ ...options, secret: c.env.SECRET }), handler),
    )
    expect((await app.fetch(await signedRequest(body, { secret }), { SECRET: secret })).status).toBe(200)
    expect((await app.fetch(await signedRequest(body, { secret }), { SECRET: 'other' })).status).toBe(400)
    expect(events).toHaveLength(1)
  })
})
