// Full: it starts several servers.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, call, until, withAffiliate } from '../support/calls.ts'
import { type Instances, missing, type Shop, startInstances } from './fixture.ts'

/** More than a server has connections. */
const LOCKED = 24
const ORDERS_EACH = 3
const LONG = { timeout: 60_000 }
/** The time limit of the lock, and what a busy machine may add. */
const LOCK_TIMEOUT_MS = 5000
const GRACE_MS = 3000

let instances: Instances
let locked: Shop[]
let free: Shop
let lock: pg.Client

describe.skipIf(missing)('shops that another transaction has locked', () => {
  beforeAll(async () => {
    instances = await startInstances(1)
    const shops = await Promise.all(Array.from({ length: LOCKED + 1 }, () => instances.createShop()))
    await Promise.all(shops.map(({ keys }) => withAffiliate(instances.servers[0]!, keys[0]!)))
    locked = shops.slice(1)
    free = shops[0]!
    lock = new pg.Client(instances.postgres.url)
    await lock.connect()
  }, 90_000)
  afterAll(async () => {
    await lock?.end()
    await instances?.stop()
  })

  const order = (shop: Shop, id: string): Promise<Answer> => {
    const body = { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' }
    return call(instances.servers[0]!, shop.keys[0]!, ['POST', '/api/v1/events', body, id])
  }
  const ordersOfAll = (prefix: string) =>
    locked.flatMap((shop) => Array.from({ length: ORDERS_EACH }, (_, n) => order(shop, `${prefix}-${n}`)))
  const lockAll = async () => {
    await lock.query('begin')
    const ids = locked.map(({ shopId }) => shopId)
    await lock.query('select from "auditHeads" where "shopId" = any($1) for update', [ids])
  }
  const release = () => lock.query('rollback')
  /** How often each shop has recorded each order. */
  const recorded = async (prefix: string) => {
    const rows = await instances.query<{ n: number }>(
      `select count(*)::int as n from commissions where "externalOrderId" like $1 group by "shopId", "externalOrderId"`,
      [`${prefix}-%`],
    )
    return rows.map(({ n }) => n)
  }
  const ALL_ONCE = Array(LOCKED * ORDERS_EACH).fill(1)
  const isWaiting = () =>
    until(
      async () => {
        const [row] = await instances.query<{ n: number }>(
          `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'`,
        )
        return row!.n > 0
      },
      5000,
      'a connection waits',
    )

  test('orders of other shops continue, and theirs are recorded once when the locks are released', LONG, async () => {
    await lockAll()
    const pending = ordersOfAll('released')
    await isWaiting()
    const times: number[] = []
    // Few, so that even a busy machine records them before the orders of the locked shops are rejected.
    for (let n = 0; n < 10; n++) {
      const startedAt = performance.now()
      expect((await order(free, `free-${n}`)).status).toBe(201)
      times.push(performance.now() - startedAt)
    }
    // They waited for 4.8 s while the locks used up the connections.
    expect(Math.max(...times)).toBeLessThan(1000)
    expect(await recorded('released')).toEqual([])
    await release()
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual(ALL_ONCE.map(() => 201))
    expect(await recorded('released')).toEqual(ALL_ONCE)
    expect(await instances.problems()).toEqual([])
  })

  test('503 when the locks are not released in time, and a retry records each order once', LONG, async () => {
    await lockAll()
    const startedAt = performance.now()
    const rejected = await Promise.all(ordersOfAll('late'))
    const elapsedMs = performance.now() - startedAt
    expect(new Set(rejected.map(({ status, headers }) => `${status} ${headers.get('X-Error-Code')}`))).toEqual(
      new Set(['503 storage_unavailable']),
    )
    expect(elapsedMs).toBeGreaterThan(LOCK_TIMEOUT_MS - 100)
    expect(elapsedMs).toBeLessThan(LOCK_TIMEOUT_MS + GRACE_MS)
    await release()
    expect(await recorded('late')).toEqual([])
    expect((await Promise.all(ordersOfAll('late'))).map(({ status }) => status)).toEqual(ALL_ONCE.map(() => 201))
    expect(await recorded('late')).toEqual(ALL_ONCE)
    expect(await instances.problems()).toEqual([])
  })
})
