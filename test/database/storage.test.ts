import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database, Transaction } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { isUniqueViolation } from '../../server/src/database/storage-error.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Database

beforeEach(async () => {
  database = await testDatabase()
  db = database.db
})
afterEach(() => database.remove())

const SHOP = 'shp_1'
const put = (trx: Transaction, name: string, value = 'x') =>
  trx.insertInto('installationSettings').values({ name, value }).execute()
const names = async () =>
  (await db.read.selectFrom('installationSettings').select('name').orderBy('name').execute()).map((row) => row.name)

test('nothing is written outside a transaction', async () => {
  await expect(put(db.read as Transaction, 'a')).rejects.toThrow('only possible inside transact')
  expect(await names()).toEqual([])
})

test('reads do not see uncommitted changes', async () => {
  await db.transact(async (trx) => {
    await put(trx, 'a')
    expect(await names()).toEqual([])
  })
  expect(await names()).toEqual(['a'])
})

test('work queued in one turn of the event loop shares one transaction, and resolves after its commit', async () => {
  const ran: string[] = []
  const work = (name: string) =>
    db.transact(async (trx) => {
      ran.push(name)
      await put(trx, name)
      return name
    }, SHOP)
  const first = work('a').then(async (name) => ({ name, seen: await names() }))
  expect(await Promise.all([first, work('b'), work('c')])).toEqual([{ name: 'a', seen: ['a', 'b', 'c'] }, 'b', 'c'])
  expect(ran).toEqual(['a', 'b', 'c'])
})

test('work that fails after writing is rolled back, and the others of its group are committed', async () => {
  const all = Array.from({ length: 100 }, (_, i) =>
    db.transact(async (trx) => {
      await put(trx, String(i).padStart(3, '0'))
      if (i % 25 === 7) throw new Error('late')
      return i
    }, SHOP),
  )
  const results = await Promise.allSettled(all)
  expect(results.filter((one) => one.status === 'rejected')).toHaveLength(4)
  const kept = await names()
  expect(kept).toHaveLength(96)
  expect(kept).not.toContain('007')
})

test('work that throws before writing does not affect the others', async () => {
  const refused = db.transact(async () => {
    throw new Error('no')
  }, SHOP)
  const kept = db.transact((trx) => put(trx, 'kept'), SHOP)
  await expect(refused).rejects.toThrow('no')
  await kept
  expect(await names()).toEqual(['kept'])
})

test('a unique violation fails only its own work, with its own error', async () => {
  const all = ['a', 'b', 'a', 'c', 'b'].map((name) => db.transact((trx) => put(trx, name), SHOP))
  const results = await Promise.allSettled(all)
  const refused = results.filter((one) => one.status === 'rejected')
  expect(results.map((one) => one.status === 'fulfilled')).toEqual([true, true, false, true, false])
  expect(refused.every((one) => isUniqueViolation(one.reason))).toBe(true)
  expect(await names()).toEqual(['a', 'b', 'c'])
})

test('work can catch the error of its own statement and throw another', async () => {
  await db.transact((trx) => put(trx, 'a'))
  const work = async (trx: Transaction) => {
    await put(trx, 'b')
    await put(trx, 'a').catch((error) => {
      throw new Error('in its own words', { cause: error })
    })
  }
  await expect(db.transact(work, SHOP)).rejects.toThrow('in its own words')
  expect(await names()).toEqual(['a'])
})

test('work of a group sees the writes of the work before it', async () => {
  const seen = (trx: Transaction) => trx.selectFrom('installationSettings').select('name').execute()
  const all = ['a', 'b', 'c'].map((name) =>
    db.transact(async (trx) => {
      await put(trx, name)
      return (await seen(trx)).length
    }, SHOP),
  )
  expect(await Promise.all(all)).toEqual([1, 2, 3])
})

test('two processes write to one database without losing anything', async () => {
  const other = await openDatabase(database.url)
  const writes = Array.from({ length: 200 }, (_, i) => (i % 2 ? db : other).transact((trx) => put(trx, `n${i}`), SHOP))
  await Promise.all(writes)
  expect(await names()).toHaveLength(200)
  await other.close()
})

test('rows read by work on a shop do not change during it, even with several processes', async () => {
  await db.transact((trx) => put(trx, 'count', '0'))
  const other = await openDatabase(database.url)
  const add = (on: Database) =>
    on.transact(async (trx) => {
      const count = trx.selectFrom('installationSettings').select('value').where('name', '=', 'count')
      const { value } = await count.executeTakeFirstOrThrow()
      await trx
        .updateTable('installationSettings')
        .set({ value: `${Number(value) + 1}` })
        .where('name', '=', 'count')
        .execute()
    }, SHOP)
  await Promise.all(Array.from({ length: 100 }, (_, i) => add(i % 2 ? db : other)))
  expect(database.sql.prepare('select value from "installationSettings"').pluck().get()).toBe('100')
  await other.close()
})

test('the head of an audit chain advances only with committed work', async () => {
  const other = await openDatabase(database.url)
  const append = (on: Database, i: number) =>
    on.transact(async (trx, chain) => {
      await chain.append(async ({ seq, eventId }) => {
        await put(trx, `row ${seq + 1}`)
        return { eventId, seq: seq + 1, hash: `hash ${seq + 1}` }
      })
      if (i % 25 === 7) throw new Error('late')
    }, SHOP)
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => append(i % 2 ? db : other, i)))
  expect(results.filter((one) => one.status === 'rejected')).toHaveLength(4)
  expect(await names()).toHaveLength(96)
  expect(database.sql.prepare('select "shopId", seq, hash, "eventId" from "auditHeads"').all()).toEqual([
    { shopId: SHOP, seq: 96, hash: 'hash 96', eventId: '' },
  ])
  await other.close()
})

test('a transaction without a shop has no audit chain', async () => {
  await expect(db.transact((_, chain) => chain.append(async (last) => last))).rejects.toThrow('needs a shopId')
})

test('repeated and parallel migrations change nothing', async () => {
  expect(await db.isMigrated()).toBe(true)
  const before = database.sql.tables()
  await Promise.all([db.migrate(), db.migrate(), db.migrate()])
  expect(database.sql.tables()).toEqual(before)
})
