// Full: it measures connections that stall or flood.
// SQLite only: this tests how requests are read and responses are sent.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { createListener } from '../../server/src/http/listen.ts'
import { sendRaw } from '../support/raw-http.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

/** The server behind a listener, which records how many requests ran and how many ran concurrently. */
async function listen(server: TestServer) {
  const ran = { requests: 0, concurrent: 0 }
  let running = 0
  const listener: Server = createListener(async (request, env) => {
    ran.requests++
    ran.concurrent = Math.max(ran.concurrent, ++running)
    await sleep(1)
    return Promise.resolve(server.app.fetch(request, env)).finally(() => running--)
  }, server.deps).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  onTestFinished(() => {
    listener.closeAllConnections()
    listener.close()
  })
  return { ran, send: (bytes: string) => sendRaw((listener.address() as AddressInfo).port, bytes) }
}

const get = (path: string, last = false) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${last ? 'Connection: close\r\n' : ''}\r\n`
/** The server closed the connection while more was sent. */
const isReset = (error: NodeJS.ErrnoException) => expect(error.code).toMatch(/^ECONNRESET|EPIPE$/)
const many = (count: number) => Array.from({ length: count }, (_, i) => get(i % 2 ? '/healthz' : '/none')).join('')

test('requests that do not wait for the response are processed one at a time, and answered in order', async ({
  server,
}) => {
  const { ran, send } = await listen(server)
  const answers = await send(many(50) + get('/healthz', true))
  expect(answers.map(({ status }) => status)).toEqual([
    ...Array.from({ length: 50 }, (_, i) => (i % 2 ? 200 : 404)),
    200,
  ])
  expect(ran).toEqual({ requests: 51, concurrent: 1 })
})

test('a body that waits behind another request is read in its turn', async ({ server }) => {
  const { ran, send } = await listen(server)
  const post = (name: string) => {
    const body = JSON.stringify({ name, description: 'x'.repeat(1000) })
    const head = `POST /api/v1/programs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.shop.key}\r\n`
    return `${head}Content-Length: ${body.length}\r\n\r\n${body}`
  }
  const names = Array.from({ length: 40 }, (_, i) => `In turn ${i}`)
  const answers = await send(names.map(post).join('') + get('/healthz', true))
  expect(answers.slice(0, 40).map(({ body }) => JSON.parse(body).data.name)).toEqual(names)
  expect(ran).toEqual({ requests: 41, concurrent: 1 })
})

test('a connection on which more than 100 requests wait is closed', async ({ server }) => {
  const { ran, send } = await listen(server)
  await send(many(1000)).catch(isReset)
  expect(ran.requests).toBeLessThan(102)
})

test('a connection on which more than 64 KiB of bodies wait is closed', async ({ server }) => {
  const { ran, send } = await listen(server)
  const head = `POST /api/v1/programs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.shop.key}\r\n`
  const bodies = [`Content-Length: 40000\r\n\r\n${' '.repeat(40_000)}`, 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n']
  for (const body of bodies) {
    ran.requests = 0
    await send(get('/healthz') + `${head}${body}`.repeat(10)).catch(isReset)
    expect(ran.requests).toBeLessThan(10)
    ran.requests = 0
    expect((await send(get('/healthz') + head + body)).map(({ status }) => status)).toEqual([200, 400])
  }
})
