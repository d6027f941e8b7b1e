// Full: it compares a clock with a bound.
import { ConnectionError, createReferralClient, isReferralError, NotFoundError, RateLimitError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceUntilSettled } from './support/clock.ts'
import { connectionError, errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const done = jsonResponse(200, success)
const valid = { apiKey: 'rk_test', baseUrl: 'https://api.example' }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

describe('a number out of range', () => {
  test.each([
    { maxRetries: Number.NaN },
    { maxRetries: -1 },
    { timeoutMs: Number.NaN },
    { timeoutMs: 0 },
    { timeoutMs: -5 },
    { totalTimeoutMs: -5 },
    { totalTimeoutMs: Number.NaN },
    { maxRequestsPerMinute: 0 },
    { maxRequestsPerMinute: Number.NaN },
  ])('%o is a TypeError', async (wrong) => {
    const [name] = Object.keys(wrong)
    expect(() => createReferralClient({ ...valid, ...wrong })).toThrow(new RegExp(`^${name} must be a number`))
    if (name === 'maxRequestsPerMinute') return
    const { client, requests } = scriptedClient([done])
    await expect(client.analytics.get({}, wrong)).rejects.toThrow(TypeError)
    expect(requests).toEqual([])
  })

  test('Infinity and 0 retries are valid', () => {
    const unlimited = { timeoutMs: Infinity, totalTimeoutMs: Infinity, maxRetries: Infinity }
    expect(createReferralClient({ ...valid, ...unlimited })).toBeDefined()
    expect(createReferralClient({ ...valid, maxRetries: 0, maxRequestsPerMinute: 'auto' })).toBeDefined()
  })
})

describe('the API key', () => {
  test('and the base URL default to the environment', async () => {
    vi.stubEnv('REFERRAL_API_KEY', 'rk_env')
    vi.stubEnv('REFERRAL_BASE_URL', 'https://env.example/')
    const requests: Request[] = []
    const fetch = async (request: Request) => {
      requests.push(request)
      return done.clone()
    }
    await createReferralClient({ fetch }).analytics.get()
    await createReferralClient({ ...valid, fetch }).analytics.get()
    expect(requests.map(({ url, headers }) => [url, headers.get('Authorization')])).toEqual([
      ['https://env.example/api/v1/analytics', 'Bearer rk_env'],
      ['https://api.example/api/v1/analytics', 'Bearer rk_test'],
    ])
    expect(createReferralClient()).toBeDefined()
  })

  test('may be an async function, called for each attempt', async () => {
    const keys = ['rk_old', 'rk_new\n']
    const { client, requests } = scriptedClient([errorResponse(503, 'api_disabled', { 'Retry-After': '0' }), done], {
      apiKey: async () => keys.shift()!,
    })
    const call = client.analytics.get()
    await advanceUntilSettled(call)
    expect(requests.map(({ headers }) => headers.get('Authorization'))).toEqual(['Bearer rk_old', 'Bearer rk_new'])
  })

  test('that cannot be read is a ConnectionError, because nothing was sent', async () => {
    const failing = scriptedClient([done], {
      apiKey: () => Promise.reject(new Error('vault is sealed')),
      maxRetries: 0,
    })
    const { error } = await failing.client.coupons.assign({ affiliateId: 'aff_1' }).safe()
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error?.message).toBe('Reading the API key failed: vault is sealed')
    expect(failing.requests).toEqual([])
    const malformed = scriptedClient([done], { apiKey: () => 'rk ключ', maxRetries: 0 })
    expect((await malformed.client.analytics.get().safe()).error?.message).toMatch(/malformed/)
    expect((await malformed.client.analytics.get().safe()).error?.message).not.toContain('ключ')
  })

  test('that never arrives is a TimeoutError, not an unknown outcome', async () => {
    const { client } = scriptedClient([done], { apiKey: () => new Promise(() => {}), maxRetries: 0 })
    const call = client.coupons.assign({ affiliateId: 'aff_1' }).safe()
    expect(await advanceUntilSettled(call)).toBe(30_000)
    expect((await call).error?.name).toBe('TimeoutError')
  })
})

test.each([
  [undefined, undefined, /^referral-sdk\/[\d.]+$/],
  [{ name: 'shop' }, undefined, /^referral-sdk\/[\d.]+ shop$/],
  [
    { name: 'shop', version: '2.1', url: 'https://shop.example' },
    undefined,
    / shop\/2\.1 \(https:\/\/shop\.example\)$/,
  ],
  [{ name: 'shop' }, 'curl/8', /^referral-sdk\/[\d.]+ shop curl\/8$/],
  [undefined, 'curl/8', /^referral-sdk\/[\d.]+ curl\/8$/],
])('the user agent with appInfo %j and header %s', async (appInfo, given, expected) => {
  const { client, requests } = scriptedClient([done], { appInfo, headers: given ? { 'User-Agent': given } : {} })
  await client.analytics.get()
  expect(requests[0]!.headers.get('User-Agent')).toMatch(expected)
})

test('Retry-After may be a date', async () => {
  const at = new Date(Math.floor(Date.now() / 1000) * 1000 + 9_000).toUTCString()
  const { client } = scriptedClient([errorResponse(503, 'api_disabled', { 'Retry-After': at }), done])
  const waited = await advanceUntilSettled(client.analytics.get())
  expect(waited).toBeGreaterThanOrEqual(8_000)
  expect(waited).toBeLessThanOrEqual(9_500)
  const past = errorResponse(503, 'api_disabled', { 'Retry-After': new Date(0).toUTCString() })
  expect(await advanceUntilSettled(scriptedClient([past, done]).client.analytics.get())).toBeLessThanOrEqual(500)
})

test('retryRateLimited: false throws at the first 429', async () => {
  const limited = errorResponse(429, 'rate_limited', { 'X-RateLimit-Reset': '9' })
  const { client, requests } = scriptedClient([limited, done], { retryRateLimited: false })
  expect((await client.analytics.get().safe()).error?.name).toBe('RateLimitError')
  expect(requests).toHaveLength(1)
})

describe('isReferralError', () => {
  test('is true for the errors of another copy of the package', async () => {
    vi.resetModules()
    const copy: typeof import('@referral/sdk') = await import('@referral/sdk')
    expect(copy.NotFoundError).not.toBe(NotFoundError)
    const fetch = async () => errorResponse(404, 'affiliate_not_found')
    const { error } = await copy
      .createReferralClient({ ...valid, fetch })
      .affiliates.archive('aff_1')
      .safe()
    expect(error).not.toBeInstanceOf(NotFoundError)
    expect(isReferralError(error)).toBe(true)
  })

  test('is false for everything else', () => {
    for (const other of [new Error('x'), { name: 'ReferralError' }, undefined, null, 'x', 0])
      expect(isReferralError(other)).toBe(false)
  })
})

/** A server with a fixed window of a minute, which rejects what exceeds its limit. */
const limitedServer = (limit: number) => {
  let [startedAt, used, rejected] = [0, 0, 0]
  const fetch = async (): Promise<Response> => {
    if (Date.now() >= startedAt + 60_000) [startedAt, used] = [Date.now(), 0]
    const isAllowed = used < limit
    if (isAllowed) used++
    else rejected++
    const headers = {
      'X-RateLimit-Limit': `${limit}`,
      'X-RateLimit-Remaining': `${limit - used}`,
      'X-RateLimit-Reset': `${Math.ceil((startedAt + 60_000 - Date.now()) / 1000)}`,
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300))
    return isAllowed ? jsonResponse(200, success, headers) : errorResponse(429, 'rate_limited', headers)
  }
  return { fetch, use: (count: number) => (used += count), rejected: () => rejected }
}

describe('maxRequestsPerMinute', () => {
  test("'auto' answers 350 calls at once, without a 429", async () => {
    const server = limitedServer(100)
    const client = createReferralClient({ ...valid, fetch: server.fetch, maxRequestsPerMinute: 'auto' })
    const calls = Promise.all(Array.from({ length: 350 }, () => client.analytics.get().safe()))
    await advanceUntilSettled(calls)
    expect((await calls).filter(({ error }) => error)).toEqual([])
    expect(server.rejected()).toBe(0)
  })

  test('without it, 350 calls at once are not all answered', async () => {
    const client = createReferralClient({ ...valid, fetch: limitedServer(100).fetch })
    const calls = Promise.all(Array.from({ length: 350 }, () => client.analytics.get().safe()))
    await advanceUntilSettled(calls)
    expect((await calls).filter(({ error }) => error).length).toBeGreaterThan(0)
  })

  test("'auto' shares the window with another client of the same key", async () => {
    const server = limitedServer(100)
    const [one, two] = [1, 2].map(() =>
      createReferralClient({ ...valid, fetch: server.fetch, maxRequestsPerMinute: 'auto' }),
    )
    const calls = Promise.all(Array.from({ length: 350 }, (_, n) => (n % 2 ? one! : two!).analytics.get().safe()))
    await advanceUntilSettled(calls)
    expect((await calls).filter(({ error }) => error)).toEqual([])
  })

  test('a number is the limit of each minute', async () => {
    const times: number[] = []
    const fetch = async () => {
      times.push(Date.now())
      return done.clone()
    }
    const client = createReferralClient({ ...valid, fetch, maxRequestsPerMinute: 10 })
    const calls = Promise.all(Array.from({ length: 25 }, () => client.analytics.get()))
    await advanceUntilSettled(calls)
    for (const from of times)
      expect(times.filter((at) => at >= from && at < from + 60_000).length).toBeLessThanOrEqual(10)
  })

  test('a call whose time ends while it waits is a TimeoutError', async () => {
    const client = createReferralClient({ ...valid, fetch: async () => done.clone(), maxRequestsPerMinute: 1 })
    await client.analytics.get()
    const call = client.analytics.get({}, { totalTimeoutMs: 1_000 }).safe()
    expect(await advanceUntilSettled(call)).toBe(1_000)
    expect((await call).error?.name).toBe('TimeoutError')
  })

  test("'auto' does not wait for ever for a 429 that describes no window, as of a proxy", async () => {
    const page = new Response('<h1>Too many requests</h1>', { status: 429 })
    const { client, requests } = scriptedClient([page], { maxRequestsPerMinute: 'auto', totalTimeoutMs: 3_600_000 })
    const call = client.analytics.get().safe()
    await advanceUntilSettled(call)
    expect((await call).error).toBeInstanceOf(RateLimitError)
    expect(requests).toHaveLength(3)
  })

  test('a failed connection does not stop the others', async () => {
    const { client } = scriptedClient([connectionError('ECONNRESET'), done], {
      maxRequestsPerMinute: 'auto',
      maxRetries: 0,
    })
    const calls = Promise.all(Array.from({ length: 5 }, () => client.analytics.get().safe()))
    await advanceUntilSettled(calls)
    expect((await calls).filter(({ error }) => error)).toHaveLength(1)
  })
})

test('withOptions changes some options and leaves the client as it is', async () => {
  const { client, requests } = scriptedClient([errorResponse(404, 'x')], { headers: { 'X-Tenant': '1' } })
  await client
    .withOptions({ apiKey: 'rk_other', headers: { 'X-Tenant': '2' } })
    .analytics.get()
    .safe()
  await client.analytics.get().safe()
  expect(requests.map(({ headers }) => [headers.get('Authorization'), headers.get('X-Tenant')])).toEqual([
    ['Bearer rk_other', '2'],
    ['Bearer rk_test', '1'],
  ])
  expect(() => client.withOptions({ timeoutMs: 0 })).toThrow(TypeError)
})

test.each([
  ['debug', 2, 1],
  ['warn', 0, 1],
  ['', 0, 0],
])('REFERRAL_LOG=%s logs to the console, and nothing with a logger', async (level, attempts, retries) => {
  vi.stubEnv('REFERRAL_LOG', level)
  const consoles = [vi.spyOn(console, 'debug'), vi.spyOn(console, 'warn')].map((spy) => spy.mockReturnValue(undefined))
  const steps = [errorResponse(503, 'busy', { 'Retry-After': '0' }), done]
  const ofConsole = () => consoles.map(({ mock }) => mock.calls.length)
  await advanceUntilSettled(scriptedClient(steps).client.analytics.get())
  expect(ofConsole()).toEqual([attempts, retries])
  const logger = { debug: vi.fn(), warn: vi.fn() }
  await advanceUntilSettled(scriptedClient(steps, { logger }).client.analytics.get())
  expect([ofConsole(), logger.debug.mock.calls.length]).toEqual([[attempts, retries], 2])
  vi.restoreAllMocks()
})
