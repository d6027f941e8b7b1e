import { type Kysely, sql } from 'kysely'

/** A commission's base after refunds. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('commissions')
    .addColumn('remainingBaseCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  const refunded = sql`coalesce((select sum(refunds."goodsCents") from refunds
    where refunds."shopId" = commissions."shopId" and refunds."commissionId" = commissions.id
      and refunds."adjustmentId" is null), 0)`
  // The part of a refund outside the base is not stored, so it is deducted as well.
  await sql`update commissions set "remainingBaseCents" = case when "commissionBaseCents" > ${refunded}
    then "commissionBaseCents" - ${refunded} else 0 end where "commissionBaseCents" <> 0`.execute(db)
}
