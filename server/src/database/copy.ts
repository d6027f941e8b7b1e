import { createHash, type Hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import { isInUse } from './backup.ts'
import { withConnection } from './database.ts'
import { forEachPage, type Row, TABLE_NAMES, type TableName } from './table-keys.ts'
import type { Tables } from './tables.ts'

/** An error with a message for the operator. */
export class CopyError extends Error {}

export interface CopiedTable {
  table: string
  rows: number
  /** SHA-256 of all rows in the order of their keys, the same in both databases. */
  checksum: string
}

/**
 * Copies every row of one database, read from one snapshot, into an empty database, in one transaction. Then reads both
 * again and compares them.
 *
 * @throws CopyError when the target holds rows, or the two differ.
 */
export function copyDatabase(from: string, to: string): Promise<CopiedTable[]> {
  return withConnection(from, (source) =>
    withConnection(to, (target) =>
      inSnapshot(source, async (snapshot) => {
        await checkEmpty(target)
        await target.transaction().execute(async (trx) => {
          for (const name of TABLE_NAMES) await forEachPage(snapshot, name, (rows) => insert(trx, name, rows))
        })
        return compare(snapshot, target)
      }),
    ),
  )
}

/**
 * Checks that a SQLite source exists, since opening it would create it, and that no server is using it, because
 * later writes would not be copied.
 *
 * @throws CopyError
 */
export function checkSource(url: string): void {
  if (isPostgresUrl(url)) return
  const path = url.replace(/^file:/, '')
  if (!existsSync(path)) throw new CopyError(`There is no database at ${path}.`)
  if (isInUse(path)) throw new CopyError(`${path} is in use. Stop the server first.`)
}

/** Runs `work` on a consistent snapshot. */
const inSnapshot = <T>(db: Kysely<Tables>, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> =>
  db.transaction().setIsolationLevel('repeatable read').execute(work)

async function checkEmpty(target: Kysely<Tables>): Promise<void> {
  for (const name of TABLE_NAMES) {
    const row = await target.selectFrom(name).select(sql`1`.as('one')).limit(1).executeTakeFirst()
    if (row) throw new CopyError(`The target database is not empty (it has rows in ${name}). Use an empty database.`)
  }
}

async function insert(trx: Kysely<Tables>, name: TableName, rows: Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  // PostgreSQL accepts 65,535 values per statement, SQLite 32,766.
  const batchSize = Math.floor(30_000 / columns.length)
  for (let start = 0; start < rows.length; start += batchSize) {
    const values = rows
      .slice(start, start + batchSize)
      .map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
    const names = sql.join(columns.map((column) => sql.ref(column)))
    await sql`insert into ${sql.table(name)} (${names}) values ${sql.join(values)}`.execute(trx)
  }
}

async function compare(source: Kysely<Tables>, target: Kysely<Tables>): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of TABLE_NAMES) {
    const [from, to] = [await summarize(source, table), await summarize(target, table)]
    if (from.rows !== to.rows || from.checksum !== to.checksum) {
      throw new CopyError(
        `${table} differs after copying (${from.rows} rows in the source, ${to.rows} in the target). Empty the target and retry.`,
      )
    }
    copied.push({ table, ...from })
  }
  return copied
}

async function summarize(db: Kysely<Tables>, name: TableName): Promise<Omit<CopiedTable, 'table'>> {
  const hash: Hash = createHash('sha256')
  let rows = 0
  await forEachPage(db, name, (page) => {
    rows += page.length
    for (const row of page) hash.update(`${JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))}\n`)
  })
  return { rows, checksum: hash.digest('hex') }
}
