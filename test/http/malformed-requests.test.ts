import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect } from 'vitest'
import { createListener } from '../../server/src/http/listen.ts'
import { snapshot } from '../contract/fixture.ts'
import { sendRaw } from '../support/raw-http.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

let listener: Server
test.beforeAll(async ({ server }) => {
  listener = createListener(server.app.fetch, server.deps).listen(0, '127.0.0.1')
  await once(listener, 'listening')
})
afterAll(async () => {
  listener.closeAllConnections()
  await new Promise((done) => listener.close(done))
})

const send = (bytes: string) => sendRaw((listener.address() as AddressInfo).port, bytes)

const CLOSE = 'Connection: close\r\n\r\n'
const get = (server: TestServer, lines = '', path = '/api/v1/programs') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.shop.key}\r\n${lines}${CLOSE}`
const post = (server: TestServer, lines: string, body: string) =>
  `POST /api/v1/programs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.shop.key}\r\n${lines}\r\n${body}`
const store = (server: TestServer, lines: string) =>
  `POST /integrations/shopify/${server.shop.shopId}/orders-paid HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: 2\r\n\r\n{}`

test.for([
  ['a Host with a space', `GET /api/v1/programs HTTP/1.1\r\nHost: a b\r\n${CLOSE}`],
  ['a Host that is a path', `GET /api/v1/programs HTTP/1.1\r\nHost: x/y?z\r\n${CLOSE}`],
  ['a Host with a user', `GET /api/v1/programs HTTP/1.1\r\nHost: a@b\r\n${CLOSE}`],
  ['an unclosed IPv6 Host', `GET /api/v1/programs HTTP/1.1\r\nHost: [::1\r\n${CLOSE}`],
  ['a port that is none', `GET /api/v1/programs HTTP/1.1\r\nHost: x:99999\r\n${CLOSE}`],
  ['no Host', `GET /api/v1/programs HTTP/1.1\r\n${CLOSE}`],
  ['no path', `GET  HTTP/1.1\r\nHost: x\r\n${CLOSE}`],
  ['a path without its slash', `GET api/v1 HTTP/1.1\r\nHost: x\r\n${CLOSE}`],
  ['a backslash in the path', `GET /api\\v1 HTTP/1.1\r\nHost: x\r\n${CLOSE}`],
  ['another scheme', `GET ftp://x/api HTTP/1.1\r\nHost: x\r\n${CLOSE}`],
  ['a method that is none', `G@T / HTTP/1.1\r\nHost: x\r\n${CLOSE}`],
  ['no version', 'GET /\r\n\r\n'],
  ['a version that is none', `GET / HTTP/9.9\r\nHost: x\r\n${CLOSE}`],
  ['bytes that are not HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
  ['a header without a name', `GET / HTTP/1.1\r\nHost: x\r\n: y\r\n${CLOSE}`],
  ['a header with a line feed', `GET / HTTP/1.1\r\nHost: x\r\nA: b\n\rc\r\n${CLOSE}`],
  ['a header with U+0000', `GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n${CLOSE}`],
  ['headers of 40 kB', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'y'.repeat(40_000)}\r\n${CLOSE}`],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  [
    'a length and chunks',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'chunks and a length',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
  ],
  ['chunks in HTTP/1.0', `POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two Hosts', `GET /api/v1/programs HTTP/1.1\r\nHost: x\r\nHost: y\r\n${CLOSE}`],
  ['the same Host twice', `GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n${CLOSE}`],
  ['a negative length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
  ['chunks of another kind', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, identity\r\n\r\n0\r\n\r\n'],
])('400 in JSON, with a request id, for %s', async ([_name, bytes], { server }) => {
  const before = snapshot(server)
  const [answer, ...more] = await send(bytes)
  expect(answer).toMatchObject({ status: 400, headers: { 'x-error-code': 'request_malformed' } })
  expect(answer?.headers['content-type']).toContain('application/json')
  expect(answer?.headers['x-request-id']).toMatch(/^req_/)
  expect(JSON.parse(answer?.body ?? '')).toEqual({ error: expect.any(String) })
  expect(more.map(({ status }) => status)).toEqual([])
  expect(snapshot(server)).toBe(before)
})

test('unusual but valid requests get the usual response', async ({ server }) => {
  const statuses = async (bytes: string) => (await send(bytes)).map(({ status }) => status)
  expect(await statuses(get(server))).toEqual([200])
  expect(await statuses(get(server, '', 'http://x/api/v1/programs'))).toEqual([200])
  expect(await statuses(get(server, 'Expect: something\r\n'))).toEqual([200])
  expect(await statuses(get(server, 'X-Request-Id: a\r\nX-Request-Id: b\r\n'))).toEqual([200])
  expect(await statuses(get(server).replace('GET', 'TRACE'))).toEqual([405])
  expect(await statuses(get(server).replace('HTTP/1.1\r\nHost: x', 'HTTP/1.0'))).toEqual([200])
  const chunked = `${CLOSE.trim()}\r\nTransfer-Encoding: chunked\r\n`
  expect(
    await statuses(post(server, chunked, '10;a=b\r\n{"name":"Chunks"\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n')),
  ).toEqual([201])
})

test.for([
  ['Authorization', (server: TestServer) => get(server, `authorization: Bearer ${server.shop.key}\r\n`)],
  [
    'Idempotency-Key',
    (server: TestServer) =>
      post(server, 'Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 14\r\n', '{"name":"Two"}'),
  ],
  [
    'Idempotency-Key',
    (server: TestServer) =>
      post(server, 'Idempotency-Key: a\r\nidempotency-key: a\r\nContent-Length: 14\r\n', '{"name":"Two"}'),
  ],
  [
    'X-Shopify-Hmac-Sha256',
    (server: TestServer) => store(server, 'X-Shopify-Hmac-Sha256: YQ==\r\nX-Shopify-Hmac-Sha256: YQ==\r\n'),
  ],
  [
    'X-Shopify-Topic',
    (server: TestServer) => store(server, 'X-Shopify-Topic: orders/paid\r\nX-Shopify-Topic: orders/cancelled\r\n'),
  ],
])('400 for the header %s sent twice; nothing happens', async ([name, bytes], { server }) => {
  const before = snapshot(server)
  const [answer, ...more] = await send(bytes(server))
  expect(answer).toMatchObject({ status: 400, headers: { 'x-error-code': 'header_repeated', connection: 'close' } })
  expect(JSON.parse(answer!.body).error.toLowerCase()).toContain(name.toLowerCase())
  expect(more).toEqual([])
  expect(snapshot(server)).toBe(before)
})

test('two pipelined requests get two responses', async ({ server }) => {
  const inARow = await send(get(server).replace(CLOSE, '\r\n') + get(server, '', '/api/v1/none'))
  expect(inARow.map(({ status }) => status)).toEqual([200, 404])
})

test('a truncated or invalid chunk is rejected', async ({ server }) => {
  const [answer] = await send(post(server, 'Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'))
  expect([answer?.status, answer?.headers['x-request-id']?.slice(0, 4)]).toEqual([400, 'req_'])
  expect(server.logs.join('')).not.toContain('"bug"')
})

test('bytes after a complete request do not affect its response', async ({ server }) => {
  const whole = post(server, 'Content-Length: 16\r\n', '{"name":"Whole"}')
  for (const [first, rest] of [
    [whole, 'no request at all\r\n\r\n'],
    [whole.replace('HTTP/1.1', 'HTTP/1.0'), whole],
    [whole.replace('\r\n', '\r\nConnection: close\r\n'), 'x'],
  ] as const) {
    const answers = await send(first + rest)
    expect(answers.map(({ status }) => status)).toEqual([201])
    expect(JSON.parse(answers[0]!.body).data.name).toBe('Whole')
  }
  const both = await send(`${whole}${whole}no request`)
  expect(both.map(({ status }) => status)).toEqual([201, 201])
})
