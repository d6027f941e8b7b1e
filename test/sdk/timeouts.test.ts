import { AbortedError, TimeoutError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceUntilSettled } from './support/clock.ts'
import { errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const order = { externalOrderId: '1001', amountCents: 10_000 }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('timeouts', () => {
  test('an attempt times out after 30 seconds, even when fetch ignores its signal', async () => {
    const { client, requests } = scriptedClient(['hang'], { maxRetries: 0 })
    const call = client.analytics.get().safe()
    expect(await advanceUntilSettled(call)).toBe(30_000)
    expect((await call).error).toBeInstanceOf(TimeoutError)
    expect(requests).toHaveLength(1)
  })

  test('the body counts toward the timeout of its attempt', async () => {
    const { client } = scriptedClient([() => new Response(new ReadableStream({}))], { maxRetries: 0, timeoutMs: 1_000 })
    const call = client.analytics.get().safe()
    expect(await advanceUntilSettled(call)).toBe(1_000)
  })

  test('totalTimeoutMs limits all attempts and waits', async () => {
    const { client } = scriptedClient(['hang'], { timeoutMs: 4_000, totalTimeoutMs: 10_000, maxRetries: 99 })
    const call = client.analytics.get().safe()
    expect(await advanceUntilSettled(call)).toBe(10_000)
    expect((await call).error).toBeInstanceOf(TimeoutError)
  })
})

describe('abort', () => {
  const reason = new Error('the user left')

  test('ends the current attempt', async () => {
    const controller = new AbortController()
    const { client } = scriptedClient(['hang'])
    const call = client.analytics.get(undefined, { signal: controller.signal }).safe()
    await vi.advanceTimersByTimeAsync(100)
    controller.abort(reason)
    await vi.advanceTimersByTimeAsync(0)
    const { error } = await call
    expect(error).toBeInstanceOf(AbortedError)
    expect(error?.cause).toBe(reason)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends the wait for a retry', async () => {
    const controller = new AbortController()
    const { client, requests } = scriptedClient([errorResponse(429, 'rate_limited', { 'X-RateLimit-Reset': '50' })])
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

  test('sends nothing when the signal is already aborted', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)])
    const { error } = await client.analytics.get(undefined, { signal: AbortSignal.abort(reason) }).safe()
    expect(error).toBeInstanceOf(AbortedError)
    expect(requests).toHaveLength(0)
  })

  test('a timeout aborts the signal of fetch', async () => {
    let signal: AbortSignal | undefined
    const { client } = scriptedClient(
      [
        (request) => {
          signal = request.signal
          return new Promise<Response>(() => {})
        },
      ],
      { maxRetries: 0, timeoutMs: 50 },
    )
    await advanceUntilSettled(client.analytics.get().safe())
    expect(signal?.aborted).toBe(true)
  })

  test('a finished call removes its listener from the signal', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    await scriptedClient([jsonResponse(200, success)]).client.analytics.get(undefined, { signal })
    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })
})
