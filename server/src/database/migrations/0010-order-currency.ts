import { type Kysely, PostgresAdapter, sql } from 'kysely'

/** The order's own currency beside the commission's, and minimum payouts by currency. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const text = db.getExecutor().adapter instanceof PostgresAdapter ? sql`text collate "C"` : sql`text`
  await sql`alter table commissions add column "orderCurrency" ${text} not null default ''`.execute(db)
  await sql`update commissions set "orderCurrency" = currency`.execute(db)
  await sql`alter table shops add column "minimumPayoutCentsByCurrency" ${text} not null default '{}'`.execute(db)
}
