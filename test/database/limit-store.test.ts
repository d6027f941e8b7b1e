// Full: it compares a clock with a bound.
import { setTimeout as sleep } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { expect, test } from 'vitest'
import { createRateLimiter, LIMITER_OPTIONS } from '../../server/src/http/rate-limit.ts'

const storeThat = (consume: (key: string) => Promise<RateLimiterRes>) => ({ consume }) as unknown as RateLimiterAbstract

test('a request is accepted when the store fails', async () => {
  let failures = 0
  const store = storeThat(() => Promise.reject(new Error('store is gone')))
  const limiter = createRateLimiter({ store, onFailure: () => failures++ })
  expect(await limiter.consume('key:a', 100)).toEqual({ limit: 100, remaining: 100, reset: 60, exceeded: false })
  expect(failures).toBe(1)
})

test('a request is accepted within 50 ms when the store does not respond, and later ones immediately', async () => {
  let asked = 0
  const store = storeThat(() => {
    asked++
    return new Promise(() => {})
  })
  let failures = 0
  const limiter = createRateLimiter({ store, onFailure: () => failures++ })
  const took: number[] = []
  for (let i = 0; i < 10; i++) {
    const startedAt = performance.now()
    expect((await limiter.consume(`key:${i}`, 100)).exceeded).toBe(false)
    took.push(performance.now() - startedAt)
  }
  // The minimum of each kind, which excludes delays of a busy machine.
  expect(Math.min(...took.slice(0, 3))).toBeLessThan(50)
  expect(Math.min(...took.slice(3))).toBeLessThan(5)
  expect([asked, failures]).toEqual([3, 10])
})

test('a store that recovers counts again', async () => {
  const memory = new RateLimiterMemory(LIMITER_OPTIONS)
  let isGone = true
  const store = storeThat((key) => (isGone ? Promise.reject(new Error('gone')) : memory.consume(key)))
  const limiter = createRateLimiter({ store })
  for (let i = 0; i < 5; i++) await limiter.consume('key:a', 100)
  isGone = false
  expect((await limiter.consume('key:a', 100)).remaining).toBe(100)
  await sleep(1050)
  expect((await limiter.consume('key:a', 100)).remaining).toBe(99)
})

test('a pause of the process does not count as a timeout of the store', async () => {
  const { port1, port2 } = new MessageChannel()
  const counted = new RateLimiterRes(0, 60_000, 7, false)
  const store = storeThat(() => new Promise((done) => port1.once('message', () => done(counted))))
  const pending = createRateLimiter({ store }).consume('key:a', 100)
  port2.postMessage('counted')
  const until = performance.now() + 80
  while (performance.now() < until);
  expect((await pending).remaining).toBe(93)
  port1.close()
})
