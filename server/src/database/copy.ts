import { createHash, type Hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import { isInUse } from './backup.ts'
import { withConnection } from './database.ts'
import { forEachPage, type Row, TABLE_NAMES, type TableName } from './table-keys.ts'
import type { Tables } from './tables.ts'

/** A sentence for the operator. */
export class CopyError extends Error {}

export interface CopiedTable {
  table: string
  rows: number
  /** SHA-256 of all rows in the order of their keys; the same on both sides. */
  checksum: string
}

/**
 * Copies every row of one database into another, empty one, in one transaction there, from one moment here. Afterwards
 * both are read again and compared.
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
 * Opening a file that is not there would make it, and what a server writes after the copy would be lost.
 *
 * @throws CopyError
 */
export function checkSource(url: string): void {
  if (isPostgresUrl(url)) return
  const path = url.replace(/^file:/, '')
  if (!existsSync(path)) throw new CopyError(`There is no database at ${path}.`)
  if (isInUse(path)) throw new CopyError(`${path} is in use; stop the server first.`)
}

/** Read only, as everything was when it began. */
const inSnapshot = <T>(db: Kysely<Tables>, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> =>
  db.transaction().setIsolationLevel('repeatable read').execute(work)

async function checkEmpty(target: Kysely<Tables>): Promise<void> {
  for (const name of TABLE_NAMES) {
    const row = await target.selectFrom(name).select(sql`1`.as('one')).limit(1).executeTakeFirst()
    if (row) throw new CopyError(`The database to copy into already holds rows (${name}); name an empty one.`)
  }
}

async function insert(trx: Kysely<Tables>, name: TableName, rows: Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  // PostgreSQL takes 65,535 values in one statement, SQLite 32,766.
  const most = Math.floor(30_000 / columns.length)
  for (let start = 0; start < rows.length; start += most) {
    const part = rows.slice(start, start + most).map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
    const names = sql.join(columns.map((column) => sql.ref(column)))
    await sql`insert into ${sql.table(name)} (${names}) values ${sql.join(part)}`.execute(trx)
  }
}

async function compare(source: Kysely<Tables>, target: Kysely<Tables>): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of TABLE_NAMES) {
    const [here, there] = [await summarize(source, table), await summarize(target, table)]
    if (here.rows !== there.rows || here.checksum !== there.checksum) {
      throw new CopyError(`${table} differs after copying (${here.rows} rows here, ${there.rows} there); start again.`)
    }
    copied.push({ table, ...here })
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
