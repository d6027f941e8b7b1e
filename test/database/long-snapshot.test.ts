// Full: needs large tables, other processes, or failures of the database.
import { setTimeout as sleep } from 'node:timers/promises'
// PostgreSQL only: SQLite updates rows in place.
import pg from 'pg'
import { expect } from 'vitest'
import { check } from '../../server/src/operator/check.ts'
import { testServer } from '../support/server.ts'
import { test } from '../support/test.ts'

/** The tables with rows that every order updates. */
const TABLES = ['rowCounts', 'rateLimits', 'auditHeads']

/** Counts move to new rows after this many updates, and look-ups visit the versions since then, so a whole cycle is compared. */
const CYCLE = 64

test('orders and lists read no more blocks while a read transaction stays open', { timeout: 60_000 }, async () => {
  const server = await testServer({ limited: true })
  const shop = await server.createShop('ENTERPRISE')
  const { request } = server.asShop(shop)
  const affiliate = await request('POST', '/api/v1/affiliates', { body: { firstName: 'A', email: 'a@example.com' } })
  const couponCode = affiliate.body.data.discountCode
  let orders = 0
  const order = async (count: number) => {
    for (const last = orders + count; orders < last; orders++) {
      const body = {
        type: 'conversion',
        externalOrderId: `o-${orders}`,
        amountCents: 1000,
        currency: 'USD',
        couponCode,
      }
      const { status } = await request('POST', '/api/v1/events', {
        body,
        headers: { 'Idempotency-Key': `o-${orders}` },
      })
      expect(status).toBe(201)
    }
  }
  const observer = new pg.Client(server.url)
  const reader = new pg.Client(server.url)
  await Promise.all([observer.connect(), reader.connect()])
  const readerPid = (await reader.query('select pg_backend_pid() as pid')).rows[0].pid
  // Tables of a few blocks would be read in sequence.
  await observer.query(`alter database "${new URL(server.url).pathname.slice(1)}" set enable_seqscan = off`)
  // Autovacuum would read them as well, at some point of a cluster that runs for minutes.
  for (const table of TABLES) await observer.query(`alter table "${table}" set (autovacuum_enabled = off)`)
  /** Blocks of each table that were read so far. Sessions report them when they end. */
  const blocks = async (): Promise<number[]> => {
    // A session that is busy, or between two statements, would keep its numbers.
    const isBusy = async () =>
      (
        await observer.query(
          `select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
            and pid <> pg_backend_pid() and pid <> $1 and state <> 'idle'`,
          [readerPid],
        )
      ).rowCount
    while (await isBusy()) await sleep(20)
    await observer.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`)
    const { rows } = await observer.query(
      `select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as blocks
        from unnest($1::text[]) with ordinality as given (name, position)
        join pg_statio_user_tables on relname = name order by position`,
      [TABLES],
    )
    return rows.map((row) => row.blocks)
  }
  const lists = async (count: number) => {
    for (let n = 0; n < count; n++) await request('GET', '/api/v1/commissions?limit=1')
  }
  const blocksOf = async (work: () => Promise<unknown>) => {
    const before = await blocks()
    await work()
    return (await blocks()).map((after, i) => after - before[i]!)
  }
  await order(20)
  await reader.query('begin isolation level repeatable read')
  await reader.query('select count(*) from shops')
  // The indexes reach the depth that they have at the end.
  await order(4 * CYCLE)
  const first = await blocksOf(() => order(CYCLE))
  const firstOfLists = await blocksOf(() => lists(30))
  await order(3 * CYCLE)
  // As autovacuum does after a while: the planner then expects one row per key.
  for (const table of TABLES) await observer.query(`analyze "${table}"`)
  const last = await blocksOf(() => order(CYCLE))
  const lastOfLists = await blocksOf(() => lists(30))
  for (const [i, table] of TABLES.entries()) {
    expect([table, first[i]! > CYCLE]).toEqual([table, true])
    expect([table, last[i]! / first[i]! < 1.3]).toEqual([table, true])
  }
  const [counts] = TABLES.keys()
  expect(firstOfLists[counts!]).toBeGreaterThan(30)
  expect(lastOfLists[counts!]! / firstOfLists[counts!]!).toBeLessThan(1.3)
  const list = await request('GET', '/api/v1/commissions?limit=1')
  expect(list.body.pagination.total).toBe(orders)
  expect(await check(server.deps)).toMatchObject({ ok: true })
  await reader.query('rollback')
  await Promise.all([reader.end(), observer.end()])
  await server.close()
})
