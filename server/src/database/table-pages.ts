import { sql } from 'kysely'
import type { Reader } from './access.ts'
import type { Tables } from './tables.ts'

/** Row counts follow from the other tables: whoever copies those has them too. */
type Copied = Exclude<keyof Tables, 'rowCounts'>
type Keys = { [Table in Copied]: (keyof Tables[Table])[] }

/** Every table of the schema and what its rows are told apart by. A table that is missing here does not compile. */
export const PRIMARY_KEYS: Keys = {
  shops: ['id'],
  users: ['id'],
  sessions: ['tokenHash'],
  signInLinks: ['tokenHash'],
  apiKeys: ['id'],
  programs: ['id'],
  affiliates: ['id'],
  commissions: ['id'],
  orders: ['shopId', 'orderId'],
  refunds: ['id'],
  refundTotals: ['shopId', 'commissionId'],
  storeNotices: ['shopId', 'orderId', 'kind', 'noticeId'],
  journey: ['id'],
  connections: ['id'],
  productRules: ['id'],
  geoRules: ['programId'],
  payoutBatches: ['id'],
  subscriptions: ['id'],
  webhookEvents: ['id'],
  deliveries: ['id'],
  streams: ['id'],
  streamDeliveries: ['id'],
  idempotencyKeys: ['shopId', 'key'],
  audits: ['id'],
  instanceSettings: ['name'],
}

export type Row = Record<string, unknown>
export type TableName = keyof typeof PRIMARY_KEYS

const PAGE = 500

/** Every table whose rows are facts of their own. */
export const TABLE_NAMES = Object.keys(PRIMARY_KEYS) as TableName[]

/** Reads all rows of a table in the order of their keys, a page at a time. */
export async function eachPage(db: Reader, name: TableName, take: (rows: Row[]) => unknown): Promise<void> {
  const keys = PRIMARY_KEYS[name].map((key) => sql.ref(key))
  let after: unknown[] | undefined
  for (;;) {
    const where = after ? sql`where (${sql.join(keys)}) > (${sql.join(after)})` : sql``
    const { rows } = await sql<Row>`
      select * from ${sql.table(name)} ${where} order by ${sql.join(keys)} limit ${sql.lit(PAGE)}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    await take(rows)
    after = PRIMARY_KEYS[name].map((key) => last[key])
  }
}
