// Full: it measures connections that stall or flood.
// SQLite only: bodies are read before anything is stored.
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect } from 'vitest'
import { createListener } from '../../server/src/http/listen.ts'
import { BODY_LIMITS, BodyBudget } from '../../server/src/http/read-body.ts'
import { snapshot } from '../contract/fixture.ts'
import { signed } from '../revocation/ways.ts'
import { answersIn, type RawAnswer } from '../support/raw-http.ts'
import type { TestServer, TestShop } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

const KIB = 1024
const SECRET = 'hush-hush-hush-hush'

let other: TestShop
let listener: Server
test.beforeAll(async ({ server, owner }) => {
  other = await server.createShop()
  for (const { ownerToken } of [server.shop, other])
    await expectOk(owner('PATCH', '/settings', { storeWebhookSecret: SECRET }, { key: ownerToken }))
  listener = createListener(server.app.fetch, server.deps, { headersTimeoutMs: 200 })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
})
afterAll(async () => {
  listener.closeAllConnections()
  await new Promise((done) => listener.close(done))
})

/** A connection that the test writes to piece by piece. */
function open() {
  const socket: Socket = connect((listener.address() as AddressInfo).port, '127.0.0.1').setNoDelay()
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  return {
    write: (bytes: string | Uint8Array) => void socket.write(bytes),
    /** The first response, once it has arrived. */
    answer: async (ms = 3000): Promise<RawAnswer | undefined> => {
      const until = performance.now() + ms
      while (!answersIn(text)[0] && !socket.destroyed && performance.now() < until) await sleep(5)
      return answersIn(text)[0]
    },
    isClosed: () => socket.destroyed,
    close: () => socket.destroy(),
  }
}

const head = (path: string, headers: Record<string, string | number>) => {
  const lines = Object.entries({ Host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
const bearer = (server: TestServer, key = server.shop.key) => ({ Authorization: `Bearer ${key}` })
const statusAndCode = (answer: RawAnswer | undefined) => [answer?.status, answer?.headers['x-error-code']]

async function withLimits<T>(
  server: TestServer,
  limits: Partial<typeof BODY_LIMITS>,
  work: () => Promise<T>,
): Promise<T> {
  const before = { ...server.bodies.limits }
  Object.assign(server.bodies.limits, limits)
  try {
    return await work()
  } finally {
    Object.assign(server.bodies.limits, before)
  }
}

describe('time', () => {
  test('the limits equal those of the document', () => {
    expect([BODY_LIMITS.stallMs, BODY_LIMITS.totalMs]).toEqual([10_000, 30_000])
  })

  test.for([
    ['/api/v1/affiliates', (server: TestServer) => bearer(server)],
    ['/admin/v1/keys', (server: TestServer) => bearer(server, server.shop.ownerToken)],
    ['/admin/v1/session', () => ({})],
    [`/integrations/shopify/:shop/orders-paid`, () => signed('{}')],
  ])('400 body_timeout when a body stops arriving: %s', ([path, credential], { server }) =>
    withLimits(server, { stallMs: 100 }, async () => {
      const before = snapshot(server)
      const client = open()
      const started = performance.now()
      client.write(head(path.replace(':shop', server.shop.shopId), { ...credential(server), 'Content-Length': 100 }))
      client.write('{"a"')
      const answer = await client.answer()
      expect(statusAndCode(answer)).toEqual([400, 'body_timeout'])
      expect(performance.now() - started).toBeLessThan(1500)
      // The connection is not kept for the rest of it.
      await sleep(1000)
      expect(client.isClosed()).toBe(true)
      expect(snapshot(server)).toBe(before)
    }),
  )

  test.for([
    ['a declared length', 'Content-Length: 1000', (piece: string) => piece],
    ['chunks', 'Transfer-Encoding: chunked', (piece: string) => `${piece.length}\r\n${piece}\r\n`],
  ])('400 body_timeout for a body that trickles on and on, with %s', ([_what, length, wire], { server }) =>
    withLimits(server, { stallMs: 200, totalMs: 500 }, async () => {
      const client = open()
      client.write(head('/api/v1/affiliates', bearer(server)).replace('\r\n\r\n', `\r\n${length}\r\n\r\n`))
      const writing = setInterval(() => client.write(wire(' ')), 20)
      const answer = await client.answer()
      clearInterval(writing)
      expect(statusAndCode(answer)).toEqual([400, 'body_timeout'])
      client.close()
    }),
  )

  test('201 for a slow client that keeps sending: 4 KiB in pieces', ({ server }) =>
    withLimits(server, { stallMs: 400, totalMs: 4000 }, async () => {
      const body = JSON.stringify({ email: 'slow@example.com', name: 'Slow' }).padEnd(4 * KIB)
      const client = open()
      client.write(head('/api/v1/affiliates', { ...bearer(server), 'Content-Length': body.length }))
      for (let at = 0; at < body.length; at += 512) {
        client.write(body.slice(at, at + 512))
        await sleep(100)
      }
      expect(statusAndCode(await client.answer())).toEqual([201, undefined])
      client.close()
    }))

  test('400 request_timeout when headers stop or never arrive', async () => {
    for (const bytes of ['', 'GET /api/v1/programs HTTP/1.1\r\nHost: x\r\nX-']) {
      const client = open()
      client.write(bytes)
      const answer = await client.answer()
      expect(statusAndCode(answer)).toEqual([400, 'request_timeout'])
      expect(answer?.headers['x-request-id']).toMatch(/^req_/)
      await sleep(50)
      expect(client.isClosed()).toBe(true)
    }
  })
})

describe('what is checked before the body', () => {
  const notify = (shopId: string, headers: Record<string, string | number>) =>
    head(`/integrations/shopify/${shopId}/orders-paid`, { 'Content-Length': 4 * KIB * KIB, ...headers })

  test.for([
    [
      'a notification without a signature',
      (server: TestServer) => notify(server.shop.shopId, {}),
      [401, 'store_signature_missing'],
    ],
    [
      'a notification whose signature is not a SHA-256 digest',
      (server: TestServer) => notify(server.shop.shopId, { 'X-Shopify-Hmac-Sha256': 'YQ==' }),
      [401, 'store_signature_invalid'],
    ],
    ['a notification for no shop', () => notify('shp_none', signed('{}')), [401, 'store_signature_invalid']],
    [
      'a notification that is too large',
      (server: TestServer) => notify(server.shop.shopId, { ...signed('{}'), 'Content-Length': 4 * KIB * KIB + 1 }),
      [400, 'body_too_large'],
    ],
    [
      'a body that is too large',
      (server: TestServer) => head('/api/v1/affiliates', { ...bearer(server), 'Content-Length': KIB * KIB + 1 }),
      [400, 'body_too_large'],
    ],
    [
      'a sign-in that is too large',
      () => head('/admin/v1/session', { 'Content-Length': 100 * KIB }),
      [400, 'body_too_large'],
    ],
    ['a call without a key', () => head('/api/v1/affiliates', { 'Content-Length': 100 }), [401, 'credentials_missing']],
    [
      'an owner without a token',
      () => head('/admin/v1/keys', { 'Content-Length': 9 }),
      [401, 'owner_credentials_missing'],
    ],
  ] as const)('%s is rejected by its headers alone', async ([_what, bytes, rejection], { server }) => {
    const client = open()
    client.write(bytes(server))
    expect(statusAndCode(await client.answer())).toEqual(rejection)
    client.close()
  })
})

/** Waits until something has not changed for a while, however busy the machine is. */
async function whenSettled(look: () => Promise<unknown>): Promise<void> {
  let seen = ''
  for (let quiet = 0; quiet < 10; quiet++) {
    await sleep(50)
    const now = JSON.stringify(await look())
    if (now !== seen) quiet = 0
    seen = now
  }
}

describe('memory', () => {
  const LIMITS = { bytes: 4096 * KIB }

  /** Holds uploads open one byte short of their length, and returns the responses that some of them received. */
  async function hold(server: TestServer, count: number, bytes: number, path: string, headers: Record<string, string>) {
    const clients = Array.from({ length: count }, () => open())
    for (const client of clients) {
      client.write(head(path, { ...headers, 'Content-Length': bytes }))
      client.write(Buffer.alloc(bytes - 1, ' '))
    }
    const look = () => Promise.all(clients.map((client) => client.answer(0)))
    const answers = await whenSettled(async () => [await look(), server.bodies.used] as const).then(look)
    return {
      refused: answers.filter((answer) => answer !== undefined),
      held: answers.filter((answer) => answer === undefined).length,
      end: async () => {
        for (const client of clients) client.close()
        await whenSettled(async () => server.bodies.used)
      },
    }
  }

  let made = 0
  const affiliate = (server: TestServer, key = server.shop.key, size = 100) =>
    server.request('POST', '/api/v1/affiliates', {
      key,
      raw: JSON.stringify({ email: `m-${++made}@example.com`, name: 'M' }).padEnd(size),
    })
  const storePath = (shopId: string) => `/integrations/shopify/${shopId}/orders-paid`

  test.for([
    ['notifications of an address', (server: TestServer) => [storePath(server.shop.shopId), signed('{}')] as const],
    ['bodies of a shop', (server: TestServer) => ['/api/v1/affiliates', bearer(server)] as const],
  ])(
    '503 server_busy for %s beyond its share; others are accepted, and what arrives at once',
    ([_what, to], { server }) =>
      withLimits(server, LIMITS, async () => {
        const [path, headers] = to(server)
        const { held, refused, end } = await hold(server, 10, 200 * KIB, path, headers)
        // An eighth of 4 MiB.
        expect([held, refused.length]).toEqual([2, 8])
        expect(refused.map(statusAndCode)).toEqual(Array(8).fill([503, 'server_busy']))
        expect(refused[0]?.headers['retry-after']).toBe('1')
        expect((await affiliate(server, other.key, 200 * KIB)).status).toBe(201)
        const client = open()
        const body = JSON.stringify({ email: `m-${++made}@example.com`, name: 'M' })
        client.write(head('/api/v1/affiliates', { ...bearer(server), 'Content-Length': body.length }) + body)
        expect(statusAndCode(await client.answer())).toEqual([201, undefined])
        client.close()
        await end()
      }),
  )

  test('many tiny bodies are bounded too', ({ server }) =>
    withLimits(server, { bytes: 80 * 16 * KIB }, async () => {
      const { held, end } = await hold(server, 40, 10, storePath(server.shop.shopId), signed('{}'))
      expect(held).toBe(10)
      await end()
    }))

  test('the memory of a request is released however it ends', ({ server }) =>
    withLimits(server, { ...LIMITS, stallMs: 50 }, async () => {
      const ended = new BodyBudget(server.bodies.limits)
      expect(server.bodies.used).toEqual(ended.used)
      await affiliate(server)
      await affiliate(server, server.shop.key, 300 * KIB)
      await server.request('POST', '/api/v1/affiliates', { raw: '{' })
      await server.request('POST', storePath(server.shop.shopId), { key: null, raw: '{}', headers: signed('x') })
      const { end } = await hold(server, 3, 200 * KIB, '/api/v1/affiliates', bearer(server))
      await end()
      const broken = open()
      broken.write(head('/api/v1/affiliates', { ...bearer(server), 'Content-Length': 100 }))
      broken.write('{')
      await sleep(20)
      broken.close()
      await whenSettled(async () => server.bodies.used)
      expect(server.bodies.used).toEqual(ended.used)
    }))

  test('a body of single bytes takes no more memory than a body in one piece', ({ server }) =>
    withLimits(server, LIMITS, async () => {
      const client = open()
      client.write(head('/api/v1/affiliates', { ...bearer(server), 'Transfer-Encoding': 'chunked' }))
      client.write('1\r\n \r\n'.repeat(50_000))
      await whenSettled(async () => server.bodies.used)
      expect(Math.max(...Object.values(server.bodies.used))).toBeLessThanOrEqual(64 * KIB)
      client.close()
      await whenSettled(async () => server.bodies.used)
      expect(server.bodies.used).toEqual({})
    }))
})
