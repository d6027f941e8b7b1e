import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Database, openDatabase, type Trx } from '../../server/src/db/database.ts'

let dir: string
let db: Database

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'referral-storage-'))
  db = await openDatabase(`file:${join(dir, 'a.db')}`)
  await db.migrate()
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true, force: true })
})

const pragma = async (on: Trx, name: string) =>
  Object.values((await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(on)).rows[0] ?? {})[0]
const put = (trx: Trx, name: string, value = 'x') =>
  trx.insertInto('instanceSettings').values({ name, value }).execute()
const names = async () =>
  (await db.read.selectFrom('instanceSettings').select('name').orderBy('name').execute()).map((row) => row.name)

test('writes stay durable after the database is opened again', async () => {
  await db.close()
  db = await openDatabase(`file:${join(dir, 'a.db')}`)
  await db.transact(async (trx) => {
    // 2 is FULL: SQLite falls back to NORMAL when it opens a WAL database again.
    expect(await pragma(trx, 'synchronous')).toBe(2)
    expect(await pragma(trx, 'journal_mode')).toBe('wal')
    expect(await pragma(trx, 'foreign_keys')).toBe(1)
  })
  expect(await pragma(db.read, 'synchronous')).toBe(2)
})

test('nothing is written outside a transaction', async () => {
  await expect(put(db.read, 'a')).rejects.toThrow('only possible inside transact')
  expect(await names()).toEqual([])
})

test('readers do not see a transaction that is still open', async () => {
  await db.transact(async (trx) => {
    await put(trx, 'a')
    expect(await names()).toEqual([])
  })
  expect(await names()).toEqual(['a'])
})

test('work queued in one turn shares one transaction, and each is answered after it', async () => {
  const ran: string[] = []
  const work = (name: string) =>
    db.transact(async (trx) => {
      ran.push(name)
      await put(trx, name)
      return name
    })
  const first = work('a').then(async (name) => ({ name, seen: await names() }))
  expect(await Promise.all([first, work('b'), work('c')])).toEqual([{ name: 'a', seen: ['a', 'b', 'c'] }, 'b', 'c'])
  expect(ran).toEqual(['a', 'b', 'c'])
})

test('work that fails after it wrote leaves nothing, and the others of its group are kept', async () => {
  const all = Array.from({ length: 100 }, (_, i) =>
    db.transact(async (trx) => {
      await put(trx, String(i).padStart(3, '0'))
      if (i % 25 === 7) throw new Error('late')
      return i
    }),
  )
  const results = await Promise.allSettled(all)
  expect(results.filter((one) => one.status === 'rejected')).toHaveLength(4)
  const kept = await names()
  expect(kept).toHaveLength(96)
  expect(kept).not.toContain('007')
})

test('work that refuses before it wrote costs the others nothing', async () => {
  const refused = db.transact(async () => {
    throw new Error('no')
  })
  const kept = db.transact((trx) => put(trx, 'kept'))
  await expect(refused).rejects.toThrow('no')
  await kept
  expect(await names()).toEqual(['kept'])
})

test('two processes write to one file without losing anything', async () => {
  const other = await openDatabase(`file:${join(dir, 'a.db')}`)
  const writes = Array.from({ length: 200 }, (_, i) => (i % 2 ? db : other).transact((trx) => put(trx, `n${i}`)))
  await Promise.all(writes)
  expect(await names()).toHaveLength(200)
  await other.close()
})

test('migrating twice changes nothing, and readiness knows', async () => {
  expect(await db.isMigrated()).toBe(true)
  await db.migrate()
  const fresh = await openDatabase(`file:${join(dir, 'b.db')}`)
  expect(await fresh.isMigrated()).toBe(false)
  await fresh.close()
})
