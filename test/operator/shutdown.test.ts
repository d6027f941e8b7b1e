// Full: it starts other processes.
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../support/process.ts'
import { answersIn } from '../support/raw-http.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const DELAY_MS = 2000
let folder: ReturnType<typeof temporaryFolder>
let server: RunningServer
const start = async (more: Record<string, string> = {}) => {
  server = await startServer({ REFERRAL_DATA_DIR: folder.path, ...more })
}
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await server.stop('SIGKILL')
  folder.remove()
})

/** A connection that stays open between requests, as a proxy keeps it. */
function openConnection() {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').setNoDelay()
  const closed = once(socket, 'close').then(() => performance.now())
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  return {
    closed,
    isOpen: () => !socket.destroyed,
    end: () => socket.destroy(),
    get: async (path: string) => {
      const before = answersIn(text).length
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const until = performance.now() + 3000
      while (answersIn(text).length === before && performance.now() < until) await sleep(5)
      return answersIn(text)[before]
    },
  }
}

const statusOf = (path: string): Promise<number | string> =>
  new Promise((resolve) => {
    const sent = request(`${server.url}${path}`, { agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', ({ code = 'failed' }: NodeJS.ErrnoException) => resolve(code)).end()
  })

describe('with REFERRAL_SHUTDOWN_DELAY_SECONDS, SIGTERM', () => {
  test('makes /readyz return 503 at once, serves until the delay is over, and closes connections after a response', async () => {
    await start({ REFERRAL_SHUTDOWN_DELAY_SECONDS: String(DELAY_MS / 1000) })
    const idle = openConnection()
    expect(await idle.get('/readyz')).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } })
    const at = performance.now()
    const ended = server.stop()
    while ((await statusOf('/readyz')) !== 503) expect(performance.now() - at).toBeLessThan(500)
    expect(await idle.get('/openapi.json')).toMatchObject({ status: 200, headers: { connection: 'close' } })
    await idle.closed
    let served = 0
    while (performance.now() - at < DELAY_MS - 300) {
      expect(await statusOf('/healthz')).toBe(200)
      served++
      await sleep(20)
    }
    expect(served).toBeGreaterThan(10)
    expect(await ended).toBe(0)
    expect(performance.now() - at).toBeGreaterThanOrEqual(DELAY_MS)
    expect(await statusOf('/healthz')).toBe('ECONNREFUSED')
  })

  test('answers a request on a connection that was opened just before the listener closed', async () => {
    await start({ REFERRAL_SHUTDOWN_DELAY_SECONDS: '1' })
    const at = performance.now()
    const ended = server.stop()
    await sleep(1000 - 100 - (performance.now() - at))
    const fresh = openConnection()
    while ((await statusOf('/healthz')) === 200) await sleep(2)
    expect(await fresh.get('/healthz')).toMatchObject({ status: 200, headers: { connection: 'close' } })
    expect(await ended).toBe(0)
  })
})

test('an idle connection stays open for REFERRAL_KEEP_ALIVE_SECONDS, longer than headers may take to arrive, and is then closed', async () => {
  await start({ REFERRAL_KEEP_ALIVE_SECONDS: '12' })
  const [idle, used] = [openConnection(), openConnection()]
  const at = performance.now()
  for (const connection of [idle, used]) {
    const response = await connection.get('/healthz')
    expect(response).toMatchObject({ status: 200, headers: { 'keep-alive': 'timeout=12' } })
  }
  await sleep(11_000)
  expect(used.isOpen()).toBe(true)
  expect(await used.get('/healthz')).toMatchObject({ status: 200 })
  used.end()
  const closedAt = await idle.closed
  expect(closedAt - at).toBeGreaterThan(11_000)
  expect(closedAt - at).toBeLessThan(16_000)
}, 40_000)

test('the default outlasts the 60 s that nginx keeps idle connections', async () => {
  await start()
  const connection = openConnection()
  expect(await connection.get('/healthz')).toMatchObject({ headers: { 'keep-alive': 'timeout=75' } })
  connection.end()
})
