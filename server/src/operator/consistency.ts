import { sql } from 'kysely'
import type { Config } from '../config.ts'
import { isPostgresUrl } from '../config.ts'
import { type Reader, type Transaction, withConnection } from '../database/database.ts'

/** A batch whose stored totals differ from its commissions. Cents are text, because they may exceed safe integers. */
export interface WrongTotal {
  id: string
  shopId: string
  stored: string
  summed: string
}

/** Compares the count, the commissions and the withheld tax of each batch with its rows. */
export async function listWrongTotals(db: Reader): Promise<WrongTotal[]> {
  const { rows } = await sql<WrongTotal>`
    select b.id, b."shopId", cast(b."netPayableCents" as text) as stored,
      cast(coalesce(r.cents - r.withheld, 0) as text) as summed
    from "payoutBatches" b left join (
      select "shopId", "payoutBatchId", count(*) as count, sum("commissionAmountCents") as cents, sum("taxWithheldCents") as withheld
      from commissions where "payoutBatchId" is not null group by 1, 2
    ) r on r."shopId" = b."shopId" and r."payoutBatchId" = b.id
    where b.status <> 'FAILED' and (
      b.commissions <> coalesce(r.count, 0) or b."commissionCents" <> coalesce(r.cents, 0)
      or b."taxWithheldCents" <> coalesce(r.withheld, 0)
      or b."netPayableCents" <> b."commissionCents" - b."taxWithheldCents")
    order by b.id limit 100`.execute(db)
  return rows
}

/** Commissions whose refunds do not add up to their running total. */
export async function listWrongRefundTotals(
  db: Reader,
): Promise<{ commissionId: string; stored: string; summed: string }[]> {
  const { rows } = await sql<{ commissionId: string; stored: string; summed: string }>`
    select t."commissionId", cast(t."goodsCents" as text) as stored,
      cast(coalesce(sum(r."goodsCents"), 0) as text) as summed
    from "refundTotals" t
    left join refunds r on r."shopId" = t."shopId" and r."commissionId" = t."commissionId"
    group by t."shopId", t."commissionId", t."goodsCents"
    having t."goodsCents" <> coalesce(sum(r."goodsCents"), 0)
    order by t."commissionId" limit 100`.execute(db)
  return rows
}

/** Carried debts that do not consist of two rows that add up to zero. */
export async function listUnbalancedDebts(db: Reader): Promise<string[]> {
  const { rows } = await sql<{ debtId: string }>`
    select "debtId" from commissions where "debtId" is not null group by "shopId", "debtId"
    having count(*) <> 2 or sum("commissionAmountCents") <> 0 or sum("taxWithheldCents") <> 0
    order by "debtId" limit 100`.execute(db)
  return rows.map(({ debtId }) => debtId)
}

/** References within a shop: table, column and referenced table. */
const REFERENCES: [table: string, column: string, target: string][] = [
  ['users', 'shopId', 'shops'],
  ['apiKeys', 'shopId', 'shops'],
  ['shops', 'defaultProgramId', 'programs'],
  ['affiliates', 'campaignId', 'programs'],
  ['commissions', 'affiliateId', 'affiliates'],
  ['commissions', 'programId', 'programs'],
  ['commissions', 'payoutBatchId', 'payoutBatches'],
  ['commissions', 'debtId', 'commissions'],
  ['orders', 'commissionId', 'commissions'],
  ['refunds', 'commissionId', 'commissions'],
  ['refunds', 'adjustmentId', 'commissions'],
  ['refundTotals', 'commissionId', 'commissions'],
  ['connections', 'affiliateId', 'affiliates'],
  ['productRules', 'programId', 'programs'],
  ['geoRules', 'programId', 'programs'],
  ['deliveries', 'eventId', 'webhookEvents'],
  ['subscriptions', 'shopId', 'shops'],
]

export interface Orphans {
  table: string
  column: string
  rows: number
}

/** Rows that reference a missing row or a row of another shop. */
export async function countOrphans(db: Reader): Promise<Orphans[]> {
  const found: Orphans[] = []
  for (const [table, column, target] of REFERENCES) {
    const owner = table === 'shops' ? sql.ref('r.id') : sql.ref('r.shopId')
    const same = target === 'shops' ? sql`true` : sql`t."shopId" = ${owner}`
    const { rows } = await sql<{ rows: number }>`
      select count(*) as rows from ${sql.table(table)} r where ${sql.ref(`r.${column}`)} is not null and not exists (
        select 1 from ${sql.table(target)} t where t.id = ${sql.ref(`r.${column}`)} and ${same})`.execute(db)
    const count = rows[0]?.rows ?? 0
    if (count > 0) found.push({ table, column, rows: count })
  }
  return found
}

/** Orders that reference the commission of another order. */
export async function countMismatchedOrders(db: Reader): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from orders o join commissions c
      on c."shopId" = o."shopId" and c.id = o."commissionId"
    where c."orderId" <> o."orderId"`.execute(db)
  return rows[0]?.rows ?? 0
}

/** A stored head that is not the last row of its audit chain. */
export interface WrongHead {
  shopId: string
  /** The sequence number of the head, null without one. */
  head: number | null
  /** The sequence number of the last row, 0 without rows. */
  last: number
}

/** Heads of audit chains that differ from the chains, and chains without a head. */
export async function listWrongHeads(db: Reader): Promise<WrongHead[]> {
  const { rows } = await sql<WrongHead>`
    select e."shopId", h.seq as head, e.last from (
      select "shopId", max(seq) as last from audits group by "shopId"
      union all select "shopId", 0 from "auditHeads" where not exists (
        select 1 from audits a where a."shopId" = "auditHeads"."shopId")
    ) e
    left join "auditHeads" h on h."shopId" = e."shopId"
    left join audits a on a."shopId" = e."shopId" and a.seq = e.last
    where coalesce(h.seq, -1) <> e.last or h.hash <> coalesce(a.hash, '')
    order by e."shopId" limit 100`.execute(db)
  return rows
}

/** A stored count that differs from the number of rows. */
export interface WrongCount {
  list: string
  shopId: string
  scope: string
  counted: number
  rows: number
}

/** The rows of all counted lists. */
const COUNTED_ROWS = sql`
  select 'commissions' as list, "shopId", '' as scope, coalesce("programId", '') as "programId", "orderStatus" as status
  from commissions
  union all select 'commissions', "shopId", "affiliateId", coalesce("programId", ''), "orderStatus" from commissions
  union all select 'commissions', "shopId", 'day:' || substr("happenedAt", 1, 10), coalesce("programId", ''), "orderStatus"
  from commissions
  union all select 'affiliates', "shopId", '', coalesce("campaignId", ''), status from affiliates where "deletedAt" is null
  union all select 'payoutBatches', "shopId", '', '', status from "payoutBatches"
  union all select 'deliveries', "shopId", '', '', '' from deliveries`

/** Counts of lists that differ from their rows, by shop and scope. */
export async function listWrongCounts(db: Reader): Promise<WrongCount[]> {
  const key = sql`list, "shopId", scope, "programId", status`
  const { rows } = await sql<WrongCount>`
    select list, "shopId", scope, cast(sum(counted) as bigint) as counted, cast(sum(rows) as bigint) as rows from (
      select ${key}, sum(counted) as counted, sum(rows) as rows from (
        select ${key}, rows as counted, 0 as rows from "rowCounts"
        union all select ${key}, 0, count(*) from (${COUNTED_ROWS}) r group by ${key}
      ) b group by ${key} having sum(counted) <> sum(rows)
    ) w group by list, "shopId", scope order by list, "shopId", scope limit 100`.execute(db)
  return rows
}

/**
 * Recounts all rows.
 *
 * @param options.lock on PostgreSQL, blocks concurrent changes of the counts, so that no row is counted twice or missed.
 *   A transaction on SQLite has no concurrent writers.
 */
export async function recountRows(trx: Transaction, { lock }: { lock: boolean }): Promise<void> {
  if (lock) await sql`lock table "rowCounts" in share row exclusive mode`.execute(trx)
  await sql`delete from "rowCounts"`.execute(trx)
  const key = sql`"shopId", list, scope, "programId", status`
  await sql`insert into "rowCounts" (${key}, rows) select ${key}, count(*) from (${COUNTED_ROWS}) r group by ${key}`.execute(
    trx,
  )
}

/** Recounts all rows on a separate connection, because a large database takes longer than the time limit of a request. */
export const recount = ({ databaseUrl }: Pick<Config, 'databaseUrl'>): Promise<void> =>
  withConnection(databaseUrl, (db) =>
    db.transaction().execute((trx) => recountRows(trx, { lock: isPostgresUrl(databaseUrl) })),
  )
