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
