// Full: it starts several servers.
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database, Reader } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { call, metric, until, withAffiliate } from '../support/calls.ts'
import { whyNoPgBouncer, whyNotPrepared } from '../support/pgbouncer.ts'
import { type Instances, missing, type Pooling, startInstances } from './fixture.ts'

const noPgBouncer = whyNoPgBouncer()
const notPrepared = noPgBouncer ?? whyNotPrepared()
if (noPgBouncer && !missing) console.warn(`skipped: transaction pooling, because ${noPgBouncer}`)
else if (notPrepared && !missing) console.warn(`skipped: transaction pooling with names, because ${notPrepared}`)

const SETTINGS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'synchronous_commit',
  'transaction_read_only',
]
const MANY = 24
const LONG = { timeout: 60_000 }
const together = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

const WAYS: [Pooling, string | undefined][] = [
  ['unnamed', missing ?? noPgBouncer],
  ['prepared', missing ?? notPrepared],
]

for (const [pooling, skipped] of WAYS) {
  describe.skipIf(skipped)(`two processes through PgBouncer in transaction mode, statements ${pooling}`, () => {
    let instances: Instances
    let db: Database
    let url: string
    // Two servers that start at once on an empty database: both migrate it, one at a time.
    beforeAll(async () => {
      // Limits are counted through PgBouncer as well.
      instances = await startInstances(2, { REDIS_URL: '' }, { pooling })
      url = instances.env.DATABASE_URL!
      db = await openDatabase(`${url}&lock_timeout=1234`)
      await instances.query('alter system set synchronous_commit = off')
      await instances.query('select pg_reload_conf()')
      await until(async () => (await show(db.read))[3] === 'off', 5000, 'reloaded')
    }, 90_000)
    afterAll(async () => {
      await db?.close()
      await instances?.stop()
    })

    const server = (n: number) => instances.servers[n % 2]!
    const show = async (on: Reader): Promise<string[]> => {
      const values = sql.join(SETTINGS.map((name) => sql`current_setting(${sql.lit(name)})`))
      const { rows } = await sql<{ settings: string[] }>`select array[${values}] as settings`.execute(on)
      return rows[0]?.settings ?? []
    }
    /** What a session of PgBouncer has set. PgBouncer itself sets the name. */
    const leftovers = async () => {
      const client = new pg.Client(url)
      await client.connect()
      const { rows } = await client.query(`select name, setting from pg_settings where source = 'session'
        and name <> 'application_name' and (name, setting) <> ('transaction_read_only', 'off')`)
      await client.end()
      return rows
    }

    test('the settings of a transaction apply to it and to no later one of the session', async () => {
      expect(await db.transact((trx) => show(trx))).toEqual(['10s', '1234ms', '10s', 'on', 'off'])
      expect(await show(db.read)).toEqual(['30s', '1234ms', '10s', 'off', 'on'])
      for (let n = 0; n < 12; n++) expect(await leftovers()).toEqual([])
    })

    test('writing outside a transaction is rejected', async () => {
      const write = sql`insert into "installationSettings" (name, value) values ('x', 'y')`
      await expect(write.execute(db.read)).rejects.toThrow('Writing is only possible inside transact')
    })

    test('a migration leaves no lock behind', async () => {
      await Promise.all([db.migrate(), db.migrate(), db.migrate()])
      expect(await instances.query(`select pid from pg_locks where locktype = 'advisory'`)).toEqual([])
    })

    test('the same key sent to both processes at once: one order, byte-identical responses', LONG, async () => {
      const { keys } = await instances.createShop({ keys: 2 })
      await withAffiliate(server(0), keys[0]!)
      for (let i = 0; i < 4; i++) {
        const order = { externalOrderId: `same-${i}`, amountCents: 10_000, couponCode: 'NISA16' }
        const answers = await together(MANY, (n) =>
          call(server(n), keys[n % 2]!, ['POST', '/api/v1/events', order, `k-${i}`]),
        )
        expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
        expect(answers[0]?.status).toBe(201)
      }
    })

    test(
      'concurrent orders, lists, and reports of two shops all succeed, and each order is stored once',
      LONG,
      async () => {
        const shops = await Promise.all([instances.createShop(), instances.createShop()])
        for (const { keys } of shops) await withAffiliate(server(0), keys[0]!)
        const order = (n: number) => ({ externalOrderId: `o-${n >> 1}`, amountCents: 1000, couponCode: 'NISA16' })
        const answers = await together(4 * MANY, async (n) => {
          const key = shops[n % 2]!.keys[0]!
          const listed = ['/api/v1/commissions?limit=5', '/api/v1/affiliates', '/api/v1/analytics'][n % 3]!
          const recorded = await call(server(n >> 1), key, ['POST', '/api/v1/events', order(n), `o-${n >> 1}`])
          const read = await call(server(n >> 1), key, ['GET', listed])
          return [recorded.status, read.status]
        })
        expect(answers.filter(([recorded, read]) => recorded !== 201 || read !== 200)).toEqual([])
        const rows = await instances.query<{ n: string; orders: string }>(
          `select count(*) as n, count(distinct "externalOrderId") as orders from commissions
         where "externalOrderId" like 'o-%' group by "shopId"`,
        )
        expect(rows.map(({ n, orders }) => [n, orders])).toEqual(Array(2).fill([String(2 * MANY), String(2 * MANY)]))
        expect(await instances.problems()).toEqual([])
      },
    )

    test('limits are counted by both processes together', LONG, async () => {
      const { keys } = await instances.createShop({ plan: 'PROFESSIONAL' })
      const failures = async () =>
        (await together(2, (n) => metric(server(n), 'referral_limit_store_failures_total'))).reduce((a, b) => a + b, 0)
      const before = await failures()
      let allowed = 0
      for (let n = 0; n < 130; n += 10) {
        const answers = await together(10, (i) => call(server(i), keys[0]!, ['GET', '/api/v1/programs']))
        allowed += answers.filter(({ status }) => status === 200).length
      }
      const passed = (await failures()) - before
      expect(allowed).toBeGreaterThanOrEqual(100)
      expect(allowed).toBeLessThanOrEqual(100 + passed)
    })
  })
}
