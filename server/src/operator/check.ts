import { sql } from 'kysely'
import { type Config, isPostgresUrl } from '../config.ts'
import type { Deps } from '../core/context.ts'
import { isEncryptionKeyValid, isUnfinishedCopy } from '../core/installation.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { withConnection } from '../database/open.ts'
import { type ChainCheck, checkChains } from '../domains/accounts/audit-log.ts'
import { countProgress, findBadRows } from './check-rows.ts'

export interface CheckReport {
  ok: boolean
  /** One sentence per problem; empty when there is none. */
  problems: string[]
  audit: ChainCheck
}

/**
 * Checks the consistency of the database: files, rows, decisions, totals of batches and refunds, carried debts,
 * references, audit chains, and the encryption key when there is a vault. {@link describeCoverage} lists what it cannot detect.
 */
export async function check(
  { db, vault }: Pick<Deps, 'db'> & Partial<Pick<Deps, 'vault'>>,
  onProgress: (line: string) => void = () => {},
): Promise<CheckReport> {
  onProgress('Checking the structure of the database.')
  const damage = (await db.findDamage()).map((line) => `The database is damaged: ${line}`)
  try {
    const { problems, audit } = await checkData({ db, vault }, onProgress)
    return { ok: damage.length + problems.length === 0, problems: [...damage, ...problems], audit }
  } catch (error) {
    if (damage.length === 0) throw error
    const rest = `The remaining checks failed: ${(error as Error).message}.`
    return {
      ok: false,
      problems: [...damage, rest],
      audit: { shops: 0, rows: 0, breaks: [], heads: [] },
    }
  }
}

async function checkData(
  { db, vault }: Parameters<typeof check>[0],
  onProgress: (line: string) => void,
): Promise<Omit<CheckReport, 'ok'>> {
  const problems: string[] = []
  if (await isUnfinishedCopy(db.read)) {
    problems.push('The database is an incomplete copy. Run referral-server copy again to complete it.')
  }
  onProgress('Checking totals, references and counts.')
  for (const { id, stored, summed } of await listWrongTotals(db.read)) {
    problems.push(
      stored === summed
        ? `Payout batch ${id} stores a wrong number of commissions or affiliates.`
        : `Payout batch ${id} stores a net total of ${stored} cents, but its commissions add up to ${summed}.`,
    )
  }
  for (const { commissionId, stored, summed } of await listWrongRefundTotals(db.read)) {
    problems.push(
      `The refunds of commission ${commissionId} add up to ${summed} cents of goods, but ${stored} are stored.`,
    )
  }
  for (const id of await listUnbalancedDebts(db.read)) {
    problems.push(`The carried debt ${id} does not consist of two commissions that add up to 0.`)
  }
  for (const id of await listWrongFiles(db.read)) {
    problems.push(
      `The totals of payment file ${id} differ from its lines, or an amount was not made payable again once.`,
    )
  }
  for (const { table, column, rows } of await countOrphans(db.read)) {
    problems.push(`${rows} rows of ${table} reference a ${column} that does not exist in their shop.`)
  }
  const mismatched = await countMismatchedOrders(db.read)
  if (mismatched > 0) problems.push(`${mismatched} orders reference the commission of another order.`)
  for (const { list, shopId, scope, counted, rows, isSumWrong } of await listWrongCounts(db.read)) {
    const of = scope ? ` (${scope})` : ''
    problems.push(
      isSumWrong
        ? `Shop ${shopId} stores wrong sums of ${list}${of}; repair with check --recount.`
        : `Shop ${shopId} has ${rows} rows of ${list}${of}, but ${counted} are counted; repair with check --recount.`,
    )
  }
  problems.push(...(await findBadRows({ db }, onProgress)))
  if (vault && !(await isEncryptionKeyValid(db.read, vault)))
    problems.push('The encryption key does not belong to this database.')
  const audit = await checkChains(
    { db },
    countProgress(onProgress, (rows) => `audits: ${rows} rows verified`),
  )
  for (const { shopId, seq, reason } of audit.breaks) {
    problems.push(`The audit of shop ${shopId} is broken at row ${seq}: ${BREAK_REASONS[reason]}.`)
  }
  for (const { shopId, head, last } of await listWrongHeads(db.read)) {
    const stored = head === null ? 'has no stored head' : `has row ${head} stored as its head, or another hash`
    problems.push(`The audit of shop ${shopId} ends at row ${last}, but ${stored}.`)
  }
  return { problems, audit }
}

const BREAK_REASONS = {
  MISSING: 'the row is missing',
  CHANGED: 'the row was changed after it was written',
  UNLINKED: 'the row does not follow the one before it',
}

interface CheckScope {
  /** A `DATABASE_URL`. */
  url: string
  /** Whether the encryption key was compared. */
  key?: boolean
  /** Whether the checksum of a backup was compared. */
  checksum?: boolean
}

/** What a successful check has verified, and what it cannot detect; one line each. */
export function describeCoverage({ url, key, checksum }: CheckScope): string[] {
  const isPostgres = isPostgresUrl(url)
  const verified = [
    ...(isPostgres ? [] : ['the structure of the file and its indexes']),
    ...(checksum ? ['the SHA-256 of the backup'] : []),
    'that every row is readable',
    'that replaying the stored facts of each order gives the stored decision',
    'totals of payout batches and refunds, references between rows, and counts of lists',
    'the chain of every audit from its first row, and its stored head',
    ...(key ? ['the encryption key'] : []),
  ]
  return [
    `Verified: ${verified.join('; ')}.`,
    'Not detectable: a value that was replaced by another valid one and from which nothing is computed, such as a name, and the loss of the latest changes. The SHA-256 of a backup detects the first; audit.heads from an earlier check --json, stored elsewhere, detects the second.',
    ...(isPostgres ? ['The files of PostgreSQL are not read: use its data checksums and pg_amcheck.'] : []),
  ]
}

/** A shop whose deletion has begun is inconsistent until it is deleted. */
const isKept = (shopId: string) =>
  sql`not exists (select 1 from shops d where d.id = ${sql.ref(shopId)} and d."deletionStartedAt" is not null)`

/** A batch whose stored totals differ from its commissions. Cents are text, because they may exceed safe integers. */
interface WrongTotal {
  id: string
  shopId: string
  stored: string
  summed: string
}

/** Compares each batch's count, commissions, and withheld tax with its rows. */
async function listWrongTotals(db: Reader): Promise<WrongTotal[]> {
  const { rows } = await sql<WrongTotal>`
    select b.id, b."shopId", cast(b."netPayableCents" as text) as stored,
      cast(coalesce(r.cents - r.withheld, 0) as text) as summed
    from "payoutBatches" b left join (
      select "shopId", "payoutBatchId", count(*) as count, sum("commissionAmountCents") as cents, sum("taxWithheldCents") as withheld
      from commissions where "payoutBatchId" is not null group by 1, 2
    ) r on r."shopId" = b."shopId" and r."payoutBatchId" = b.id
    where b.status <> 'FAILED' and coalesce(b.process, '') not like '{"becomes":"FAILED"%' and (
      b.commissions <> coalesce(r.count, 0) or b."commissionCents" <> coalesce(r.cents, 0)
      or b."taxWithheldCents" <> coalesce(r.withheld, 0)
      or b."netPayableCents" <> b."commissionCents" - b."taxWithheldCents")
      and ${isKept('b.shopId')}
    order by b.id limit 100`.execute(db)
  return rows
}

/** Commissions whose refunds do not add up to their running total. */
async function listWrongRefundTotals(db: Reader): Promise<{ commissionId: string; stored: string; summed: string }[]> {
  const { rows } = await sql<{ commissionId: string; stored: string; summed: string }>`
    select t."commissionId", cast(t."goodsCents" as text) as stored,
      cast(coalesce(sum(r."goodsCents"), 0) as text) as summed
    from "refundTotals" t
    left join refunds r on r."shopId" = t."shopId" and r."commissionId" = t."commissionId"
    where ${isKept('t.shopId')}
    group by t."shopId", t."commissionId", t."goodsCents"
    having t."goodsCents" <> coalesce(sum(r."goodsCents"), 0)
    order by t."commissionId" limit 100`.execute(db)
  return rows
}

/** Carried debts that do not consist of two rows that add up to zero. */
async function listUnbalancedDebts(db: Reader): Promise<string[]> {
  const { rows } = await sql<{ debtId: string }>`
    select "debtId" from commissions where "debtId" is not null and ${isKept('commissions.shopId')} group by "shopId", "debtId"
    having count(*) <> 2 or sum("commissionAmountCents") <> 0 or sum("taxWithheldCents") <> 0
    order by "debtId" limit 100`.execute(db)
  return rows.map(({ debtId }) => debtId)
}

/** Payment files whose totals differ from their lines, or whose returned lines do not have one adjustment each. */
async function listWrongFiles(db: Reader): Promise<string[]> {
  const cents = (state: string) => sql`sum(case when l.state = ${sql.lit(state)} then l."amountCents" else 0 end)`
  const count = (state: string) => sql`sum(case when l.state = ${sql.lit(state)} then 1 else 0 end)`
  const { rows } = await sql<{ id: string }>`
    select f.id from "payoutFiles" f left join "payoutLines" l on l."shopId" = f."shopId" and l."fileId" = f.id
      and f.status <> 'DISCARDED'
    left join commissions c on l.state = 'RETURNED' and c."shopId" = l."shopId"
      and c."orderId" = 'adj:' || l.id || ':returned' and c."commissionAmountCents" = l."amountCents"
    where ${isKept('f.shopId')}
    group by f."shopId", f.id, f.lines, f."totalCents", f."settledLines", f."settledCents", f."returnedLines", f."returnedCents"
    having f.lines <> count(l.id) or f."totalCents" <> coalesce(sum(l."amountCents"), 0)
      or f."settledLines" <> ${count('SETTLED')} or f."settledCents" <> ${cents('SETTLED')}
      or f."returnedLines" <> ${count('RETURNED')} or f."returnedCents" <> ${cents('RETURNED')}
      or f."returnedLines" <> count(c.id)
    order by f.id limit 100`.execute(db)
  return rows.map(({ id }) => id)
}

/** References within a shop: table, column and referenced table. */
const REFERENCES: [table: string, column: string, target: string][] = [
  ['users', 'shopId', 'shops'],
  ['apiKeys', 'shopId', 'shops'],
  ['shops', 'defaultProgramId', 'programs'],
  ['affiliates', 'campaignId', 'programs'],
  ['affiliateAliases', 'affiliateId', 'affiliates'],
  ['payees', 'affiliateId', 'affiliates'],
  ['commissions', 'affiliateId', 'affiliates'],
  ['commissions', 'programId', 'programs'],
  ['commissions', 'payoutBatchId', 'payoutBatches'],
  ['commissions', 'debtId', 'commissions'],
  ['payoutFiles', 'batchId', 'payoutBatches'],
  ['payoutLines', 'batchId', 'payoutBatches'],
  ['payoutLines', 'fileId', 'payoutFiles'],
  ['payoutLines', 'affiliateId', 'affiliates'],
  ['orders', 'commissionId', 'commissions'],
  ['refunds', 'commissionId', 'commissions'],
  ['refunds', 'adjustmentId', 'commissions'],
  ['refundTotals', 'commissionId', 'commissions'],
  ['connections', 'affiliateId', 'affiliates'],
  ['customers', 'affiliateId', 'affiliates'],
  ['customers', 'programId', 'programs'],
  ['commissions', 'customer', 'customers'],
  ['productRules', 'programId', 'programs'],
  ['geoRules', 'programId', 'programs'],
  ['programTerms', 'programId', 'programs'],
  ['deliveries', 'eventId', 'webhookEvents'],
  ['subscriptions', 'shopId', 'shops'],
]

interface Orphans {
  table: string
  column: string
  rows: number
}

/** Rows that reference a missing row or a row of another shop. */
async function countOrphans(db: Reader): Promise<Orphans[]> {
  const orphans: Orphans[] = []
  for (const [table, column, target] of REFERENCES) {
    const owner = table === 'shops' ? sql.ref('r.id') : sql.ref('r.shopId')
    const same = target === 'shops' ? sql`true` : sql`t."shopId" = ${owner}`
    const { rows } = await sql<{ rows: number }>`
      select count(*) as rows from ${sql.table(table)} r where ${sql.ref(`r.${column}`)} is not null and not exists (
        select 1 from ${sql.table(target)} t where t.id = ${sql.ref(`r.${column}`)} and ${same})
      and ${isKept(table === 'shops' ? 'r.id' : 'r.shopId')}`.execute(db)
    const count = rows[0]?.rows ?? 0
    if (count > 0) orphans.push({ table, column, rows: count })
  }
  return orphans
}

/** Orders that reference another order's commission. */
async function countMismatchedOrders(db: Reader): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from orders o join commissions c
      on c."shopId" = o."shopId" and c.id = o."commissionId"
    where c."orderId" <> o."orderId"`.execute(db)
  return rows[0]?.rows ?? 0
}

/** A stored head that is not the last row of its audit chain. */
interface WrongHead {
  shopId: string
  /** The sequence number of the head, null without one. */
  head: number | null
  /** The sequence number of the last row, 0 without rows. */
  last: number
}

/** Heads of audit chains that differ from the chains, and chains without a head. */
async function listWrongHeads(db: Reader): Promise<WrongHead[]> {
  const { rows } = await sql<WrongHead>`
    select e."shopId", h.seq as head, e.last from (
      select "shopId", max(seq) as last from audits group by "shopId"
      union all select "shopId", 0 from "auditHeads" where not exists (
        select 1 from audits a where a."shopId" = "auditHeads"."shopId")
    ) e
    left join "auditHeads" h on h."shopId" = e."shopId"
    left join audits a on a."shopId" = e."shopId" and a.seq = e.last
    where (coalesce(h.seq, -1) <> e.last or h.hash <> coalesce(a.hash, '')) and ${isKept('e.shopId')}
    order by e."shopId" limit 100`.execute(db)
  return rows
}

/** A scope's stored counts or totals that differ from the rows. */
interface WrongCount {
  list: string
  shopId: string
  scope: string
  counted: number
  rows: number
  /** Only the sums are wrong. */
  isSumWrong: 0 | 1
}

const COUNT_KEY = sql`list, "shopId", scope, "programId", status, currency, "orderCurrency"`
const ofCommissions = (scope: string) => sql`
  select 'commissions' as list, "shopId", ${sql.raw(scope)} as scope, coalesce("programId", '') as "programId",
    "orderStatus" as status, currency, "orderCurrency",
    case when "trackingMethod" = 'ADJUSTMENT' then 0 else 1 end as orders,
    case when "trackingMethod" = 'ADJUSTMENT' then 0 else "orderSubtotalCents" end as "goodsCents",
    case when substr("orderId", 1, 8) = 'adj:pln_' or ("orderStatus" = 'REVERSED' and "payoutBatchId" is null) then 0
      else "commissionAmountCents" end as "commissionCents",
    case when substr("orderId", 1, 8) = 'adj:pln_' then
        case when "orderStatus" = 'PAID' or "paidAt" is not null then 0 else "taxWithheldCents" - "commissionAmountCents" end
      when "orderStatus" = 'PAID' or ("orderStatus" = 'REVERSED' and "paidAt" is not null)
        then "commissionAmountCents" - "taxWithheldCents" else 0 end as "paidCents"
  from commissions`

/** The rows of all counted lists. */
const COUNTED_ROWS = sql`
  ${sql.join([`''`, '"affiliateId"', `'day:' || substr("happenedAt", 1, 10)`].map(ofCommissions), sql` union all `)}
  union all select 'affiliates', "shopId", '', coalesce("campaignId", ''), status, '', '', 0, 0, 0, 0
  from affiliates where "deletedAt" is null
  union all select 'payoutBatches', "shopId", '', '', status, '', '', 0, 0, 0, 0 from "payoutBatches"
  union all select 'deliveries', "shopId", '', '', '', '', '', 0, 0, 0, 0 from deliveries
  union all select 'clicks', "shopId", "affiliateId", '', '', '', '', 0, 0, 0, 0
  from journey where type = 'click' and "affiliateId" is not null`

/** Counts and sums of lists that differ from their rows, by shop and scope. */
export async function listWrongCounts(db: Reader): Promise<WrongCount[]> {
  const { rows } = await sql<WrongCount>`
    select list, "shopId", scope, cast(sum(counted) as bigint) as counted, cast(sum(rows) as bigint) as rows,
      min(case when counted = rows then 1 else 0 end) as "isSumWrong"
    from (
      select ${COUNT_KEY}, sum(counted) as counted, sum(rows) as rows from (
        select ${COUNT_KEY}, rows as counted, 0 as rows, orders, "goodsCents", "commissionCents", "paidCents"
        from "rowCounts"
        union all select ${COUNT_KEY}, 0, 1, -orders, -"goodsCents", -"commissionCents", -"paidCents" from (${COUNTED_ROWS}) r
      ) b group by ${COUNT_KEY}
      having sum(counted) <> sum(rows) or sum(orders) <> 0 or sum("goodsCents") <> 0 or sum("commissionCents") <> 0
        or sum("paidCents") <> 0
    ) w group by list, "shopId", scope order by list, "shopId", scope limit 100`.execute(db)
  return rows
}

/**
 * Counts and adds up all rows again.
 *
 * @param options.lock on PostgreSQL, blocks concurrent changes of the counts, so that no row is counted twice or missed.
 *   A transaction on SQLite has no concurrent writers.
 */
async function recountRows(trx: Transaction, { lock }: { lock: boolean }): Promise<void> {
  if (lock) await sql`lock table "rowCounts" in exclusive mode`.execute(trx)
  await sql`delete from "rowCounts"`.execute(trx)
  await sql`insert into "rowCounts" (${COUNT_KEY}, rows, orders, "goodsCents", "commissionCents", "paidCents")
    select ${COUNT_KEY}, count(*), sum(orders), sum("goodsCents"), sum("commissionCents"), sum("paidCents")
    from (${COUNTED_ROWS}) r group by ${COUNT_KEY}`.execute(trx)
}

/** Recounts all rows on a separate connection, because a large database takes longer than the time limit of a request. */
export const recount = ({ databaseUrl }: Pick<Config, 'databaseUrl'>): Promise<void> =>
  withConnection(databaseUrl, (db) =>
    db.transaction().execute((trx) => recountRows(trx, { lock: isPostgresUrl(databaseUrl) })),
  )
