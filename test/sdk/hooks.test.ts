// Full: it waits for time to pass.
import { type ClientOptions, ServiceUnavailableError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceUntilSettled } from './support/clock.ts'
import { connectionError, errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const done = jsonResponse(200, success)
const unavailable = errorResponse(503, 'api_disabled', { 'Retry-After': '0' })
const names = ['onRequest', 'onResponse', 'onError', 'onRetry', 'onEnd'] as const

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const settled = async <T>(call: PromiseLike<T>): Promise<T> => {
  await advanceUntilSettled(call)
  return call
}

/** Options whose hooks record their names and attempts. */
const recorded = (wait: () => unknown = () => undefined) => {
  const seen: string[] = []
  const hooks: Partial<ClientOptions> = {}
  for (const name of names)
    hooks[name] = async (info: { attempt: number }) => {
      await wait()
      seen.push(`${name} ${info.attempt}`)
    }
  return { hooks, seen }
}

describe('hooks', () => {
  test('run once per attempt, and onEnd once per call', async () => {
    const { hooks, seen } = recorded()
    const { client } = scriptedClient([connectionError('ECONNRESET'), unavailable, done], hooks)
    await settled(client.analytics.get())
    expect(seen).toEqual([
      'onRequest 1',
      'onError 1',
      'onRetry 1',
      'onRequest 2',
      'onResponse 2',
      'onRetry 2',
      'onRequest 3',
      'onResponse 3',
      'onEnd 3',
    ])
  })

  test('are awaited, in order', async () => {
    const { hooks, seen } = recorded(() => new Promise((resolve) => setTimeout(resolve, 100)))
    const { client } = scriptedClient([done], hooks)
    expect(await advanceUntilSettled(client.analytics.get())).toBe(300)
    expect(seen).toEqual(['onRequest 1', 'onResponse 1', 'onEnd 1'])
  })

  test('headers that an async onRequest sets are sent', async () => {
    const { client, requests } = scriptedClient([done], {
      onRequest: async ({ headers }) => {
        await new Promise((resolve) => setTimeout(resolve, 10))
        headers.set('traceparent', '00-1')
      },
    })
    await settled(client.analytics.get())
    expect(requests[0]!.headers.get('traceparent')).toBe('00-1')
  })

  test('share the state of their call, and receive the path of the operation', async () => {
    const ends: unknown[] = []
    const { client } = scriptedClient([done], {
      onRequest: ({ state, path }) => {
        state.span = path
      },
      onEnd: ({ state, status, attempt, error }) => ends.push([state.span, status, attempt, error]),
    })
    await settled(client.analytics.get())
    await settled(client.DELETE('/admin/v1/keys/{id}', { params: { path: { id: 'key_1' } } }))
    expect(ends).toEqual([
      ['/api/v1/analytics', 200, 1, undefined],
      ['/admin/v1/keys/{id}', 200, 1, undefined],
    ])
  })

  test('onEnd receives the error that the call throws', async () => {
    const ends: unknown[] = []
    const { client } = scriptedClient([unavailable], { maxRetries: 0, onEnd: ({ error }) => ends.push(error) })
    const { error } = await settled(client.analytics.get().safe())
    expect(error).toBeInstanceOf(ServiceUnavailableError)
    expect(ends).toEqual([error])
  })

  test('onError and onEnd run for a call that is aborted', async () => {
    const controller = new AbortController()
    const { hooks, seen } = recorded()
    const { client } = scriptedClient(['hang'], hooks)
    const call = client.analytics.get({}, { signal: controller.signal }).safe()
    await vi.advanceTimersByTimeAsync(10)
    controller.abort()
    expect((await settled(call)).error?.name).toBe('AbortedError')
    expect(seen).toEqual(['onRequest 1', 'onError 1', 'onEnd 1'])
  })
})

describe('a hook that fails', () => {
  const failures = {
    throws: () => {
      throw new RangeError('in the hook')
    },
    rejects: () => Promise.reject(new RangeError('in the hook')),
  }

  for (const [how, hook] of Object.entries(failures))
    test.each(names)(`%s: what it ${how} changes nothing and is reported once`, async (name) => {
      const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined)
      const { client, requests } = scriptedClient([connectionError('ECONNRESET'), unavailable, done, done], {
        [name]: hook,
      })
      expect((await settled(client.analytics.get().withResponse())).attempts).toBe(3)
      expect((await settled(client.analytics.get().safe())).error).toBeUndefined()
      expect(requests).toHaveLength(4)
      expect(warn.mock.calls).toEqual([[`The error of ${name} was ignored: RangeError: in the hook`]])
    })

  test('never settles: the call continues after 5 seconds', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined)
    const { client } = scriptedClient([done], { onResponse: () => new Promise(() => {}) })
    expect(await advanceUntilSettled(client.analytics.get())).toBe(5_000)
    expect(warn).toHaveBeenCalledTimes(1)
  })

  test('does not keep an aborted call waiting', async () => {
    const controller = new AbortController()
    const { client, requests } = scriptedClient([done], { onRequest: () => new Promise(() => {}) })
    const call = client.analytics.get({}, { signal: controller.signal }).safe()
    await vi.advanceTimersByTimeAsync(10)
    controller.abort()
    expect(await advanceUntilSettled(call)).toBe(0)
    expect((await call).error?.name).toBe('AbortedError')
    expect(requests).toHaveLength(0)
  })

  test('does not turn the unknown outcome of a write into another error', async () => {
    vi.spyOn(console, 'warn').mockReturnValue(undefined)
    const hooks = Object.fromEntries(names.map((name) => [name, failures.throws]))
    const { client } = scriptedClient([connectionError('ECONNRESET')], hooks)
    const call = client.events.conversion({ externalOrderId: '1', amountCents: 1 }).safe()
    expect((await settled(call)).error?.name).toBe('UnknownOutcomeError')
  })
})

test.each([
  [
    'throws',
    () => {
      throw new RangeError('in the logger')
    },
  ],
  ['rejects', () => Promise.reject(new RangeError('in the logger'))],
])('what a logger %s changes nothing and is reported once', async (_, log) => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined)
  const { client } = scriptedClient([unavailable, done], { logger: { debug: log, warn: log } })
  expect((await settled(client.analytics.get().withResponse())).attempts).toBe(2)
  expect(warn.mock.calls).toEqual([['The error of logger was ignored: RangeError: in the logger']])
})
