import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Database, openDatabase } from '../../server/src/db/database.ts'
import { openPostgresSql, openSqliteSql, type Sql } from './sql.ts'

/** What the tests of this run store on; the test configuration says so. */
export const engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

export interface TestDatabase {
  /** As `DATABASE_URL`. */
  url: string
  /** Resolves when what is written now has been written. */
  settled: () => Promise<unknown>
  /** A folder that goes when the database goes. */
  dir: string
  db: Database
  sql: Sql
  remove: () => Promise<void>
}

/** A database of its own with today's schema. */
export async function testDatabase(): Promise<TestDatabase> {
  const dir = mkdtempSync(join(tmpdir(), 'referral-test-'))
  const made =
    engine === 'postgres' ? await copyTemplate() : { url: `file:${join(dir, 'referral.db')}`, drop: undefined }
  const db = await openDatabase(made.url)
  if (made.drop) readBeforeWriting(db)
  else await db.migrate()
  const settled = watchWriting(db)
  const sql = made.drop ? openPostgresSql(made.url) : openSqliteSql(join(dir, 'referral.db'))
  return {
    url: made.url,
    dir,
    db,
    sql,
    settled,
    remove: async () => {
      sql.close()
      await db.close()
      await made.drop?.()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/**
 * Calls of one turn of the event loop all read before any of them writes, as they do on SQLite: tests of races start from
 * there. Races without a barrier, between processes, are tested in test/cluster.
 */
function readBeforeWriting(db: Database): void {
  let reading = 0
  const executor = db.read.getExecutor() as unknown as { executeQuery: (query: unknown) => Promise<unknown> }
  const { executeQuery } = executor
  executor.executeQuery = (query) => {
    reading++
    return executeQuery.call(executor, query).finally(() => reading--)
  }
  const { transact } = db
  db.transact = async (work, shopId) => {
    for (let calm = 0; calm < 2; calm = reading === 0 ? calm + 1 : 0) await new Promise(setImmediate)
    return transact(work, shopId)
  }
}

/** What is written behind an answer, such as the last use of a key, would lock out a connection that looks right away. */
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

/** Copying a migrated database takes a third of the time of migrating one. */
async function copyTemplate(): Promise<{ url: string; drop: () => Promise<void> }> {
  const { TEST_POSTGRES_URL: home = '', TEST_POSTGRES_TEMPLATE: template = '' } = process.env
  const name = `referral_test_${process.pid}_${++made}`
  await administer(home, `create database ${name} template ${template} strategy file_copy`)
  return { url: databaseUrl(home, name), drop: () => administer(home, `drop database ${name} with (force)`) }
}

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
