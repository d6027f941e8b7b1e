import { type Kysely, PostgresAdapter, sql } from 'kysely'

/**
 * Adds the running totals of refunds and the id that both rows of a carried debt share. Totals of earlier refunds are
 * computed with the commission's next refund; earlier debts get their id here.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const text = db.getExecutor().adapter instanceof PostgresAdapter ? sql`text collate "C"` : sql`text`
  await sql`create table "refundTotals" (
    "shopId" ${text} not null, "commissionId" ${text} not null, "goodsCents" bigint not null,
    pieces ${text} not null, pointed ${text} not null, everything integer not null,
    constraint "refundTotals_pk" primary key ("shopId", "commissionId"))`.execute(db)
  await sql`alter table commissions add column "debtId" ${text}`.execute(db)
  await pairDebts(db)
  await sql`create index "commissions_shopId_debtId" on commissions ("shopId", "debtId")
    where "debtId" is not null`.execute(db)
}

/** Both rows of a debt were written in one transaction; where two debts are alike, the order of the ids tells them apart. */
async function pairDebts(db: Kysely<unknown>): Promise<void> {
  await sql`
    with carried as (
      select id, "shopId", "affiliateId", coalesce("programId", '') as program, currency, "createdAt",
        "commissionAmountCents" as cents,
        row_number() over (
          partition by "shopId", "affiliateId", "programId", currency, "createdAt", "commissionAmountCents"
          order by id) as place
      from commissions where "trackingMethod" = 'ADJUSTMENT' and "orderId" = 'adj:' || id || ':carry'),
    pairs as (
      select b.id as "balancingId", o.id as "openId" from carried b join carried o
      on o."shopId" = b."shopId" and o."affiliateId" = b."affiliateId" and o.program = b.program
        and o.currency = b.currency and o."createdAt" = b."createdAt" and o.cents = -b.cents and o.place = b.place
      where b.cents > 0),
    sides as (
      select "balancingId" as id, "balancingId" from pairs union all select "openId", "balancingId" from pairs)
    update commissions set "debtId" = sides."balancingId" from sides where commissions.id = sides.id`.execute(db)
}
