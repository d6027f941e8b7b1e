import { sql } from 'kysely'
import type { Reader, Transaction } from './database.ts'
import type { Tables } from './tables.ts'

/** Row counts are derived from the other tables by triggers, so a copy does not include them. */
type Copied = Exclude<keyof Tables, 'rowCounts'>
type Keys = { [Table in Copied]: (keyof Tables[Table])[] }

/** The primary key of every table. A missing table does not compile. */
export const PRIMARY_KEYS: Keys = {
  shops: ['id'],
  users: ['shopId', 'id'],
  sessions: ['tokenHash'],
  signInLinks: ['tokenHash'],
  passkeys: ['shopId', 'id'],
  apiKeys: ['shopId', 'id'],
  programs: ['shopId', 'id'],
  affiliates: ['shopId', 'id'],
  affiliateAliases: ['shopId', 'id'],
  payees: ['shopId', 'affiliateId'],
  commissions: ['shopId', 'id'],
  orders: ['shopId', 'orderId'],
  refunds: ['shopId', 'commissionId', 'externalRefundId'],
  refundTotals: ['shopId', 'commissionId'],
  orderNotices: ['shopId', 'orderId', 'kind', 'noticeId'],
  journey: ['shopId', 'id'],
  connections: ['shopId', 'id'],
  productRules: ['shopId', 'id'],
  geoRules: ['shopId', 'programId'],
  payoutBatches: ['shopId', 'id'],
  payoutJobs: ['shopId', 'batchId'],
  reservationChanges: ['shopId', 'batchId', 'commissionId', 'version'],
  payoutFiles: ['shopId', 'id'],
  payoutLines: ['shopId', 'id'],
  subscriptions: ['shopId', 'id'],
  webhookEvents: ['shopId', 'id'],
  deliveries: ['shopId', 'id'],
  idempotencyKeys: ['shopId', 'key'],
  audits: ['shopId', 'seq'],
  auditHeads: ['shopId'],
  erasures: ['shopId', 'id'],
  installationSettings: ['name'],
}

/**
 * Tables that are read before the shop is known, or that belong to no shop. In every other table the shop leads the
 * primary key and each index, so that the schema can be distributed by shop.
 */
export const GLOBAL_TABLES: string[] = [
  // Looked up by the hash of a secret or the id of a credential, which identifies the shop.
  'users',
  'apiKeys',
  'sessions',
  'signInLinks',
  'passkeys',
  // Settings of the installation.
  'installationSettings',
  // Maintained by the rate limiter, on PostgreSQL.
  'rateLimits',
  // Maintained by Kysely's migrator.
  'kysely_migration',
  'kysely_migration_lock',
]

/** Indexes of the other tables that span all shops. */
export const CROSS_SHOP_INDEXES: string[] = [
  // The test shops of a shop.
  'shops_testOf',
  // Test shops with an advanced clock.
  'shops_clockOffsetMs',
  // Leases of a process on the outbox.
  'subscriptions_claimedBy',
  // Batches whose process has died.
  'payoutJobs_claimedUntil',
  // Retries that are due.
  'deliveries_nextAttemptAt',
  // Retention.
  'idempotencyKeys_expiresAt',
  'journey_occurredAt',
]

export type Row = Record<string, unknown>
export type TableName = keyof typeof PRIMARY_KEYS

const PAGE_SIZE = 500

/** Every table except those that are derived from others. */
export const TABLE_NAMES = Object.keys(PRIMARY_KEYS) as TableName[]

/** The installation setting that marks a database as the target of a copy that is not complete. */
export const UNFINISHED_COPY = 'unfinishedCopy'

/** The primary key of the last row of a table; undefined for an empty table. */
export async function findLastKey(db: Reader, name: TableName): Promise<unknown[] | undefined> {
  const keys = PRIMARY_KEYS[name].map((key) => sql.ref(key))
  const descending = sql.join(keys.map((key) => sql`${key} desc`))
  const { rows } = await sql<Row>`
    select ${sql.join(keys)} from ${sql.table(name)} order by ${descending} limit 1`.execute(db)
  const [last] = rows
  return last && PRIMARY_KEYS[name].map((key) => last[key])
}

/** Reads the rows of a table in the order of its primary key, a page at a time: all, or those after a key. */
export async function forEachPage(
  db: Reader,
  name: TableName,
  onPage: (rows: Row[]) => unknown,
  afterKey?: unknown[],
): Promise<void> {
  for await (const rows of pagesOf(db, name, { afterKey })) await onPage(rows)
}

/** The rows of a table, those of one shop, or those after a key, in the order of its primary key, a page at a time. */
export async function* pagesOf(
  db: Reader,
  name: TableName,
  { shopId, limit = PAGE_SIZE, afterKey }: { shopId?: string; limit?: number; afterKey?: unknown[] | undefined } = {},
): AsyncGenerator<Row[], void> {
  const column = shopColumn(name)
  const ofShop = shopId === undefined ? sql`true` : sql`${sql.ref(column)} = ${shopId}`
  const all = PRIMARY_KEYS[name].map(String)
  // Within a shop, SQLite would read a comparison that begins with its id from the first row of the shop.
  const names = all.filter((key) => shopId === undefined || key !== column)
  const keys = names.map((key) => sql.ref(key))
  let after = afterKey && names.map((key) => afterKey[all.indexOf(key)])
  for (;;) {
    // Without other columns, the shop has one row.
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

/** The column that contains the id of the shop. */
const shopColumn = (name: TableName): string => (name === 'shops' ? 'id' : 'shopId')

/** The tables with rows of shops, except those that are derived from others. */
export const SHOP_TABLES: TableName[] = TABLE_NAMES.filter((name) => name !== 'installationSettings')

/** The primary key of the table that triggers derive from others. */
const ROW_COUNT_KEYS = ['shopId', 'list', 'scope', 'programId', 'status', 'currency', 'orderCurrency']

/** How many rows of a shop are deleted in one transaction at most. */
interface Portion {
  shopId: string
  limit: number
}

/** Deletes up to `limit` rows of a shop from a table. Returns how many. */
export const deleteRowsOfShop = (trx: Transaction, name: TableName, portion: Portion): Promise<number> =>
  deletePortion(trx, { table: name, shop: shopColumn(name), keys: PRIMARY_KEYS[name].map(String) }, portion)

/**
 * Deletes up to `limit` rows of a shop that triggers derived. Returns how many. The rows that they were derived from must be
 * deleted before.
 */
export const deleteDerivedRowsOfShop = (trx: Transaction, portion: Portion): Promise<number> =>
  deletePortion(trx, { table: 'rowCounts', shop: 'shopId', keys: ROW_COUNT_KEYS }, portion)

async function deletePortion(
  trx: Transaction,
  { table, shop, keys }: { table: string; shop: string; keys: string[] },
  { shopId, limit }: Portion,
): Promise<number> {
  const key = sql.join(keys.map((name) => sql.ref(name)))
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${key}) in (
      select ${key} from ${sql.table(table)} where ${sql.ref(shop)} = ${shopId} limit ${sql.lit(limit)})`.execute(trx)
  return Number(numAffectedRows ?? 0n)
}
