// Full: it compares a clock with a bound.
// PostgreSQL only: the guarantees of connections to a server.
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database, Reader, Transaction } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { StorageError } from '../../server/src/database/storage-error.ts'
import { administer, databaseUrl, type TestDatabase, testDatabase } from '../support/database.ts'

const SHOP = 'shp_1'
let database: TestDatabase
let db: Database
beforeEach(async () => {
  database = await testDatabase()
  db = database.db
})
afterEach(() => database.remove())

const put = (trx: Transaction, name: string, value = 'x') =>
  trx.insertInto('installationSettings').values({ name, value }).execute()
const names = async () =>
  (await db.read.selectFrom('installationSettings').select('name').orderBy('name').execute()).map((row) => row.name)
const show = async (on: Reader, name: string) =>
  (await sql<{ value: string }>`select current_setting(${name}) as value`.execute(on)).rows[0]?.value

/** Ends every other connection to the database, as a restart or a fail-over does. */
const endConnections = () =>
  database.sql.exec(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )

test('acknowledged writes are on disk, whatever the default of the database', async () => {
  database.sql.exec(`alter database "${new URL(database.url).pathname.slice(1)}" set synchronous_commit = off`)
  const fresh = await openDatabase(database.url)
  expect(await fresh.transact((trx) => show(trx, 'synchronous_commit'))).toBe('on')
  await fresh.close()
})

test('no connection compiles plans, with and without a pooler', async () => {
  const pooled = await openDatabase(`${database.url}?pgbouncer=true`)
  for (const on of [db, pooled]) {
    const shown = [await show(on.read, 'jit'), await on.transact((trx) => show(trx, 'jit'))]
    expect(shown).toEqual(['off', 'off'])
  }
  await pooled.close()
})

test('statements, locks and idle transactions time out; the URL may set other timeouts', async () => {
  const settings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'application_name']
  const shown = (on: Database) => on.transact((trx) => Promise.all(settings.map((name) => show(trx, name))))
  expect(await shown(db)).toEqual(['10s', '5s', '10s', 'referral-server'])
  expect(await show(db.read, 'statement_timeout')).toBe('30s')
  const other = await openDatabase(`${database.url}?lock_timeout=150&application_name=mine&pool=2`)
  expect(await shown(other)).toEqual(['10s', '150ms', '10s', 'mine'])
  await db.transact(async (trx) => {
    await put(trx, 'first')
    // Reads have waited for the shop's lock; writes alone are queued.
    await trx.selectFrom('installationSettings').select('name').execute()
    await expect(other.transact((second) => put(second, 'second'), SHOP)).rejects.toMatchObject({ code: '55P03' })
  }, SHOP)
  expect(await names()).toEqual(['first'])
  await other.close()
})

test('a process that changes a shop without a pause does not starve another one', async () => {
  const other = await openDatabase(database.url)
  await db.transact((trx) => put(trx, 'first'), SHOP)
  const until = performance.now() + 2000
  const counts = [0, 0]
  const change = async (on: Database, process: number) => {
    while (performance.now() < until) {
      const name = `${process} ${++counts[process]!}`
      await on.transact(async (trx) => {
        await put(trx, name)
        if (process === 0) await sql`select pg_sleep(0.01)`.execute(trx)
      }, SHOP)
    }
  }
  // The next work is ready when a transaction ends.
  await Promise.all([...Array.from({ length: 8 }, () => change(db, 0)), change(other, 1)])
  await other.close()
  expect(counts[1]).toBeGreaterThan(8)
  expect(await names()).toHaveLength(1 + counts[0]! + counts[1]!)
})

test('text is compared by its bytes, as on SQLite', async () => {
  for (const name of ['b', 'B', 'a', 'A', '_', 'ä', '0']) await db.transact((trx) => put(trx, name))
  expect(await names()).toEqual(['0', 'A', 'B', '_', 'a', 'b', 'ä'])
})

test('counts and sums are numbers', async () => {
  const { count, sum } = await db.read
    .selectFrom('commissions')
    .select((of) => [of.fn.countAll<number>().as('count'), of.fn.sum<number | null>('commissionAmountCents').as('sum')])
    .executeTakeFirstOrThrow()
  expect([count, sum]).toEqual([0, null])
  const { rows } = await sql<{
    n: number
  }>`select sum(n) as n from (values (9007199254740991::bigint)) as t(n)`.execute(db.read)
  expect(rows).toEqual([{ n: Number.MAX_SAFE_INTEGER }])
})

test('a sum above the safe integers throws instead of being rounded, and the connections stay usable', async () => {
  const twice = (on: Reader) => sql<{ n: number }>`select 9007199254740991::bigint * ${sql.lit(2)} as n`.execute(on)
  await expect(twice(db.read)).rejects.toThrow('too large to be exact')
  await expect(db.transact(twice, SHOP)).rejects.toThrow('too large to be exact')
  await db.transact((trx) => put(trx, 'after'), SHOP)
  expect(await names()).toEqual(['after'])
})

test('a transaction whose connection ends before the commit is retried on another one', async () => {
  let runs = 0
  const result = await db.transact(async (trx) => {
    runs++
    await put(trx, 'once')
    if (runs === 1) endConnections()
    return (await trx.selectFrom('installationSettings').selectAll().execute()).length
  }, SHOP)
  expect([result, runs]).toEqual([1, 2])
  expect(await names()).toEqual(['once'])
})

test('a connection that ends during the commit: the database determines whether it was committed', async () => {
  // The commit itself waits for this trigger, so the connection can be ended in the middle of it.
  database.sql.exec(`create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return null; end $$;
    create constraint trigger slow after insert on "installationSettings" deferrable initially deferred
    for each row execute function slow()`)
  const pending = db.transact((trx) => put(trx, 'kept?'), SHOP)
  await new Promise((done) => setTimeout(done, 200))
  endConnections()
  await pending
  expect(await names()).toEqual(['kept?'])
})

test('reads over ended connections are retried', async () => {
  await Promise.all(Array.from({ length: 5 }, names))
  endConnections()
  expect(await Promise.all(Array.from({ length: 5 }, names))).toEqual(Array(5).fill([]))
})

test('two transactions in a deadlock both succeed', async () => {
  await db.transact((trx) => put(trx, 'a'))
  await db.transact((trx) => put(trx, 'b'))
  const change = (trx: Transaction, name: string) =>
    trx.updateTable('installationSettings').set({ value: 'y' }).where('name', '=', name).execute()
  const both = Promise.withResolvers<void>()
  let arrived = 0
  const work = (first: string, second: string) =>
    db.transact(async (trx) => {
      await change(trx, first)
      if (++arrived === 2) both.resolve()
      await both.promise
      await change(trx, second)
    })
  await Promise.all([work('a', 'b'), work('b', 'a')])
  expect(arrived).toBeGreaterThan(2)
})

test('a statement prepared before a column was added is prepared again', async () => {
  const all = () => db.read.selectFrom('installationSettings').selectAll().execute()
  for (let i = 0; i < 6; i++) await Promise.all(Array.from({ length: 8 }, all))
  await db.transact((trx) => trx.selectFrom('installationSettings').selectAll().execute())
  database.sql.exec('alter table "installationSettings" add column extra text')
  expect(await Promise.all(Array.from({ length: 20 }, all))).toEqual(Array(20).fill([]))
  expect(await db.transact((trx) => trx.selectFrom('installationSettings').selectAll().execute())).toEqual([])
})

test('an unreachable database is an immediate storage error', async () => {
  const nowhere = await openDatabase('postgres://nobody@127.0.0.1:1/none')
  const error = await nowhere.transact(async () => {}).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(StorageError)
  expect(error).toMatchObject({ code: 'ECONNREFUSED', isLost: true })
  await expect(nowhere.read.selectFrom('shops').selectAll().execute()).rejects.toBeInstanceOf(StorageError)
  await nowhere.close()
})

test('an empty database is not ready; after parallel migrations it is', async () => {
  const home = process.env.TEST_POSTGRES_URL ?? ''
  const name = `${new URL(database.url).pathname.slice(1)}_empty`
  await administer(home, `create database ${name}`)
  const instances = await Promise.all([1, 2, 3].map(() => openDatabase(databaseUrl(home, name))))
  expect(await instances[0]?.isMigrated()).toBe(false)
  await Promise.all(instances.map((one) => one.migrate()))
  expect(await Promise.all(instances.map((one) => one.isMigrated()))).toEqual([true, true, true])
  await Promise.all(instances.map((one) => one.close()))
  await administer(home, `drop database ${name} with (force)`)
})
