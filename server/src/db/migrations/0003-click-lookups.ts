import { type Kysely, sql } from 'kysely'

/**
 * Every order looks clicks up by click id and by session. The indexes hold clicks only and name all that is asked for,
 * in the order it is asked for, so that the planner has nothing to weigh: with an index that fits in part, SQLite without
 * statistics walks through the clicks of the whole shop.
 */
const STATEMENTS = [
  `drop index "journey_shopId_clickId"`,
  `create index "journey_clicks_clickId" on journey ("shopId", "clickId", "occurredAt", id)
    where type = 'click' and "affiliateId" is not null`,
  `create index "journey_clicks_unknown" on journey ("shopId", "clickId") where type = 'click' and "affiliateId" is null`,
  `create index "journey_clicks_session" on journey ("shopId", "sessionId", "occurredAt", "clickId")
    where type = 'click' and "sessionId" is not null`,
  `create index "journey_clicks_session_affiliate" on journey
    ("shopId", "sessionId", "affiliateId", "occurredAt", "clickId")
    where type = 'click' and "sessionId" is not null and "affiliateId" is not null`,
  `create index "programs_cookieDurationDays" on programs ("shopId", "cookieDurationDays")`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
