import { type Kysely, sql } from 'kysely'

/**
 * Every order looks clicks up by click id and by session. The indexes hold clicks only and name all that is asked for,
 * in the order it is asked for. No other index has the time in the same form, so none has the same order: PostgreSQL
 * would rather walk through the clicks of all shops by time, where it expects to find one of a long session soon.
 */
const TIME = `("occurredAt" || '')`
const TIME_OF_AFFILIATE = `("affiliateId" || "occurredAt")`
const CLICKS = [
  `drop index "journey_shopId_clickId"`,
  `create index "journey_clicks_clickId" on journey ("shopId", "clickId", ${TIME}, id)
    where type = 'click' and "affiliateId" is not null`,
  `create index "journey_clicks_unknown" on journey ("shopId", "clickId") where type = 'click' and "affiliateId" is null`,
  `create index "journey_clicks_session" on journey ("shopId", "sessionId", ${TIME}, "clickId")
    where type = 'click' and "sessionId" is not null`,
  `create index "journey_clicks_session_affiliate" on journey
    ("shopId", "sessionId", "affiliateId", ${TIME_OF_AFFILIATE}, "clickId")
    where type = 'click' and "sessionId" is not null and "affiliateId" is not null`,
  `create index "programs_cookieDurationDays" on programs ("shopId", "cookieDurationDays")`,
]

/** The orders of a customer, among all that the customer did. */
const CUSTOMERS = [
  `drop index "journey_shopId_customerId"`,
  `create index "journey_orders_customerId" on journey ("shopId", "customerId")
    where "commissionId" is not null and "customerId" is not null`,
  `create index "journey_orders_customerEmailKey" on journey ("shopId", "customerEmailKey")
    where "commissionId" is not null and "customerEmailKey" is not null`,
]

/**
 * Lists, each with an index that finds its rows in its order. With one that only finds them, SQLite without statistics
 * would rather walk through all rows of the shop in order; with one that leads elsewhere, through the rows of all shops.
 */
const LISTS = [
  `drop index "affiliates_shopId_createdAt_id"`,
  `drop index "affiliates_shopId_campaignId_createdAt_id"`,
  `drop index "affiliates_shopId_status_createdAt_id"`,
  `create index "affiliates_list" on affiliates ("shopId", "createdAt" desc, id desc) where "deletedAt" is null`,
  `create index "affiliates_list_campaignId" on affiliates ("shopId", "campaignId", "createdAt" desc, id desc)
    where "deletedAt" is null`,
  `create index "affiliates_list_status" on affiliates ("shopId", status, "createdAt" desc, id desc)
    where "deletedAt" is null`,
  `create index "commissions_list_payoutBatchId" on commissions ("shopId", "payoutBatchId", "happenedAt" desc, id desc)
    where "payoutBatchId" is not null`,
  `create index "connections_list" on connections ("shopId", "createdAt" desc, id desc)`,
  `create index "connections_list_kind" on connections ("shopId", kind, "createdAt" desc, id desc)`,
  `create index "connections_list_affiliateId" on connections ("shopId", "affiliateId", "createdAt" desc, id desc)`,
  `create index "productRules_list" on "productRules" ("shopId", "createdAt" desc, id desc)`,
  `create index "productRules_list_programId" on "productRules" ("shopId", "programId", "createdAt" desc, id desc)`,
  `drop index "productRules_programId_kind_value"`,
  `create unique index "productRules_shopId_programId_kind_value" on "productRules" ("shopId", "programId", kind, value)`,
  `create index "geoRules_list" on "geoRules" ("shopId", "programId")`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...CLICKS, ...CUSTOMERS, ...LISTS]) await sql.raw(statement).execute(db)
}
