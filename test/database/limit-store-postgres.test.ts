// Full: it compares a clock with a bound.
// PostgreSQL only: limits that are counted in it.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LimitStore, openLimitStore } from '../../server/src/database/limit-store.ts'
import { createRateLimiter, LIMITER_OPTIONS } from '../../server/src/http/rate-limit.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'

let database: TestDatabase
let limits: LimitStore
beforeAll(async () => {
  database = await testDatabase()
  limits = await openLimitStore({ redisUrl: undefined, databaseUrl: database.url }, LIMITER_OPTIONS)
})
afterAll(async () => {
  await limits.close()
  await database.remove()
})

test('with a locked table, requests pass in time, each is logged, and counting resumes afterwards', async () => {
  let failures = 0
  const limiter = createRateLimiter({ store: limits.store, onFailure: () => failures++ })
  const other = new pg.Client(database.url)
  await other.connect()
  await other.query('begin')
  await other.query('lock table "rateLimits" in access exclusive mode')
  const took: number[] = []
  for (let i = 0; i < 6; i++) {
    const startedAt = performance.now()
    expect(await limiter.consume('key:a', 3)).toMatchObject({ remaining: 3, exceeded: false })
    took.push(performance.now() - startedAt)
  }
  // The first three wait; a busy machine may delay one of them, but not all.
  expect(Math.min(...took.slice(0, 3))).toBeLessThan(50)
  expect(Math.min(...took.slice(3))).toBeLessThan(5)
  expect(failures).toBe(6)
  await other.query('rollback')
  await other.end()
  const patient = createRateLimiter({ store: limits.store, timeoutMs: 5000 })
  const seen = await Promise.all(Array.from({ length: 5 }, () => patient.consume('key:b', 3)))
  expect(seen.map(({ exceeded }) => exceeded).sort()).toEqual([false, false, false, true, true])
})

test('every request of four processes gets its own number', async () => {
  const urls = { redisUrl: undefined, databaseUrl: database.url }
  const processes = await Promise.all([1, 2, 3, 4].map(() => openLimitStore(urls, LIMITER_OPTIONS)))
  const keys = ['key:c', 'key:d', 'key:e']
  const numbers = new Map<string, number[]>(keys.map((key) => [key, []]))
  const callers = processes.flatMap(({ store }) => keys.map((key) => ({ key, store: store! })))
  await Promise.all(
    callers.map(async ({ key, store }) => {
      for (let n = 0; n < 100; n++) numbers.get(key)?.push((await store.consume(key, 1)).consumedPoints)
    }),
  )
  for (const found of numbers.values())
    expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, n) => n + 1))
  expect((await processes[0]!.store!.get('key:c'))?.consumedPoints).toBe(400)
  await Promise.all(processes.map(({ close }) => close()))
})
