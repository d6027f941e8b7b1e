import { createHash, type Hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import { isInUse } from './backup.ts'
import { withConnection } from './open.ts'
import { TABLE_NAMES, type TableName } from './personal-data.ts'
import { findLastKey, forEachPage, type Row, UNFINISHED_COPY } from './table-keys.ts'
import type { Tables } from './tables.ts'

/** An error with a message for the operator. */
export class CopyError extends Error {}

interface CopiedTable {
  table: string
  rows: number
  /** SHA-256 of all rows in key order, the same in both databases. */
  checksum: string
}

/** Receives one line of progress. */
type OnProgress = (line: string) => void

const PROGRESS_ROWS = 100_000
/** Rows per transaction. */
const BATCH_ROWS = 5_000

/**
 * Copies every row of one database, read from one snapshot, into an empty database in key order. Then reads both again
 * and compares them. An interrupted copy continues after each table's last row in the target.
 *
 * @throws CopyError when the target holds other rows, or the two differ.
 */
export function copyDatabase(from: string, to: string, onProgress: OnProgress = () => {}): Promise<CopiedTable[]> {
  return withConnection(from, (source) =>
    withConnection(to, (target) =>
      inSnapshot(source, async (snapshot) => {
        const origin = await describeOrigin(snapshot)
        if ((await findUnfinishedCopy(target, origin)) === undefined) await beginCopy(target, origin)
        else onProgress('Continuing an interrupted copy.')
        for (const name of TABLE_NAMES) await copyTable(snapshot, target, { name, onProgress })
        const copied = await compare(snapshot, target, onProgress)
        await target.deleteFrom('installationSettings').where('name', '=', UNFINISHED_COPY).execute()
        return copied
      }),
    ),
  )
}

/** Identifies a database by its shops. */
async function describeOrigin(source: Kysely<Tables>): Promise<string> {
  const rows = await source.selectFrom('shops').select(['id', 'createdAt']).orderBy('id').execute()
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex')
}

/** @throws CopyError when the target is an unfinished copy of another database. */
async function findUnfinishedCopy(target: Kysely<Tables>, origin: string): Promise<string | undefined> {
  const settings = target.selectFrom('installationSettings').select('value').where('name', '=', UNFINISHED_COPY)
  const stored = (await settings.executeTakeFirst())?.value
  if (stored !== undefined && stored !== origin) {
    throw new CopyError('The target is an unfinished copy of another database. Use an empty database.')
  }
  return stored
}

/** The mark prevents servers from starting with an incomplete database. */
async function beginCopy(target: Kysely<Tables>, origin: string): Promise<void> {
  await checkEmpty(target)
  await target.insertInto('installationSettings').values({ name: UNFINISHED_COPY, value: origin }).execute()
}

interface CopyStep {
  name: TableName
  onProgress: OnProgress
}

async function copyTable(
  source: Kysely<Tables>,
  target: Kysely<Tables>,
  { name, onProgress }: CopyStep,
): Promise<void> {
  if (name === 'installationSettings') return copySettings(source, target)
  let copied = 0
  let batch: Row[] = []
  const commit = async () => {
    const rows = batch
    batch = []
    await target.transaction().execute((trx) => insert(trx, name, rows))
    const before = copied
    copied += rows.length
    if (Math.floor(copied / PROGRESS_ROWS) > Math.floor(before / PROGRESS_ROWS))
      onProgress(`${name}: ${copied} rows copied`)
  }
  const onPage = async (rows: Row[]) => {
    batch.push(...rows)
    if (batch.length >= BATCH_ROWS) await commit()
  }
  await forEachPage(source, name, onPage, await findLastKey(target, name))
  if (batch.length > 0) await commit()
}

/** Excludes the mark in the target, which is not part of the copy. */
async function copySettings(source: Kysely<Tables>, target: Kysely<Tables>): Promise<void> {
  const rows = await source.selectFrom('installationSettings').selectAll().execute()
  for (const row of rows) {
    await target
      .insertInto('installationSettings')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
  }
}

const isMark = (name: TableName, row: Row) => name === 'installationSettings' && row.name === UNFINISHED_COPY

/**
 * Checks that a SQLite source exists, because opening it would create it, and that no server is using it, because later
 * writes would not be copied.
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

async function compare(source: Kysely<Tables>, target: Kysely<Tables>, onProgress: OnProgress): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of TABLE_NAMES) {
    const [from, to] = [await summarize(source, table), await summarize(target, table)]
    if (from.rows !== to.rows || from.checksum !== to.checksum) {
      throw new CopyError(
        `${table} differs after copying (${from.rows} rows in the source, ${to.rows} in the target). Empty the target and retry.`,
      )
    }
    if (from.rows >= PROGRESS_ROWS) onProgress(`${table}: ${from.rows} rows compared`)
    copied.push({ table, ...from })
  }
  return copied
}

async function summarize(db: Kysely<Tables>, name: TableName): Promise<Omit<CopiedTable, 'table'>> {
  const hash: Hash = createHash('sha256')
  let rows = 0
  let columns: string[] | undefined
  await forEachPage(db, name, (page) => {
    for (const row of page) {
      if (isMark(name, row)) continue
      rows++
      columns ??= Object.keys(row).sort()
      hash.update(`${JSON.stringify(columns.map((column) => row[column]))}\n`)
    }
  })
  return { rows, checksum: hash.digest('hex') }
}
