import { sql } from 'kysely'
import type { Reader } from './database.ts'
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
  apiKeys: ['shopId', 'id'],
  programs: ['shopId', 'id'],
  affiliates: ['shopId', 'id'],
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
  subscriptions: ['shopId', 'id'],
  webhookEvents: ['shopId', 'id'],
  deliveries: ['shopId', 'id'],
  streams: ['shopId', 'id'],
  streamDeliveries: ['shopId', 'id'],
  idempotencyKeys: ['shopId', 'key'],
  audits: ['shopId', 'seq'],
  auditHeads: ['shopId'],
  installationSettings: ['name'],
}

/**
 * Tables that are read before the shop is known, or that belong to no shop. In every other table the shop leads the
 * primary key and each index, so that the schema can be distributed by shop.
 */
export const GLOBAL_TABLES: string[] = [
  // Looked up by the hash of a secret, which identifies the shop.
  'users',
  'apiKeys',
  'sessions',
  'signInLinks',
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
  // Leases of a process on the outbox.
  'subscriptions_claimedBy',
  // Batches whose process has died.
  'payoutJobs_claimedUntil',
  // Retention.
  'idempotencyKeys_expiresAt',
  'journey_occurredAt',
]

export type Row = Record<string, unknown>
export type TableName = keyof typeof PRIMARY_KEYS

const PAGE_SIZE = 500

/** Every table except those that are derived from others. */
export const TABLE_NAMES = Object.keys(PRIMARY_KEYS) as TableName[]

/** Reads all rows of a table in the order of its primary key, a page at a time. */
export async function forEachPage(db: Reader, name: TableName, onPage: (rows: Row[]) => unknown): Promise<void> {
  const keys = PRIMARY_KEYS[name].map((key) => sql.ref(key))
  let after: unknown[] | undefined
  for (;;) {
    const where = after ? sql`where (${sql.join(keys)}) > (${sql.join(after)})` : sql``
    const { rows } = await sql<Row>`
      select * from ${sql.table(name)} ${where} order by ${sql.join(keys)} limit ${sql.lit(PAGE_SIZE)}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    await onPage(rows)
    after = PRIMARY_KEYS[name].map((key) => last[key])
  }
}
