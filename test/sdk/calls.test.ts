// Full: it compares a clock with a bound.
import { NotFoundError, ReferralError } from '@referral/sdk'
import { describe, expect, test } from 'vitest'
import { errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const reply = jsonResponse(
  201,
  { data: { id: 'aff_1' } },
  {
    'X-RateLimit-Limit': '100',
    'X-RateLimit-Remaining': '99',
    'X-RateLimit-Reset': '60',
    'Idempotent-Replayed': 'true',
  },
)
const body = { email: 'noor@example.com', name: 'Noor' }

describe('a call', () => {
  test('returns the data; withResponse() adds the response', async () => {
    const { client, requests } = scriptedClient([reply])
    const call = client.affiliates.create(body)
    expect(await call).toEqual({ id: 'aff_1' })
    const { data, response, requestId, rateLimit, idempotentReplayed, recovered, attempts } = await call.withResponse()
    expect(data).toEqual({ id: 'aff_1' })
    expect(response.status).toBe(201)
    expect({ requestId, idempotentReplayed, recovered, attempts }).toEqual({
      requestId: 'req_1',
      idempotentReplayed: true,
      recovered: false,
      attempts: 1,
    })
    expect(rateLimit).toMatchObject({ limit: 100, remaining: 99, resetSeconds: 60 })
    expect(rateLimit!.resetAt.getTime() - Date.now()).toBeGreaterThan(50_000)
    expect(requests).toHaveLength(1)
  })

  test('is sent immediately, awaited or not', async () => {
    const { client, requests } = scriptedClient([jsonResponse(202, success)])
    void client.events.click({ ref: 'noor' })
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(requests).toHaveLength(1)
  })

  test('works with then, catch, finally and Promise.all', async () => {
    const { client } = scriptedClient([reply])
    let ended = 0
    const end = () => {
      ended += 1
    }
    expect(await client.affiliates.create(body).then(({ id }) => id)).toBe('aff_1')
    expect(await Promise.all([client.affiliates.create(body).finally(end)])).toEqual([{ id: 'aff_1' }])
    const missing = scriptedClient([errorResponse(404, 'program_not_found')]).client
    expect(await missing.affiliates.create(body).catch((error: ReferralError) => error.code)).toBe('program_not_found')
    await expect(missing.affiliates.create(body).finally(end)).rejects.toThrow(NotFoundError)
    expect(ended).toBe(2)
  })

  test('safe() returns the error instead of throwing it', async () => {
    const good = await scriptedClient([reply]).client.affiliates.create(body).safe()
    expect(good.error ? undefined : good.data.id).toBe('aff_1')
    const bad = await scriptedClient([errorResponse(404, 'program_not_found')])
      .client.affiliates.create(body)
      .safe()
    expect(bad).toEqual({ error: expect.any(NotFoundError) })
  })
})

describe('asResponse()', () => {
  /** A response whose body never ends. */
  const endless = () => {
    const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new TextEncoder().encode('row\n')) })
    return new Response(stream, { headers: { 'X-Request-Id': 'req_1' } })
  }

  test('returns the response of a single request with its body unread, after a retry', async () => {
    const { client, requests } = scriptedClient([errorResponse(503, 'busy', { 'Retry-After': '0' }), endless])
    const response = await client.events.click({ ref: 'noor' }).asResponse()
    const { value } = await response.body!.getReader().read()
    expect([response.bodyUsed, response.headers.get('X-Request-Id'), value?.length]).toEqual([true, 'req_1', 4])
    expect(requests).toHaveLength(2)
  })

  test('of a list returns its page as sent', async () => {
    const text = await scriptedClient([jsonResponse(200, success)])
      .client.programs.list()
      .asResponse()
    expect(await text.json()).toEqual(success)
  })

  test('throws errors', async () => {
    const { client } = scriptedClient([errorResponse(404, 'affiliate_not_found')])
    await expect(client.affiliates.archive('aff_9').asResponse()).rejects.toMatchObject({ code: 'affiliate_not_found' })
  })

  test('leaves the body to the signal', async () => {
    const controller = new AbortController()
    const fetch = async ({ signal }: Request) => {
      const abort = (stream: ReadableStreamDefaultController) =>
        signal.addEventListener('abort', () => stream.error(signal.reason))
      return new Response(new ReadableStream({ start: abort }))
    }
    const { client } = scriptedClient([], { fetch })
    const response = await client.analytics.get({}, { signal: controller.signal }).asResponse()
    controller.abort()
    await expect(response.text()).rejects.toThrow('aborted')
  })
})

describe('an error', () => {
  test('has message, code, request id, rate limit, idempotency key and response', async () => {
    const headers = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '3', 'X-RateLimit-Reset': '9' }
    const { client, requests } = scriptedClient([errorResponse(404, 'affiliate_not_found', headers)])
    const { error } = await client.coupons.assign({ affiliateId: 'aff_9' }).safe()
    expect(error).toBeInstanceOf(ReferralError)
    expect(error).toMatchObject({
      name: 'NotFoundError',
      message: 'Rejected: affiliate_not_found.',
      status: 404,
      code: 'affiliate_not_found',
      requestId: 'req_1',
      rateLimit: { limit: 100, remaining: 3, resetSeconds: 9 },
      idempotencyKey: requests[0]!.headers.get('Idempotency-Key'),
    })
    expect(error?.response?.status).toBe(404)
    expect(Object.keys(error!)).not.toContain('response')
  })

  test('an unlisted status is a plain ApiError', async () => {
    const { client } = scriptedClient([errorResponse(418, 'teapot')])
    const { error } = await client.analytics.get().safe()
    expect(error).toMatchObject({ name: 'ApiError', status: 418, code: 'teapot' })
  })
})

test('client.rateLimit is the window of the last response that has one', async () => {
  const { client } = scriptedClient([
    reply,
    jsonResponse(200, success),
    errorResponse(404, 'x', { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '7', 'X-RateLimit-Reset': '0' }),
  ])
  expect(client.rateLimit).toBeUndefined()
  await client.affiliates.create(body)
  expect(client.rateLimit?.remaining).toBe(99)
  await client.analytics.get()
  expect(client.rateLimit?.remaining).toBe(99)
  await client.analytics.get().safe()
  expect(client.rateLimit).toMatchObject({ remaining: 7, resetSeconds: 0 })
})
