import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'

// Every test needs unused rate limits, so each has its own server.
let server: TestServer
beforeEach(async () => {
  server = await testServer({ limited: true })
})
afterEach(() => server.close())

const get = (key: string | null = server.shop.key) => server.request('GET', '/api/v1/programs', { key })
const times = async (count: number, call: () => Promise<unknown>) => {
  for (let i = 0; i < count; i++) await call()
}
const window = ({ headers }: { headers: Headers }) =>
  ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map((name) => Number(headers.get(name)))

test('429 on the 101st request of a window, with the seconds to wait', async () => {
  const first = await get()
  expect(window(first)).toEqual([100, 99, 60])
  await times(99, get)
  const refused = await get()
  expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([429, 'rate_limited'])
  expect(window(refused).slice(0, 2)).toEqual([100, 0])
  expect(refused.headers.get('Retry-After')).toBe(refused.headers.get('X-RateLimit-Reset'))
})

test('exactly the limit passes when all requests arrive at once', async () => {
  const replies = await Promise.all(Array.from({ length: 150 }, () => get()))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(100)
})

test('each key has its own window; Enterprise allows 1,000', async () => {
  await times(101, get)
  expect((await get()).status).toBe(429)
  const { key } = await server.createShop('ENTERPRISE')
  expect(window(await get(key))).toEqual([1000, 999, 60])
})

test('200 again when the window is over', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  try {
    await times(101, get)
    expect((await get()).status).toBe(429)
    vi.advanceTimersByTime(60_001)
    expect(window(await get())).toEqual([100, 99, 60])
  } finally {
    vi.useRealTimers()
  }
})

test('429 instead of 401 and 403 once an address has used its window; valid keys keep working', async () => {
  const starter = await server.createShop('STARTER')
  expect(window(await get(null))).toEqual([100, 99, 60])
  expect(window(await get(starter.key))).toEqual([100, 98, 60])
  await times(98, () => get(null))
  expect((await get(null)).status).toBe(429)
  expect((await get('rk_unknown')).status).toBe(429)
  expect((await get(starter.key)).status).toBe(429)
  expect((await get()).status).toBe(200)
})

test('the docs page, 404 and 405 show the window without using it', async () => {
  await get()
  const docs = await server.request('GET', '/api/v1/docs', { key: null })
  expect([docs.status, ...window(docs)]).toEqual([200, 100, 100, 60])
  const wrongMethod = await server.request('GET', '/api/v1/events')
  expect([wrongMethod.status, ...window(wrongMethod)]).toEqual([405, 100, 99, 60])
  const unknown = await server.request('GET', '/api/v1/nothing')
  expect([unknown.status, ...window(unknown)]).toEqual([404, 100, 99, 60])
  await times(120, () => server.request('GET', '/api/v1/docs', { key: null }))
  expect((await server.request('GET', '/api/v1/docs', { key: null })).status).toBe(200)
})
