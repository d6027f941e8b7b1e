// Full: it waits for time to pass.
// PostgreSQL only: SQLite runs work in turn, since a statement there takes no round trip.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Database, Transaction } from '../../server/src/database/database.ts'
import { touchCheck, UndeclaredTouchError } from '../../server/src/database/postgres-touch-check.ts'
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
  touchCheck.isEnabled = true
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

/** Runs work together, each part with its own touch. */
const together = <T>(work: (trx: Transaction, i: number) => Promise<T>, touch = (i: number) => [`row:${i}`]) =>
  Promise.allSettled(numbers.map((i) => db.transact((trx) => work(trx, i), SHOP, touch(i))))

const values = <T>(results: PromiseSettledResult<T>[]) =>
  results.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))

test('work without a common touch shares its statements, and each part gets its own rows', async () => {
  touchCheck.isEnabled = false
  for (const i of numbers) await db.transact((trx) => put(trx, `before${i % 10}-${i}`, `${i}`), SHOP)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const results = await together(async (trx, i) => {
    const found = await get(trx, `before${i % 10}-${i}`)
    await put(trx, `after${i}`)
    const rows = await sql<{ name: string }>`select name from "installationSettings"
      where name like ${`before${i % 10}-%`} and value <> ${`${i}`} order by value desc, name limit 2`.execute(trx)
    return [found?.value, rows.rows.length]
  })
  // begin, lock, three statements, and commit.
  expect(query.mock.calls.length).toBeLessThanOrEqual(8)
  expect(values(results)).toEqual(numbers.map((i) => [`${i}`, 2]))
  expect(await names()).toHaveLength(2 * JOBS)
})

test('work of several shops shares a transaction, and each shop has its own audit chain', async () => {
  touchCheck.isEnabled = false
  const shopOf = (i: number) => `shp_${i % 8}`
  const append = (i: number) =>
    db.transact(
      async (trx, chain) => {
        await get(trx, `n${i}`)
        await put(trx, `n${i}`)
        await chain.append(async (last) => ({ ...last, seq: last.seq + 1, hash: `${last.hash}${shopOf(i).at(-1)}` }))
      },
      shopOf(i),
      [`row:${i}`],
    )
  await Promise.all(numbers.slice(0, 8).map(append))
  const query = vi.spyOn(pg.Client.prototype, 'query')
  await Promise.all(numbers.slice(8).map(append))
  // begin, locks, two statements, heads, and commit.
  expect(query.mock.calls.length).toBeLessThanOrEqual(8)
  expect(database.sql.prepare('select "shopId", seq, hash from "auditHeads" order by 1').all()).toEqual(
    numbers.slice(0, 8).map((i) => ({ shopId: shopOf(i), seq: 4, hash: String(i).repeat(4) })),
  )
})

test('work of one shop that fails leaves the work of the others in its transaction alone', async () => {
  const results = await Promise.allSettled(
    numbers.map((i) =>
      db.transact(
        async (trx) => {
          await put(trx, `n${i}`)
          if (i === 3) throw new Error('after')
        },
        `shp_${i}`,
        [],
      ),
    ),
  )
  expect(results.flatMap((one, i) => (one.status === 'rejected' ? [i] : []))).toEqual([3])
  expect(await names()).toHaveLength(JOBS - 1)
})

test('work that runs alone, or in turn with other work of its shop, delays no other shop', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = (touches: string[] | undefined) =>
    db.transact(
      async (trx) => {
        await get(trx, 'slow')
        await gate.promise
      },
      touches ? 'shp_turn' : 'shp_alone',
      touches,
    )
  const pending = [slow(undefined), slow(['same']), slow(['same'])]
  for (const i of numbers) await db.transact((trx) => put(trx, `n${i}`), 'shp_other', [])
  expect(await names()).toHaveLength(JOBS)
  gate.resolve()
  await Promise.all(pending)
})

test('a transaction of one shop that takes long delays no other shop', async () => {
  let isOver = false
  const slow = db
    .transact((trx) => sql`select pg_sleep(2)`.execute(trx), SHOP, [])
    .finally(() => {
      isOver = true
    })
  await sleep(20)
  await db.transact((trx) => put(trx, 'other'), 'shp_2', [])
  expect(isOver).toBe(false)
  await slow
})

test('nothing is written for a shop that another transaction has locked', async () => {
  touchCheck.isEnabled = false
  const shopIds = numbers.slice(0, 8).map((i) => `shp_${i}`)
  const write = (shopId: string, name: string) => db.transact((trx) => put(trx, `${name} ${shopId}`), shopId, [])
  await Promise.all(shopIds.map((shopId) => write(shopId, 'first')))
  const lock = new pg.Client(database.url)
  await lock.connect()
  await lock.query('begin')
  await lock.query('select from "auditHeads" where "shopId" <> $1 for update', [shopIds[0]])
  const pending = shopIds.map((shopId) => write(shopId, 'second'))
  // Its transaction is committed without the work of the locked shops.
  await pending[0]
  expect(await names()).toHaveLength(9)
  await lock.query('rollback')
  await lock.end()
  await Promise.all(pending)
  expect(await names()).toHaveLength(16)
})

test('reads return what they return one by one', async () => {
  for (const i of numbers) await db.transact((trx) => put(trx, `n${i % 16}-${i}`, `it's "${i}" \\ ü\n{,}`), SHOP)
  const parameters = [...numbers.map((i) => `n${i % 16}-`), 'it\'s "3" \\ ü\n{,}', '{a,"b"}', '', 'NULL', 'null', '\\']
  const reads = parameters.flatMap((text, n) => [
    sql`select * from "installationSettings" where name >= ${text} or value = ${text} order by name desc limit ${n % 4}`,
    sql`select count(*) as n, max(value) as most from "installationSettings" where name >= ${text}`,
    sql`select ${text} as same, name as position from "installationSettings" where name = ${`n${n}-${n}`}`,
    sql`select a.name, b.value from "installationSettings" a join "installationSettings" b on a.name = b.name
      where a.name > ${text} and length(a.value) > ${n % 20} order by a.name`,
  ])
  const expected = []
  for (const read of reads) expected.push((await db.transact((trx) => read.execute(trx), SHOP)).rows)
  const results = await Promise.all(reads.map((read) => db.transact((trx) => read.execute(trx), SHOP, [])))
  expect(results.map(({ rows }) => rows)).toEqual(expected)
})

test('rows are stored as one by one: numbers, nulls, quotes, and line breaks', async () => {
  const texts = ['plain', 'it\'s "quoted" \\ {a,b}', 'ü\n\t€ 😀', '', 'NULL', '\\N']
  const row = (i: number, id: string) => ({
    shopId: SHOP,
    commissionId: id,
    goodsCents: i % 2 ? 9_007_199_254_740_991 : -i,
    totals: texts[i % texts.length]!,
    statusBefore: null,
  })
  const insert = (trx: Transaction, i: number, id: string) =>
    trx.insertInto('refundTotals').values(row(i, id)).execute()
  for (const i of numbers) await db.transact((trx) => insert(trx, i, `one${i}`), SHOP)
  await together((trx, i) => insert(trx, i, `all${i}`))
  const stored = async (prefix: string) =>
    (await db.read.selectFrom('refundTotals').selectAll().orderBy('commissionId').execute())
      .filter(({ commissionId }) => commissionId.startsWith(prefix))
      .map(({ commissionId, ...rest }) => ({ ...rest, i: commissionId.slice(3) }))
  expect(await stored('all')).toEqual(await stored('one'))
  expect(await stored('all')).toHaveLength(JOBS)
})

test('work that shares a touch runs in turn and sees what earlier work wrote', async () => {
  await db.transact((trx) => put(trx, 'count', '0'), SHOP)
  const add = async (trx: Transaction) => {
    const { value } = (await get(trx, 'count'))!
    await trx
      .updateTable('installationSettings')
      .set({ value: `${Number(value) + 1}` })
      .execute()
    return Number(value)
  }
  expect(values(await together(add, (i) => ['count', `other${i}`]))).toEqual(numbers)
})

test('work without declared touches runs alone', async () => {
  const results = numbers.map((i) =>
    db.transact(
      async (trx) => {
        await put(trx, `n${i}`)
        return (await trx.selectFrom('installationSettings').select('name').execute()).length
      },
      SHOP,
      i % 2 ? undefined : [],
    ),
  )
  // One job between two others that run alone is alone as well.
  expect(await Promise.all(results)).toEqual(numbers.map((i) => i + 1))
})

test('undeclared dependencies are found: a read of a row that other work inserts, updates or deletes', async () => {
  const reads = async (trx: Transaction) => get(trx, 'shared')
  const writes: ((trx: Transaction) => Promise<unknown>)[] = [
    (trx) => put(trx, 'shared'),
    (trx) => trx.updateTable('installationSettings').set({ value: 'y' }).where('name', '=', 'shared').execute(),
    (trx) => trx.deleteFrom('installationSettings').where('name', '=', 'shared').execute(),
  ]
  for (const write of writes) {
    const both = () =>
      Promise.allSettled([
        db.transact(reads, SHOP, ['a']),
        db.transact(async (trx) => void (await write(trx)), SHOP, ['b']),
      ])
    for (const result of values<unknown>(await both())) expect(result).toBeInstanceOf(UndeclaredTouchError)
    touchCheck.isEnabled = false
    await both()
    touchCheck.isEnabled = true
  }
})

test('undeclared dependencies are found: two conditional updates of one row', async () => {
  await db.transact((trx) => put(trx, 'shared', '0'), SHOP)
  const update = (trx: Transaction, i: number) =>
    trx
      .updateTable('installationSettings')
      .set({ value: `${i + 1}` })
      .where('value', '=', '0')
      .execute()
  for (const result of values<unknown>(await together(update))) expect(result).toBeInstanceOf(UndeclaredTouchError)
  expect(database.sql.prepare('select value from "installationSettings"').pluck().get()).toBe('0')
})

test('a unique violation fails only the work that causes it', async () => {
  await db.transact((trx) => put(trx, 'taken'), SHOP)
  const results = await together((trx, i) => put(trx, i === 7 ? 'taken' : `n${i}`))
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, isUniqueViolation(one.reason)]] : []))
  expect(rejected).toEqual([[7, true]])
  expect(await names()).toHaveLength(JOBS)
})

test('of work that inserts one row without declaring it, one part succeeds', async () => {
  const results = await together((trx, i) => put(trx, i < 3 ? 'same' : `n${i}`))
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, isUniqueViolation(one.reason)]] : []))
  expect(rejected).toEqual([
    [1, true],
    [2, true],
  ])
  expect(await names()).toHaveLength(JOBS - 2)
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

test('a read that fails, fails only the work that asked for it', async () => {
  const results = await together(async (trx, i) => {
    await put(trx, `n${i}`)
    await sql`select 1 / (length(${i === 9 ? '' : 'x'})) as one`.execute(trx)
  })
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, one.reason.code]] : []))
  expect(rejected).toEqual([[9, '22012']])
  expect(await names()).toHaveLength(JOBS - 1)
})

test('the audit chain has no gaps when work runs side by side and some of it fails', async () => {
  const append = (i: number) =>
    db.transact(
      async (trx, chain) => {
        await chain.append(async ({ seq, hash, eventId }) => {
          await put(trx, `row ${seq + 1}`, hash)
          return { eventId, seq: seq + 1, hash: `hash ${seq + 1}` }
        })
        if (i % 10 === 1) throw new Error('before anything is written')
        await put(trx, `n${i}`)
        if (i % 10 === 2) throw new Error('late')
      },
      SHOP,
      [`row:${i}`],
    )
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
    // The others ask in another order, so their statements cannot all be merged.
    if (i % 2) seen.reverse()
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
  await db.transact(
    async (trx) => {
      late = trx
      await put(trx, 'kept')
    },
    SHOP,
    [],
  )
  await db.transact((trx) => put(trx, 'next'), SHOP, [])
  await expect(put(late!, 'late')).rejects.toThrow()
  expect(await names()).toEqual(['kept', 'next'])
})

const read = (i: number) =>
  sql<{ name: string; n: number }>`select name, 1 / (length(value) - ${0}) as n from "installationSettings"
    where name = ${`n${i}`}`.execute(db.read)

test('reads of requests that arrive together share a statement, and each gets its own rows', async () => {
  for (const i of numbers) await db.transact((trx) => put(trx, `n${i}`), SHOP)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const results = await Promise.all([...numbers, ...numbers, 99].map(read))
  expect(results.map(({ rows }) => rows)).toEqual([
    ...[...numbers, ...numbers].map((i) => [{ name: `n${i}`, n: 1 }]),
    [],
  ])
  expect(query.mock.calls.length).toBeLessThan(10)
})

test('a read that fails, fails only its own request', async () => {
  for (const i of numbers) await db.transact((trx) => put(trx, `n${i}`, i === 9 ? '' : 'x'), SHOP)
  const results = await Promise.allSettled(numbers.map(read))
  const rejected = results.flatMap((one, i) => (one.status === 'rejected' ? [[i, one.reason.code]] : []))
  expect(rejected).toEqual([[9, '22012']])
})

test('merged reads are repeated when their connections were lost', async () => {
  await Promise.all(numbers.map(read))
  database.sql.exec(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  const results = await Promise.all(numbers.map(read))
  expect(results.map(({ rows }) => rows)).toEqual(numbers.map(() => []))
})
