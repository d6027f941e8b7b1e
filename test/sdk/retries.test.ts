import { ConflictError, InternalServerError, RateLimitError, ServiceUnavailableError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceUntilSettled } from './support/clock.ts'
import { connectionError, errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const order = { externalOrderId: '1001', amountCents: 10_000 }
const done = jsonResponse(200, success)

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('429', () => {
  test.each(['GET', 'POST', 'PATCH', 'DELETE'])('429 on %s waits until the window resets', async (method) => {
    const limited = errorResponse(429, 'rate_limited', { 'X-RateLimit-Reset': '37', 'Retry-After': '5' })
    const { client, requests } = scriptedClient([limited, done])
    const call = {
      GET: () => client.affiliates.list().page(1),
      POST: () => client.affiliates.create({ email: 'a@b.example', name: 'A' }),
      PATCH: () => client.affiliates.update('aff_1', { name: 'A' }),
      DELETE: () => client.affiliates.archive('aff_1'),
    }[method]!()
    const waited = await advanceUntilSettled(call)
    expect(waited).toBeGreaterThanOrEqual(37_000)
    expect(waited).toBeLessThanOrEqual(37_500)
    expect(requests.map((request) => request.method)).toEqual([method, method])
    await call
  })

  test('429 with a timestamp as X-RateLimit-Reset waits 60 seconds', async () => {
    const { client } = scriptedClient([errorResponse(429, 'rate_limited', { 'X-RateLimit-Reset': '1792508645' }), done])
    const waited = await advanceUntilSettled(client.affiliates.list().page(1))
    expect(waited).toBe(60_000)
  })

  test('429 without X-RateLimit-Reset waits for Retry-After', async () => {
    const { client } = scriptedClient([
      new Response('slow down', { status: 429, headers: { 'Retry-After': '3' } }),
      done,
    ])
    const waited = await advanceUntilSettled(client.affiliates.list().page(1))
    expect(waited).toBeGreaterThanOrEqual(3_000)
    expect(waited).toBeLessThanOrEqual(3_500)
  })

  test('429 on every attempt is a RateLimitError with the time of the reset', async () => {
    const headers = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '12' }
    const { client, requests } = scriptedClient([errorResponse(429, 'rate_limited', headers)])
    const call = client.affiliates.create({ email: 'a@b.example', name: 'A' }).safe()
    await advanceUntilSettled(call)
    const { error } = await call
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error?.rateLimit).toMatchObject({ limit: 100, remaining: 0, resetSeconds: 12 })
    expect(requests).toHaveLength(3)
  })

  test('429 is not retried when the wait exceeds totalTimeoutMs', async () => {
    const { client, requests } = scriptedClient([errorResponse(429, 'rate_limited', { 'X-RateLimit-Reset': '30' })])
    const call = client.affiliates.list(undefined, { totalTimeoutMs: 10_000 }).safe()
    expect(await advanceUntilSettled(call)).toBe(0)
    expect((await call).error).toBeInstanceOf(RateLimitError)
    expect(requests).toHaveLength(1)
  })
})

describe('retries', () => {
  const calls = {
    safe: (client: ReturnType<typeof scriptedClient>['client']) => client.affiliates.list().page(1),
    keyed: (client: ReturnType<typeof scriptedClient>['client']) => client.events.conversion(order),
    repeatable: (client: ReturnType<typeof scriptedClient>['client']) =>
      client.affiliates.update('aff_1', { name: 'A' }),
  }
  const faults = {
    'a connection reset': connectionError('ECONNRESET'),
    'a refused connection': connectionError('ECONNREFUSED'),
    500: errorResponse(500, 'internal_error'),
    '502 of a gateway': new Response('<h1>Bad Gateway</h1>', { status: 502 }),
    503: errorResponse(503, 'storage_unavailable'),
  }
  for (const [kind, call] of Object.entries(calls))
    for (const [name, fault] of Object.entries(faults))
      test(`${name} on a ${kind} operation`, async () => {
        const { client, requests } = scriptedClient([fault, fault, done])
        const made = call(client)
        await advanceUntilSettled(made)
        expect((await made.safe()).error).toBeUndefined()
        expect(requests).toHaveLength(3)
        expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
        expect(requests[0]!.headers.has('Idempotency-Key')).toBe(kind === 'keyed')
      })

  test.each([400, 401, 403, 404, 405, 409])('%i is never retried', async (status) => {
    for (const call of Object.values(calls)) {
      const { client, requests } = scriptedClient([errorResponse(status, 'some_code')])
      expect((await call(client).safe()).error).toMatchObject({ status, code: 'some_code' })
      expect(requests).toHaveLength(1)
    }
  })

  test('uses maxRetries of the client and of the call', async () => {
    const { client, requests } = scriptedClient([errorResponse(503, 'audit_unavailable')], { maxRetries: 0 })
    await expect(client.analytics.get()).rejects.toThrow(ServiceUnavailableError)
    expect(requests).toHaveLength(1)
    const call = client.analytics.get(undefined, { maxRetries: 4 }).safe()
    await advanceUntilSettled(call)
    expect(requests).toHaveLength(6)
  })

  test('500 on every attempt of a write is an InternalServerError, because nothing was written', async () => {
    const { client } = scriptedClient([errorResponse(500, 'internal_error')])
    const call = client.events.conversion(order).safe()
    await advanceUntilSettled(call)
    expect((await call).error).toBeInstanceOf(InternalServerError)
  })
})

describe('backoff', () => {
  test('503 waits for Retry-After', async () => {
    const { client } = scriptedClient([errorResponse(503, 'api_disabled', { 'Retry-After': '7' }), done])
    const waited = await advanceUntilSettled(client.affiliates.list().page(1))
    expect(waited).toBeGreaterThanOrEqual(7_000)
    expect(waited).toBeLessThanOrEqual(7_500)
  })

  test('doubles without Retry-After, with jitter, up to 8 seconds', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const delays: number[] = []
    const { client } = scriptedClient([errorResponse(503, 'storage_unavailable')], {
      maxRetries: 6,
      onRetry: ({ delayMs }) => delays.push(delayMs),
    })
    await advanceUntilSettled(client.analytics.get().safe())
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000])
    vi.mocked(Math.random).mockReturnValue(0.999)
    delays.length = 0
    await advanceUntilSettled(client.analytics.get().safe())
    expect(delays.every((delay, n) => delay >= [250, 500, 1_000, 2_000, 4_000, 4_000][n]!)).toBe(true)
  })
})

test('409 is thrown when no earlier response was lost', async () => {
  const { client, requests } = scriptedClient([
    errorResponse(503, 'storage_unavailable'),
    errorResponse(409, 'payout_already_paid'),
  ])
  const call = client.payouts.pay('bat_1').safe()
  await advanceUntilSettled(call)
  expect((await call).error).toBeInstanceOf(ConflictError)
  expect(requests).toHaveLength(2)
})
