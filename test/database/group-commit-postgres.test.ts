// PostgreSQL only: group commit with a connection for each transaction.
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Database, Transaction } from '../../server/src/database/database.ts'
import { isUniqueViolation } from '../../server/src/database/storage-error.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'

const SHOP = 'shp_1'
const JOBS = 32
let database: TestDatabase
let db: Database
beforeEach(async () => {
  database = await testDatabase()
  db = database.db
})
afterEach(() => {
  vi.restoreAllMocks()
  return database.remove()
})

const numbers = Array.from({ length: JOBS }, (_, i) => i)
const put = (trx: Transaction, name: string, value = 'x') =>
  trx.insertInto('installationSettings').values({ name, value }).execute()
const get = (trx: Transaction, name: string) =>
  trx.selectFrom('installationSettings').select('value').where('name', '=', name).executeTakeFirst()
const names = async () =>
  (await db.read.selectFrom('installationSettings').select('name').orderBy('name').execute()).map((row) => row.name)

/** Queues the work of many callers at once. */
const together = <T>(work: (trx: Transaction, i: number) => Promise<T>) =>
  Promise.allSettled(numbers.map((i) => db.transact((trx) => work(trx, i), SHOP)))

const values = <T>(results: PromiseSettledResult<T>[]) =>
  results.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))

test('work that is queued together shares one transaction, runs in turn and sees what earlier work wrote', async () => {
  await db.transact((trx) => put(trx, 'count', '0'), SHOP)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const add = async (trx: Transaction) => {
    const { value } = (await get(trx, 'count'))!
    await trx
      .updateTable('installationSettings')
      .set({ value: `${Number(value) + 1}` })
      .execute()
    return Number(value)
  }
  expect(values(await together(add))).toEqual(numbers)
  expect(query.mock.calls.filter(([text]) => text === 'commit')).toHaveLength(1)
})

test('a transaction of one shop that takes long delays no other shop', async () => {
  const [hasBegun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = db.transact(async (trx) => {
    await put(trx, 'slow')
    hasBegun.resolve()
    await gate.promise
  }, SHOP)
  await hasBegun.promise
  await db.transact((trx) => put(trx, 'other'), 'shp_2')
  expect(await names()).toEqual(['other'])
  gate.resolve()
  await slow
})

test('a unique violation fails only the work that causes it', async () => {
  await db.transact((trx) => put(trx, 'taken'), SHOP)
  const results = await together((trx, i) => put(trx, i === 7 ? 'taken' : `n${i}`))
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, isUniqueViolation(one.reason)]] : []))
  expect(rejected).toEqual([[7, true]])
  expect(await names()).toHaveLength(JOBS)
})

test('work that throws, before or after it writes, changes nothing and fails nothing else', async () => {
  let runs = 0
  const results = await together(async (trx, i) => {
    runs++
    if (i === 3) throw new Error('before')
    await get(trx, `n${i}`)
    await put(trx, `n${i}`)
    if (i === 5) throw new Error('after')
    await get(trx, `n${i}`)
    if (i === 8) throw new Error('later')
  })
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, one.reason.message]] : []))
  expect(rejected).toEqual([
    [3, 'before'],
    [5, 'after'],
    [8, 'later'],
  ])
  expect(await names()).toHaveLength(JOBS - 3)
  expect(runs).toBeGreaterThan(JOBS)
})

test('reads that work asks for together are one statement, with the rows of each', async () => {
  const text = 'ä "quoted", \n:1234567890123456789'
  await db.transact((trx) => put(trx, 'a', text), SHOP)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const numbersOf = (most: number) =>
    sql`select sum(n) as total, count(*) as rows, 0.5::float8 as half, true as yes, null as nothing
      from (values (${most}::bigint), (-7)) as numbers (n)`
  const reads = await db.transact(async (trx) => {
    const [found, missing, { rows }] = await Promise.all([
      get(trx, 'a'),
      get(trx, 'missing'),
      numbersOf(Number.MAX_SAFE_INTEGER).execute(trx),
    ])
    return { found, missing, rows }
  }, SHOP)
  const total = Number.MAX_SAFE_INTEGER - 7
  const numberRow = { total, rows: 2, half: 0.5, yes: true, nothing: null }
  expect(reads).toEqual({ found: { value: text }, missing: undefined, rows: [numberRow] })
  // They are sent between the lock and the commit.
  expect(query.mock.calls).toHaveLength(4)
  const tooLarge = db.transact(
    (trx) => Promise.all([get(trx, 'a'), numbersOf(2 * Number.MAX_SAFE_INTEGER).execute(trx)]),
    SHOP,
  )
  await expect(tooLarge).rejects.toThrow('too large to be exact')
})

test('a read that fails, fails only the work that asked for it', async () => {
  const results = await together(async (trx, i) => {
    await put(trx, `n${i}`)
    await Promise.all([get(trx, `n${i}`), sql`select 1 / (length(${i === 9 ? '' : 'x'})) as one`.execute(trx)])
  })
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, one.reason.code]] : []))
  expect(rejected).toEqual([[9, '22012']])
  expect(await names()).toHaveLength(JOBS - 1)
})

test('a shop that another process has locked delays no other shop, and continues when the lock is released', async () => {
  const shopIds = numbers.slice(0, 20).map((i) => `shp_${i}`)
  const write = (shopId: string, name: string) => db.transact((trx) => put(trx, `${name} ${shopId}`), shopId)
  await Promise.all(shopIds.map((shopId) => write(shopId, 'first')))
  const lock = new pg.Client(database.url)
  await lock.connect()
  await lock.query('begin')
  await lock.query('select from "auditHeads" where "shopId" <> $1 for update', [shopIds.at(-1)])
  const pending = shopIds.map((shopId) => write(shopId, 'second'))
  // More shops are locked than there are connections.
  await pending.at(-1)
  expect(await names()).toHaveLength(21)
  await lock.query('rollback')
  await lock.end()
  await Promise.all(pending)
  expect(await names()).toHaveLength(40)
})

test('the audit chain has no gaps when some of the work fails', async () => {
  const append = (i: number) =>
    db.transact(async (trx, chain) => {
      if (i % 10 === 1) throw new Error('before anything is written')
      await chain.append(async ({ seq, hash, eventId }) => {
        await put(trx, `row ${seq + 1}`, hash)
        return { eventId, seq: seq + 1, hash: `hash ${seq + 1}` }
      })
      await put(trx, `n${i}`)
      if (i % 10 === 2) throw new Error('late')
    }, SHOP)
  const results = await Promise.allSettled(numbers.map(append))
  expect(results.filter((one) => one.status === 'rejected')).toHaveLength(7)
  const rows = await db.read.selectFrom('installationSettings').selectAll().where('name', 'like', 'row %').execute()
  const expected = Array.from({ length: 25 }, (_, n) => ({ name: `row ${n + 1}`, value: n ? `hash ${n}` : '' }))
  expect(rows.sort((a, b) => Number(a.name.slice(4)) - Number(b.name.slice(4)))).toEqual(expected)
  expect(database.sql.prepare('select seq from "auditHeads"').pluck().get()).toBe(25)
})

test('the statements of one part keep their order', async () => {
  const results = await together(async (trx, i) => {
    const key = `n${i}`
    const seen = [get(trx, key), put(trx, key, 'a'), get(trx, key)]
    await Promise.all(seen)
    await trx.updateTable('installationSettings').set({ value: 'b' }).where('name', '=', key).execute()
    const deleted = trx.deleteFrom('installationSettings').where('name', '=', key).execute()
    const inserted = put(trx, key, 'c')
    const last = get(trx, key)
    await Promise.all([deleted, inserted])
    return (await last)?.value
  })
  expect(values(results)).toEqual(numbers.map(() => 'c'))
})

test('a statement that is asked for after its work has ended is rejected', async () => {
  let late: Transaction | undefined
  await db.transact(async (trx) => {
    late = trx
    await put(trx, 'kept')
  }, SHOP)
  await db.transact((trx) => put(trx, 'next'), SHOP)
  await expect(put(late!, 'late')).rejects.toThrow()
  expect(await names()).toEqual(['kept', 'next'])
})

test('work that was rejected writes nothing, even if a branch of it goes on', async () => {
  const rejected = db.transact(async (trx) => {
    const fails = get(trx, 'a').then(() => Promise.reject(new Error('rejected')))
    const goesOn = get(trx, 'a')
      .then(() => get(trx, 'a'))
      .then(() => put(trx, 'late'))
    goesOn.catch(() => {})
    await Promise.all([fails, goesOn])
  }, SHOP)
  const next = db.transact(async (trx) => {
    for (let i = 0; i < 5; i++) await get(trx, 'b')
    await put(trx, 'next')
  }, SHOP)
  await expect(rejected).rejects.toThrow('rejected')
  await next
  expect(await names()).toEqual(['next'])
})

test('work that changes no row and then throws repeats nothing', async () => {
  let runs = 0
  const results = await together(async (trx, i) => {
    runs++
    await trx.updateTable('installationSettings').set({ value: 'x' }).where('name', '=', 'missing').execute()
    if (i % 2) throw new Error('409')
  })
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(JOBS / 2)
  expect(runs).toBe(JOBS)
})

test('many failures do not repeat the work of the others each time', async () => {
  let runs = 0
  await together(async (trx, i) => {
    runs++
    await put(trx, `n${i}`)
    await get(trx, `n${i}`)
    if (i % 2) throw new Error('late')
  })
  expect(await names()).toHaveLength(JOBS / 2)
  expect(runs).toBeLessThan(4 * JOBS)
})

/** Closes the connection of the next commits once the database has confirmed them. */
function loseResponses(count: number): void {
  const { query } = pg.Client.prototype
  let left = count
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const sent = (query as (...all: unknown[]) => Promise<unknown>).apply(this, args)
    if (args[0] !== 'commit' || left === 0) return sent as never
    left--
    return sent.then(() => {
      ;(this as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream.destroy()
      throw new Error('Connection terminated unexpectedly')
    }) as never
  })
}

test('the outcome of a lost commit is found while all connections for writing are lost', async () => {
  const append = (shopId: string) =>
    db.transact(async (trx, chain) => {
      await chain.append(async (last) => {
        const hash = `hash ${shopId} ${last.seq}`
        const row = { id: `aud_${shopId}_${last.seq}`, shopId, seq: last.seq + 1, hash, previousHash: last.hash }
        const rest = { actor: 'operator', action: 'x', subjectId: null, data: '{}', requestId: 'r', createdAt: '' }
        await trx
          .insertInto('audits')
          .values({ ...row, ...rest, salt: '', digest: null })
          .execute()
        return { ...last, seq: last.seq + 1, hash }
      })
    }, shopId)
  const shopIds = numbers.slice(0, 7).map((i) => `shp_${i}`)
  await Promise.all(shopIds.map(append))
  loseResponses(8)
  const unaudited = db.transact((trx) => get(trx, 'x'))
  unaudited.catch(() => {})
  await Promise.all(shopIds.map(append))
  expect(database.sql.prepare('select count(*)::int from audits').pluck().get()).toBe(14)
})

test('work that was rejected is not told that its outcome is unknown when the commit of others is lost', async () => {
  await db.transact((trx) => put(trx, 'before'), SHOP)
  loseResponses(1)
  const [, failed] = await together(async (trx, i) => {
    await put(trx, `n${i}`)
    await get(trx, `n${i}`)
    if (i === 1) throw new Error('late')
  })
  expect((failed as PromiseRejectedResult).reason.message).toBe('late')
})
