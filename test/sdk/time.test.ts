import { AbortedError, TimeoutError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { settleAfter } from './support/clock.ts'
import { json, refusal, scripted } from './support/scripted.ts'

const order = { externalOrderId: '1001', amountCents: 10_000 }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('time', () => {
  test('an attempt ends after 30 seconds, whatever the given fetch does with its signal', async () => {
    const { client, requests } = scripted(['hang'], { maxRetries: 0 })
    const call = client.analytics.get().safe()
    expect(await settleAfter(call)).toBe(30_000)
    expect((await call).error).toBeInstanceOf(TimeoutError)
    expect(requests).toHaveLength(1)
  })

  test('a body that stops is in the time of its attempt', async () => {
    const { client } = scripted([() => new Response(new ReadableStream({}))], { maxRetries: 0, timeoutMs: 1_000 })
    const call = client.analytics.get().safe()
    expect(await settleAfter(call)).toBe(1_000)
  })

  test('totalTimeoutMs ends the last attempt and all waiting', async () => {
    const { client } = scripted(['hang'], { timeoutMs: 4_000, totalTimeoutMs: 10_000, maxRetries: 99 })
    const call = client.analytics.get().safe()
    expect(await settleAfter(call)).toBe(10_000)
    expect((await call).error).toBeInstanceOf(TimeoutError)
  })
})

describe('abort', () => {
  const reason = new Error('the user left')

  test('ends the attempt', async () => {
    const controller = new AbortController()
    const { client } = scripted(['hang'])
    const call = client.analytics.get(undefined, { signal: controller.signal }).safe()
    await vi.advanceTimersByTimeAsync(100)
    controller.abort(reason)
    await vi.advanceTimersByTimeAsync(0)
    const { error } = await call
    expect(error).toBeInstanceOf(AbortedError)
    expect(error?.cause).toBe(reason)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends the wait for the next attempt at once', async () => {
    const controller = new AbortController()
    const { client, requests } = scripted([refusal(429, 'rate_limited', { 'X-RateLimit-Reset': '50' })])
    const call = client.events.conversion(order, { signal: controller.signal }).safe()
    await vi.waitFor(() => expect(requests).toHaveLength(1))
    await vi.advanceTimersByTimeAsync(10_000)
    const aborted = Date.now()
    controller.abort(reason)
    expect((await call).error).toBeInstanceOf(AbortedError)
    expect(Date.now() - aborted).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
    expect(requests).toHaveLength(1)
  })

  test('a signal that is aborted already sends nothing', async () => {
    const { client, requests } = scripted([json(200, {})])
    const { error } = await client.analytics.get(undefined, { signal: AbortSignal.abort(reason) }).safe()
    expect(error).toBeInstanceOf(AbortedError)
    expect(requests).toHaveLength(0)
  })

  test('the fetch is told', async () => {
    let signal: AbortSignal | undefined
    const { client } = scripted(
      [
        (request) => {
          signal = request.signal
          return new Promise<Response>(() => {})
        },
      ],
      { maxRetries: 0, timeoutMs: 50 },
    )
    await settleAfter(client.analytics.get().safe())
    expect(signal?.aborted).toBe(true)
  })

  test('a finished call leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    await scripted([json(200, {})]).client.analytics.get(undefined, { signal })
    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })
})
