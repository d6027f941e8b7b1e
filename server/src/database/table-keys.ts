import { SqliteAdapter, sql } from 'kysely'
import type { Reader, Transaction } from './database.ts'
import type { TableName } from './personal-data.ts'
import type { Tables } from './tables.ts'

/** The columns of a table's primary key, in order, from the database's catalogue. */
export async function readPrimaryKey(db: Reader, name: keyof Tables): Promise<string[]> {
  const { rows } =
    db.getExecutor().adapter instanceof SqliteAdapter
      ? await sql<{ name: string }>`select name from pragma_table_info(${name}) where pk > 0 order by pk`.execute(db)
      : await sql<{ name: string }>`
          select a.attname as name from pg_index i
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
          where i.indrelid = to_regclass(quote_ident(${name})) and i.indisprimary
          order by array_position(i.indkey::int2[], a.attnum)`.execute(db)
  return rows.map((column) => column.name)
}

/**
 * Tables that are read before the shop is known, or that belong to no shop. In every other table the shop leads the
 * primary key and each index, so that the schema can be distributed by shop.
 */
export const GLOBAL_TABLES: string[] = [
  // Looked up by the hash of a secret or the ID of a credential, which identifies the shop.
  'users',
  'apiKeys',
  'sessions',
  'signInLinks',
  'passkeys',
  // The installation's settings.
  'installationSettings',
  // Maintained by the rate limiter, on PostgreSQL.
  'rateLimits',
  // Maintained by Kysely's migrator.
  'kysely_migration',
  'kysely_migration_lock',
]

/** The other tables' indexes that span all shops. */
export const CROSS_SHOP_INDEXES: string[] = [
  // A shop's test shops.
  'shops_testOf',
  // Test shops with an advanced clock.
  'shops_clockOffsetMs',
  // Batches whose process has died.
  'payoutBatches_claimedUntil',
  // Retries that are due.
  'deliveries_nextAttemptAt',
  // Retention.
  'idempotencyKeys_expiresAt',
]

export type Row = Record<string, unknown>

const PAGE_SIZE = 500

/** The installation setting that marks a database as an incomplete copy's target. */
export const UNFINISHED_COPY = 'unfinishedCopy'

/** The primary key of a table's last row. Undefined for an empty table. */
export async function findLastKey(db: Reader, name: TableName): Promise<unknown[] | undefined> {
  const names = await readPrimaryKey(db, name)
  const keys = names.map((key) => sql.ref(key))
  const descending = sql.join(keys.map((key) => sql`${key} desc`))
  const { rows } = await sql<Row>`
    select ${sql.join(keys)} from ${sql.table(name)} order by ${descending} limit 1`.execute(db)
  const [last] = rows
  return last && names.map((key) => last[key])
}

/** Reads a table's rows in the order of its primary key, a page at a time: all, or those after a key. */
export async function forEachPage(
  db: Reader,
  name: TableName,
  onPage: (rows: Row[]) => unknown,
  afterKey?: unknown[],
): Promise<void> {
  for await (const rows of pagesOf(db, name, { afterKey })) await onPage(rows)
}

/** A table's rows, those of one shop, or those after a key, in the order of its primary key, a page at a time. */
export async function* pagesOf(
  db: Reader,
  name: TableName,
  { shopId, limit = PAGE_SIZE, afterKey }: { shopId?: string; limit?: number; afterKey?: unknown[] | undefined } = {},
): AsyncGenerator<Row[], void> {
  const column = shopColumn(name)
  const ofShop = shopId === undefined ? sql`true` : sql`${sql.ref(column)} = ${shopId}`
  const all = await readPrimaryKey(db, name)
  // Within a shop, SQLite would evaluate a comparison that starts with the shop's ID from the shop's first row.
  const names = all.filter((key) => shopId === undefined || key !== column)
  const keys = names.map((key) => sql.ref(key))
  let after = afterKey && names.map((key) => afterKey[all.indexOf(key)])
  for (;;) {
    // If there are no other columns, the shop has one row.
    if (after?.length === 0) return
    const rest = after ? sql`(${sql.join(keys)}) > (${sql.join(after)})` : sql`true`
    const order = keys.length > 0 ? sql`order by ${sql.join(keys)}` : sql``
    const { rows } = await sql<Row>`
      select * from ${sql.table(name)} where ${ofShop} and ${rest}
      ${order} limit ${sql.lit(limit)}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = names.map((key) => last[key])
  }
}

/** The column that contains the shop's ID. */
const shopColumn = (name: keyof Tables): string => (name === 'shops' ? 'id' : 'shopId')

/** The maximum number of a shop's rows deleted in one transaction. */
interface Portion {
  shopId: string
  limit: number
}

/**
 * Deletes up to `limit` of a shop's rows from a table. Returns how many. Row counts go last, because triggers derive
 * them from the others.
 */
export async function deleteRowsOfShop(
  trx: Transaction,
  name: keyof Tables,
  { shopId, limit }: Portion,
): Promise<number> {
  const key = sql.join((await readPrimaryKey(trx, name)).map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`
    delete from ${sql.table(name)} where (${key}) in (
      select ${key} from ${sql.table(name)} where ${sql.ref(shopColumn(name))} = ${shopId} limit ${sql.lit(limit)})`.execute(
    trx,
  )
  return Number(numAffectedRows ?? 0n)
}
