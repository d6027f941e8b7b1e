import { AsyncLocalStorage } from 'node:async_hooks'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Database } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { migratedFile } from '../../server/src/testing/migrated-file.ts'
import { SCRATCH } from './scratch.ts'
import { openPostgresSql, openSqliteSql, type Sql } from './sql.ts'

/** The database engine of this test run, set by the test configuration. */
export const engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

export interface TestDatabase {
  /** As `DATABASE_URL`. */
  url: string
  /** Resolves when pending writes have completed. */
  settled: () => Promise<unknown>
  /** A folder that is deleted with the database. */
  dir: string
  db: Database
  sql: Sql
  remove: () => Promise<void>
}

/** A separate database with the current schema, on SQLite from a backup if one is given. */
export async function testDatabase(backup?: string): Promise<TestDatabase> {
  const made = await createDatabase({ isMigrated: true, backup })
  const db = await openDatabase(made.url)
  if (engine === 'postgres') readBeforeWriting(db)
  const settled = watchWriting(db)
  return {
    ...made,
    db,
    settled,
    remove: async () => {
      made.sql.close()
      await db.close()
      await made.remove()
    },
  }
}

/** A separate, empty database. */
export const emptyDatabase = () => createDatabase({ isMigrated: false })

/** Copying a migrated database takes a fraction of the time of migrating one, on both engines. */
async function createDatabase({
  isMigrated,
  backup,
}: {
  isMigrated: boolean
  backup?: string | undefined
}): Promise<Pick<TestDatabase, 'url' | 'dir' | 'sql' | 'remove'>> {
  const dir = mkdtempSync(join(SCRATCH, 'referral-test-'))
  const removeDir = () => rmSync(dir, { recursive: true, force: true })
  if (engine === 'sqlite') {
    const file = join(dir, 'referral.db')
    if (backup) copyFileSync(backup, file)
    else if (isMigrated) {
      writeFileSync(file, await migratedFile(), { mode: 0o600 })
    }
    return { url: `file:${file}`, dir, sql: openSqliteSql(file), remove: async () => removeDir() }
  }
  const { url, drop } = await copyOf((isMigrated && process.env.TEST_POSTGRES_TEMPLATE) || 'template0')
  const remove = async () => {
    await drop()
    removeDir()
  }
  return { url, dir, sql: openPostgresSql(url), remove }
}

/** The states of a request: it reads, is held by its test, is about to write, and writes. */
interface Call {
  stage: 'reads' | 'held' | 'waits' | 'writes'
}

const calls = new Set<Call>()
const current = new AsyncLocalStorage<Call>()
let changed = Promise.withResolvers<void>()

/** Lets the waiting calls look again. */
function announce(): void {
  changed.resolve()
  changed = Promise.withResolvers()
}

/** Runs one request, so that concurrent ones can wait for each other. One that a test sends within another belongs to it. */
export async function asCall<T>(work: () => T | Promise<T>): Promise<T> {
  if (current.getStore()) return work()
  const call: Call = { stage: 'reads' }
  calls.add(call)
  try {
    return await current.run(call, work)
  } finally {
    calls.delete(call)
    announce()
  }
}

/** Runs a request that other requests do not wait for, as its test sends its body when it likes. */
export const asLateCall = <T>(work: () => T): T => current.run({ stage: 'writes' }, work)

/** Runs what a test does in the middle of a request, which may wait for other requests: they do not wait for this one. */
export async function whileHeld<T>(work: () => T | Promise<T>): Promise<T> {
  const call = current.getStore()
  if (call?.stage !== 'reads') return work()
  call.stage = 'held'
  announce()
  try {
    return await work()
  } finally {
    call.stage = 'reads'
  }
}

/**
 * Calls made together all read before any of them writes, as they do on SQLite, where reading takes no time, and
 * write in the order they were made in: tests of races start from there. Races without a barrier, between processes, are tested in test/cluster.
 */
function readBeforeWriting(db: Database): void {
  const { transact } = db
  db.transact = async (work, shopId) => {
    const call = shopId === undefined ? undefined : current.getStore()
    if (call?.stage === 'reads') {
      call.stage = 'waits'
      announce()
      // Work that outlives its response is no call any more.
      while (calls.has(call) && !isTurnOf(call)) await changed.promise
      call.stage = 'writes'
      announce()
    }
    return transact(work, shopId)
  }
}

function isTurnOf(call: Call): boolean {
  const all = [...calls]
  const isFirst = all.find(({ stage }) => stage === 'waits') === call
  return isFirst && all.every(({ stage }) => stage !== 'reads')
}

/** Writes that follow a response, such as the last use of a key, would block a connection that reads immediately. */
function watchWriting(db: Database): () => Promise<unknown> {
  const writing = new Set<Promise<unknown>>()
  const { transact } = db
  db.transact = (work, shopId) => {
    const pending = transact(work, shopId)
    writing.add(pending)
    const forget = () => void writing.delete(pending)
    pending.then(forget, forget)
    return pending
  }
  return () => Promise.allSettled(writing)
}

let made = 0

async function copyOf(template: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const { TEST_POSTGRES_URL: home = '' } = process.env
  const name = `referral_test_${process.pid}_${++made}`
  await administer(home, `create database ${name} template ${template} strategy file_copy`)
  return { url: databaseUrl(home, name), drop: () => administer(home, `drop database ${name} with (force)`) }
}

/** The file of a SQLite database. */
export const databaseFile = (url: string): string => url.replace(/^file:/, '')

export function databaseUrl(home: string, name: string): string {
  const url = new URL(home)
  url.pathname = `/${name}`
  return url.href
}

export async function administer(home: string, statement: string): Promise<void> {
  const client = new pg.Client(home)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
