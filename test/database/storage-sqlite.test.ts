// Full: it starts other processes.
// SQLite only: the guarantees of a connection to a file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Reader } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { isSqliteBusy } from '../../server/src/database/storage-error.ts'
import { testDatabase } from '../support/database.ts'

const pragma = async (on: Reader, name: string) =>
  Object.values((await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(on)).rows[0] ?? {})[0]

test('writes stay durable after the database is opened again', async () => {
  const database = await testDatabase()
  const db = await openDatabase(database.url)
  await db.transact(async (trx) => {
    // 2 is FULL: SQLite falls back to NORMAL when it opens a WAL database again.
    expect(await pragma(trx, 'synchronous')).toBe(2)
    expect(await pragma(trx, 'journal_mode')).toBe('wal')
    expect(await pragma(trx, 'foreign_keys')).toBe(1)
  })
  expect(await pragma(db.read, 'synchronous')).toBe(2)
  await db.close()
  await database.remove()
})

test('a file without the schema is not ready', async () => {
  const database = await testDatabase()
  const fresh = await openDatabase(`file:${join(database.dir, 'fresh.db')}`)
  expect(await fresh.isMigrated()).toBe(false)
  await fresh.close()
  await database.remove()
})

test('the files are readable only by their owner', async () => {
  const database = await testDatabase()
  const file = join(database.dir, 'own.db')
  const db = await openDatabase(`file:${file}`)
  await db.migrate()
  for (const ending of ['', '-wal', '-shm']) expect(statSync(file + ending).mode & 0o777, ending).toBe(0o600)
  await db.close()
  await database.remove()
})

test('a transaction waits for a write of another process without blocking the event loop', async () => {
  const database = await testDatabase()
  const other = new SQLite(database.url.slice('file:'.length))
  other.exec('begin immediate')
  let turns = 0
  const counting = setInterval(() => turns++, 5)
  const kept = database.db.transact((trx) =>
    trx.insertInto('installationSettings').values({ name: 'a', value: 'x' }).execute(),
  )
  await new Promise((done) => setTimeout(done, 200))
  other.exec('commit')
  other.close()
  await kept
  clearInterval(counting)
  expect(turns).toBeGreaterThan(10)
  await database.remove()
})

test('opening waits for another process with an exclusive lock, as after a crash', async () => {
  const database = await testDatabase()
  const file = join(database.dir, 'held.db')
  const hold = `const db = new (require('better-sqlite3'))(${JSON.stringify(file)}); db.exec('begin exclusive; create table t (a)')
    console.log('held'); setTimeout(() => db.exec('commit'), 300)`
  const other = spawn(process.execPath, ['-e', hold], { cwd: 'server', stdio: ['ignore', 'pipe', 'inherit'] })
  await once(other.stdout, 'data')
  const db = await openDatabase(`file:${file}`)
  await db.migrate()
  expect(await db.isMigrated()).toBe(true)
  await db.close()
  await database.remove()
})

test('every busy error of SQLite is retried', () => {
  const codes = ['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED', 'SQLITE_FULL']
  const waited = codes.filter((code) => isSqliteBusy(new SQLite.SqliteError('database is locked', code)))
  expect(waited).toEqual(['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_BUSY_SNAPSHOT'])
})
