import { createReferralClient, isKnownEvent, type RequestInfo, type WebhookEvent } from '@referral/sdk'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const order = { externalOrderId: '1001', amountCents: 10_000, couponCode: 'NISA16' }
const keyOf = async (body: typeof order, options?: { idempotencyKey?: string }) => {
  const { client, requests } = scriptedClient([jsonResponse(201, success)])
  await client.events.conversion(body, options)
  return requests[0]!.headers.get('Idempotency-Key')
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('options', () => {
  const fetch = async () => jsonResponse(200, success)

  test('throws a TypeError for a missing or malformed apiKey or baseUrl', () => {
    expect(() => createReferralClient({ apiKey: '', baseUrl: 'https://api.example' })).toThrow(TypeError)
    expect(() => createReferralClient({ apiKey: undefined, baseUrl: 'https://api.example' })).toThrow(TypeError)
    expect(() => createReferralClient({ apiKey: 'rk_ключ', baseUrl: 'https://api.example' })).toThrow(/^(?!.*rk_)/)
    expect(() => createReferralClient({ apiKey: 'k', baseUrl: 'api.example' })).toThrow(TypeError)
    expect(() => createReferralClient({ apiKey: 'k', baseUrl: undefined as unknown as string })).toThrow(TypeError)
    expect(() => createReferralClient({ baseUrl: 'https://api.example' })).toThrow(/apiKey or REFERRAL_API_KEY/)
    expect(() => createReferralClient({ apiKey: 'k' })).toThrow(/baseUrl or REFERRAL_BASE_URL/)
  })

  test('whitespace around the key is removed', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)], { apiKey: 'rk_test\n' })
    await client.analytics.get()
    expect(requests[0]!.headers.get('Authorization')).toBe('Bearer rk_test')
  })

  test.each([
    'https://api.example',
    'https://api.example/',
    'https://api.example/api/v1/',
    'https://api.example/api/v1',
  ])('accepts %s as baseUrl', async (baseUrl) => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)], { baseUrl })
    await client.analytics.get()
    expect(requests[0]!.url).toBe('https://api.example/api/v1/analytics')
  })

  test('baseUrl may have a path', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)], {
      baseUrl: 'https://shop.example/referrals/',
    })
    await client.analytics.get()
    expect(requests[0]!.url).toBe('https://shop.example/referrals/api/v1/analytics')
  })

  test('throws in a browser unless dangerouslyAllowBrowser is set', () => {
    vi.stubGlobal('window', {})
    vi.stubGlobal('document', {})
    const options = { apiKey: 'k', baseUrl: 'https://api.example', fetch }
    expect(() => createReferralClient(options)).toThrow('dangerouslyAllowBrowser')
    expect(createReferralClient({ ...options, dangerouslyAllowBrowser: true })).toBeDefined()
  })

  test('globalThis.fetch is read at each call', async () => {
    const client = createReferralClient({ apiKey: 'k', baseUrl: 'https://api.example' })
    vi.stubGlobal('fetch', async () => jsonResponse(200, { currency: 'USD', totals: {} }))
    expect(await client.analytics.get()).toEqual({ currency: 'USD', totals: {} })
  })
})

describe('a request', () => {
  test('has credential, version, query without empty values, and headers', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)], { headers: { 'X-Team': 'a' } })
    await client.payouts.pay('bat_1', { expectedTotalCents: 0 })
    await client.affiliates.list({ q: 'a&b=c', status: undefined }, { headers: { 'x-team': 'b' } })
    expect(requests[0]!.url).toBe('https://api.example/api/v1/payouts?id=bat_1&action=pay&expectedTotalCents=0')
    expect(Object.fromEntries(requests[0]!.headers)).toMatchObject({
      authorization: 'Bearer rk_test',
      accept: 'application/json',
      'user-agent': expect.stringMatching(/^referral-sdk\/\d/),
      'x-team': 'a',
    })
    expect(requests[0]!.headers.has('Content-Type')).toBe(false)
    expect(requests[1]!.url).toBe('https://api.example/api/v1/affiliates?q=a%26b%3Dc')
    expect(requests[1]!.headers.get('X-Team')).toBe('b')
  })

  test('event methods set the type', async () => {
    const { client, requests } = scriptedClient([jsonResponse(202, success)])
    await client.events.click({ ref: 'noor' })
    await client.events.pageView({ url: 'https://shop.example' })
    await client.events.conversion(order)
    await client.events.dryRun(order)
    expect(requests.map(({ body }) => (body as { type: string }).type)).toEqual([
      'click',
      'page_view',
      'conversion',
      'conversion',
    ])
    expect(requests[3]!.url).toMatch(/\?dryRun=1$/)
  })

  test('payouts.preview sets dryRun, create does not', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)])
    const period = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
    await client.payouts.preview(period)
    await client.payouts.create(period)
    expect(requests.map(({ body }) => body)).toEqual([{ ...period, dryRun: true }, period])
  })
})

describe('idempotency keys', () => {
  test('every POST has a new one', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)])
    await client.coupons.assign({ affiliateId: 'aff_1' })
    await client.coupons.assign({ affiliateId: 'aff_1' })
    await client.webhooks.sendTest({ url: 'https://hooks.example' })
    const keys = requests.map(({ headers }) => headers.get('Idempotency-Key'))
    expect(new Set(keys).size).toBe(3)
    for (const key of keys) expect(key).toMatch(/^[ -~]{1,255}$/)
  })

  test('the key of an order is derived from its content, whatever the order of its fields', async () => {
    const key = await keyOf(order)
    expect(key).toMatch(/^order-[0-9a-f]{64}$/)
    expect(await keyOf({ couponCode: 'NISA16', amountCents: 10_000, externalOrderId: '1001' })).toBe(key)
    expect(await keyOf({ ...order, discountCents: undefined } as typeof order)).toBe(key)
    expect(await keyOf({ ...order, amountCents: 10_001 })).not.toBe(key)
    expect(await keyOf({ ...order, externalOrderId: '1002' })).not.toBe(key)
  })

  test('a given key is used', async () => {
    expect(await keyOf(order, { idempotencyKey: 'mine' })).toBe('mine')
    const { client, requests } = scriptedClient([jsonResponse(200, success)])
    await client.coupons.assign({ affiliateId: 'aff_1' }, { idempotencyKey: 'mine too' })
    expect(requests[0]!.headers.get('Idempotency-Key')).toBe('mine too')
  })
})

describe('logging and hooks', () => {
  test('log lines contain neither the API key nor the query', async () => {
    const lines: string[] = []
    const logger = { debug: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) }
    const { client } = scriptedClient(
      [errorResponse(429, 'rate_limited', { 'X-RateLimit-Reset': '0' }), jsonResponse(200, success)],
      { logger },
    )
    await client.journey.get({ customerEmail: 'buyer@example.com' })
    expect(lines).toEqual([
      expect.stringMatching(/^GET \/api\/v1\/journey 429 \d+ ms req_1$/),
      expect.stringMatching(/^GET \/api\/v1\/journey 429; retrying in \d+ ms$/),
      expect.stringMatching(/^GET \/api\/v1\/journey 200 \d+ ms req_1$/),
    ])
  })

  test('warns of properties that the server ignored', async () => {
    const warn = vi.fn()
    const headers = { 'X-Ignored-Properties': 'source_name' }
    const { client } = scriptedClient([jsonResponse(202, success, headers)], { logger: { debug: vi.fn(), warn } })
    await client.events.pageView({ url: 'https://shop.example/' })
    expect(warn.mock.calls).toEqual([[expect.stringContaining('source_name')]])
  })

  test('hooks run for each attempt, can add headers, and do not receive the credential', async () => {
    const seen: [string, RequestInfo & { status?: number | undefined }][] = []
    const { client, requests } = scriptedClient(
      [errorResponse(503, 'api_disabled', { 'Retry-After': '0' }), jsonResponse(200, success)],
      {
        onRequest: (info) => {
          info.headers.set('traceparent', `00-${info.attempt}`)
          seen.push(['request', info])
        },
        onRetry: (info) => seen.push(['retry', info]),
        onResponse: (info) => seen.push(['response', info]),
      },
    )
    await client.analytics.get()
    expect(seen.map(([kind, { attempt, status }]) => [kind, attempt, status])).toEqual([
      ['request', 1, undefined],
      ['response', 1, 503],
      ['retry', 1, 503],
      ['request', 2, undefined],
      ['response', 2, 200],
    ])
    expect(seen.some(([, { headers }]) => headers.has('Authorization'))).toBe(false)
    expect(requests.map(({ headers }) => headers.get('traceparent'))).toEqual(['00-1', '00-2'])
  })

  test('neither the client nor an error exposes the API key', async () => {
    const { inspect } = await import('node:util')
    const { client } = scriptedClient([errorResponse(403, 'key_unknown')])
    const { error } = await client.analytics.get().safe()
    expect(inspect([client, error], { depth: 20, showHidden: true })).not.toContain('rk_test')
    expect(JSON.stringify([client, error])).not.toContain('rk_test')
  })
})

test('isKnownEvent is true for documented events only', () => {
  const event = (name: string) => ({ event: name, timestamp: '', shop_id: '', data: {} }) as WebhookEvent
  expect(isKnownEvent(event('commission.created'))).toBe(true)
  expect(isKnownEvent(event('test'))).toBe(true)
  expect(isKnownEvent(event('payout.completed'))).toBe(false)
})
