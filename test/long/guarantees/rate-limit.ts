import { setTimeout as sleep } from 'node:timers/promises'
import { missing, startInstances } from '../../cluster/fixture.ts'
import { call, metric } from '../../support/calls.ts'
import { whyNoRedis } from '../../support/redis.ts'
import { figure, type LongTest, Missing, type RunOptions, sized } from '../guarantee.ts'

const PROCESSES = 4
const UNCOUNTED = 'referral_limit_store_failures_total'
/** Concurrent callers; more would only wait for this machine. */
const AT_ONCE = 16
const HELD_UP_MS = 50
const LIMITS = { PROFESSIONAL: 100, ENTERPRISE: 1000 }
/** How many more calls than a window allows. */
const OVER = 60

type At = Awaited<ReturnType<typeof startInstances>>

const uncounted = async ({ servers }: At) => {
  const each = await Promise.all(servers.map((server) => metric(server, UNCOUNTED)))
  return each.reduce((sum, one) => sum + one, 0)
}

/** Spreads calls over the processes. Returns how often each status was returned, and how long each call took. */
async function spread(at: At, key: string, count: number) {
  const took: number[] = []
  const statuses: Record<number, number> = {}
  let next = 0
  const caller = async () => {
    for (let n = next++; n < count; n = next++) {
      const startedAt = performance.now()
      const { status } = await call(at.servers[n % PROCESSES]!, key, ['GET', '/api/v1/programs'])
      took.push(performance.now() - startedAt)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, caller))
  return { statuses, took: took.sort((a, b) => a - b) }
}

/** One window of a new key: exact, except for requests that passed uncounted because this machine stalled. Returns their number. */
async function countWindow(at: At, plan: keyof typeof LIMITS): Promise<number> {
  const limit = LIMITS[plan]
  const shop = await at.createShop({ plan })
  const before = await uncounted(at)
  const { statuses } = await spread(at, shop.keys[0]!, limit + OVER)
  const passed = (await uncounted(at)) - before
  // A request that was allowed uncounted may still have been counted later.
  const isRight = statuses[200]! >= limit && statuses[200]! <= limit + passed
  if (!isRight) throw new Error(`${plan}: ${JSON.stringify(statuses)}, ${passed} of them uncounted`)
  return passed
}

/** Windows in which every call was counted; a disturbed one is repeated. */
async function countWindows(at: At, rounds: number): Promise<number> {
  let counted = 0
  let disturbed = 0
  for (let i = 0; i < rounds; ) {
    const plan = i % 4 ? 'PROFESSIONAL' : 'ENTERPRISE'
    if ((await countWindow(at, plan)) > 0) {
      if (++disturbed > 4 * rounds) throw new Error(`this machine is too busy: ${disturbed} windows were disturbed`)
      continue
    }
    counted += LIMITS[plan] + OVER
    i++
  }
  return counted
}

/** One at a time, so that only the wait for the store is measured. */
async function oneByOne(at: At, key: string, count: number): Promise<number[]> {
  const took: number[] = []
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now()
    const { status } = await call(at.servers[n % PROCESSES]!, key, ['GET', '/api/v1/programs'])
    took.push(performance.now() - startedAt)
    if (status !== 200) throw new Error(`answered ${status} without a store`)
    await sleep(5)
  }
  return took.sort((a, b) => a - b)
}

async function run(options: RunOptions): Promise<string> {
  if (missing) throw new Missing(missing)
  const noRedis = whyNoRedis()
  if (noRedis) throw new Missing(noRedis)
  const at = await startInstances(PROCESSES)
  try {
    const counted = await countWindows(at, sized(8, options))
    const { keys } = await at.createShop({ plan: 'PROFESSIONAL' })
    const usual = await oneByOne(at, keys[0]!, 40)
    const before = await uncounted(at)
    await at.redis?.stop()
    // More than the limit, and all pass.
    const without = await oneByOne(at, keys[0]!, 200)
    const told = (await uncounted(at)) - before
    if (told < 200) throw new Error(`the metric counts ${told} of 200 requests`)
    const median = usual[usual.length >> 1]!
    const late = without.filter((ms) => ms > median + HELD_UP_MS)
    // A busy machine may be late, but not for one request in twenty.
    if (late.length > 10) throw new Error(`${late.length} of 200 requests waited more than ${HELD_UP_MS} ms longer`)
    const [p50, p95] = [0.5, 0.95].map((share) => without[Math.floor(share * without.length)]!.toFixed(1))
    return `${figure(counted)} calls over ${PROCESSES} processes counted exactly; store killed: 200 of 200 pass, p50 ${p50} ms, p95 ${p95} ms (before ${median.toFixed(1)} ms), the metric counts each`
  } finally {
    await at.stop()
  }
}

export const guarantee: LongTest = {
  title: 'The rate limit is exact, and fails open when its store is unavailable',
  minutes: 3,
  run,
}
