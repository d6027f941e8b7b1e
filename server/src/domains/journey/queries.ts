import { sql } from 'kysely'
import { defineList, rowsOf } from '../../core/lists.ts'
import { countOf } from '../../core/pagination.ts'
import { hasId, withoutIndex } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { indexedBy, prepared } from '../../database/prepared.ts'
import { deleteRows, insertRow } from '../../database/rows.ts'
import type { CommissionRow, JourneyRow } from '../../database/tables.ts'
import { CLOCK_TOLERANCE_MS, DEFAULT_CLICK_WINDOW_DAYS } from '../../engine/attribution.ts'

interface JourneyFilter {
  sessionId?: string
  affiliateId?: string
  /** Matches any of these keys. */
  customerEmailKeys?: string[]
  /** Instants, both inclusive, of `occurredAt`. */
  from: string
  to?: string
  limit: number
}

/** A session usually has fewer entries than a customer, and a customer fewer than an affiliate, so its index comes first. */
function matchingEntries(
  db: Reader,
  shopId: string,
  { sessionId, affiliateId, customerEmailKeys, from, to }: JourneyFilter,
) {
  let list = db.selectFrom('journey').where('shopId', '=', shopId).where('occurredAt', '>=', from)
  if (to) list = list.where('occurredAt', '<=', to)
  if (sessionId !== undefined) list = list.where('sessionId', '=', sessionId)
  const byEmail = sessionId === undefined
  if (customerEmailKeys)
    list = list.where(byEmail ? 'customerEmailKey' : withoutIndex(db, 'customerEmailKey'), 'in', customerEmailKeys)
  const byAffiliate = byEmail && !customerEmailKeys
  if (affiliateId !== undefined)
    list = list.where(byAffiliate ? 'affiliateId' : withoutIndex(db, 'affiliateId'), '=', affiliateId)
  return list
}

/** The latest entries that match all of the filter, oldest first, and how many match. */
async function listJourney(db: Reader, shopId: string, query: JourneyFilter) {
  const list = matchingEntries(db, shopId, query)
  const total = await countOf(list)
  const latest: JourneyRow[] = await list
    .selectAll()
    .orderBy('occurredAt', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit)
    .execute()
  const outcomes = await findOutcomes(
    db,
    shopId,
    latest.flatMap(({ commissionId }) => commissionId ?? []),
  )
  const rows = latest.reverse().map((row) => ({ ...row, ...(outcomes.get(row.commissionId ?? '') ?? NO_OUTCOME) }))
  return { rows, total }
}

/** What became of an order: the status of its commission, and its refunded goods in cents. */
interface OrderOutcome {
  commissionStatus: CommissionRow['orderStatus'] | null
  orderCurrency: string | null
  refundedCents: number | null
}

export type JourneyRowWithOutcome = JourneyRow & OrderOutcome

const NO_OUTCOME: OrderOutcome = { commissionStatus: null, orderCurrency: null, refundedCents: null }

async function findOutcomes(db: Reader, shopId: string, commissionIds: string[]): Promise<Map<string, OrderOutcome>> {
  // PostgreSQL rejects an empty list.
  if (commissionIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('commissions')
    .where('commissions.shopId', '=', shopId)
    .leftJoin('refundTotals', (join) =>
      join
        .onRef('refundTotals.shopId', '=', 'commissions.shopId')
        .onRef('refundTotals.commissionId', '=', 'commissions.id'),
    )
    .select(['commissions.id', 'orderStatus', 'commissions.orderCurrency'])
    .select('refundTotals.goodsCents')
    .where('commissions.id', 'in', commissionIds)
    .execute()
  return new Map(
    rows.map(({ id, orderStatus, orderCurrency, goodsCents }) => [
      id,
      { commissionStatus: orderStatus, orderCurrency, refundedCents: goodsCents ?? 0 },
    ]),
  )
}

export interface StoredClick {
  clickId: string
  affiliateId: string | null
  occurredAt: string
}

/** The latest instant of a click that counts for an order. */
const latestClickFor = (orderAt: string) => new Date(Date.parse(orderAt) + CLOCK_TOLERANCE_MS).toISOString()

type ClickRow = Pick<JourneyRow, 'id' | 'clickId' | 'affiliateId' | 'occurredAt'>

/** Clicks found by an index. The condition must equal the partial index's condition. */
const selectClicks = (db: Reader, index: string) =>
  sql`select id, "clickId", "affiliateId", "occurredAt" from journey ${indexedBy(db, index)} where type = 'click'`

/** The instant of a click, as the expression that only the indexes of clicks are ordered by. */
const clickTime = sql`("occurredAt" || '')`

interface ClickKey {
  shopId: string
  clickId: string
}

const clicksWithAffiliate = (db: Reader, { shopId, clickId }: ClickKey) =>
  sql`${selectClicks(db, 'journey_clicks_clickId')} and "affiliateId" is not null
    and "shopId" = ${shopId} and "clickId" = ${clickId}`

const newestClick = prepared<ClickKey>()((db, key) =>
  sql<ClickRow>`${clicksWithAffiliate(db, key)} order by ${clickTime} desc, id desc limit 1`.compile(db),
)

const newestClickUpTo = prepared<ClickKey & { latest: string }>()((db, key) =>
  sql<ClickRow>`${clicksWithAffiliate(db, key)} and ${clickTime} <= ${key.latest}
    order by ${clickTime} desc, id desc limit 1`.compile(db),
)

const clickWithoutAffiliate = prepared<ClickKey>()((db, { shopId, clickId }) =>
  sql<ClickRow>`${selectClicks(db, 'journey_clicks_unknown')} and "affiliateId" is null
    and "shopId" = ${shopId} and "clickId" = ${clickId} limit 1`.compile(db),
)

const clickById = prepared<ClickKey>()((db, { shopId, clickId }) =>
  sql<ClickRow>`select id, "clickId", "affiliateId", "occurredAt" from journey
    where "shopId" = ${shopId} and id = ${clickId} and type = 'click'`.compile(db),
)

/**
 * The click with this click id, which is the caller's own or the id of the click itself. If there are several, the newest with an
 * affiliate that is not after the order, since the same id may be clicked again later. A click after the order is
 * returned only when there is no other, so that the decision can explain it.
 */
export async function findClick(
  db: Reader,
  shopId: string,
  clickId: string,
  orderAt: string,
): Promise<StoredClick | undefined> {
  const key = { shopId, clickId, latest: latestClickFor(orderAt) }
  for (const find of [newestClickUpTo, newestClick, clickById, clickWithoutAffiliate]) {
    const [row] = await find(db, key)
    if (row) return toStoredClick(row)
  }
  return undefined
}

/** The affiliate that a click id belongs to; undefined when no click with this id has an affiliate. */
export async function findClickOwner(db: Reader, shopId: string, clickId: string): Promise<string | undefined> {
  const key = { shopId, clickId }
  const [row] = await newestClick(db, key)
  return (row ?? (await clickById(db, key))[0])?.affiliateId ?? undefined
}

const toStoredClick = (row: ClickRow): StoredClick => ({
  clickId: row.clickId ?? row.id,
  affiliateId: row.affiliateId,
  occurredAt: row.occurredAt,
})

export const insertJourneyEntry = (trx: Transaction, shopId: string, row: Omit<JourneyRow, 'shopId'>): Promise<void> =>
  insertRow(trx, 'journey', { shopId, ...row })

/** An order has one entry; a later report that is decided again replaces it. */
export async function replaceJourneyEntry(
  trx: Transaction,
  shopId: string,
  row: Omit<JourneyRow, 'shopId'> & { orderId: string },
): Promise<void> {
  await deleteRows(trx, 'journey', { shopId, orderId: row.orderId })
  await insertJourneyEntry(trx, shopId, row)
}

/** The oldest entries of a shop with a type from before an instant. */
export async function listJourneyBefore(
  db: Reader,
  shopId: string,
  { type, before, limit }: { type: JourneyRow['type']; before: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('journey')
    .select('id')
    .where('shopId', '=', shopId)
    .where('type', '=', type)
    .where('occurredAt', '<', before)
    .orderBy('occurredAt')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export async function deleteJourney(trx: Transaction, shopId: string, ids: string[]): Promise<void> {
  await trx.deleteFrom('journey').where('shopId', '=', shopId).where(hasId(trx, ids)).execute()
}

/** The session whose clicks an order may be credited for. */
export interface OrderSession {
  sessionId: string
  orderAt: string
}

/** A click window: its length, and the first instant within it. */
export interface ClickWindow {
  days: number
  since: string
}

/** A click with the click window of its affiliate's program. */
export interface ClickWithWindow extends StoredClick {
  days: number
  hasAffiliate: boolean
}

interface SessionRange {
  shopId: string
  sessionId: string
  latest: string
}

const clicksOfSession = (db: Reader, { shopId, sessionId }: SessionRange) =>
  sql`${selectClicks(db, 'journey_clicks_session')} and "shopId" = ${shopId} and "sessionId" = ${sessionId}`

/** The instant of an affiliate's click, as the expression that only the index by affiliate is ordered by. */
const affiliateClickTime = sql`("affiliateId" || "occurredAt")`

/** Equal instants are ordered by click id, as in the engine. */
const orderByTime = (way: 'asc' | 'desc') => sql`order by ${clickTime} ${sql.raw(way)}, "clickId" ${sql.raw(way)}`

const newestSessionClicks = prepared<SessionRange & { limit: number }>()((db, values) =>
  sql<ClickRow>`${clicksOfSession(db, values)} and ${clickTime} <= ${values.latest}
    ${orderByTime('desc')} limit ${values.limit}`.compile(db),
)

const firstClickAfter = prepared<SessionRange>()((db, values) =>
  sql<ClickRow>`${clicksOfSession(db, values)} and ${clickTime} > ${values.latest} ${orderByTime('asc')} limit 1`.compile(
    db,
  ),
)

/**
 * The newest clicks of a session up to an order. Without any, the first click after the order, so that the decision can
 * explain it.
 */
export async function findSessionClicks(
  db: Reader,
  shopId: string,
  { sessionId, orderAt }: OrderSession,
  limit: number,
): Promise<StoredClick[]> {
  const values = { shopId, sessionId, latest: latestClickFor(orderAt), limit }
  const rows = await newestSessionClicks(db, values)
  return (rows.length > 0 ? rows : await firstClickAfter(db, values)).map(toStoredClick)
}

const edgeClicks = (way: 'asc' | 'desc') =>
  prepared<SessionRange & { since: string; limit: number }>()((db, values) =>
    sql<ClickRow & { knownAffiliateId: string | null; days: number | null }>`
      select c.*, affiliates.id as "knownAffiliateId", programs."cookieDurationDays" as days from (
        ${clicksOfSession(db, values)} and ${clickTime} >= ${values.since} and ${clickTime} <= ${values.latest}
        ${orderByTime(way)} limit ${values.limit}
      ) c
      left join affiliates on affiliates."shopId" = ${values.shopId} and affiliates.id = c."affiliateId"
      left join programs on programs."shopId" = affiliates."shopId" and programs.id = affiliates."campaignId"`.compile(
      db,
    ),
  )
const edges = { first: edgeClicks('asc'), last: edgeClicks('desc') }

/** The first or the last clicks of a session since an instant, valid or not, the outermost first. */
export async function findEdgeClicks(
  db: Reader,
  shopId: string,
  { sessionId, orderAt, since }: OrderSession & { since: string },
  { edge, limit }: { edge: 'first' | 'last'; limit: number },
): Promise<ClickWithWindow[]> {
  const rows = await edges[edge](db, { shopId, sessionId, latest: latestClickFor(orderAt), since, limit })
  const clicks = rows.map(({ knownAffiliateId, days, ...row }) => ({
    ...toStoredClick(row),
    days: days ?? DEFAULT_CLICK_WINDOW_DAYS,
    hasAffiliate: knownAffiliateId !== null,
  }))
  return clicks.sort(edge === 'first' ? byTime : (a, b) => byTime(b, a))
}

/**
 * The first and the last valid click of each affiliate in a session, oldest first. Skips from affiliate to affiliate in an
 * index, so the cost does not depend on the number of clicks.
 */
export async function findEdgeClicksByAffiliate(
  db: Reader,
  shopId: string,
  { sessionId, orderAt }: OrderSession,
  windows: ClickWindow[],
): Promise<StoredClick[]> {
  const sessionClicks = sql`journey ${indexedBy(db, 'journey_clicks_session_affiliate')} where type = 'click'
    and "affiliateId" is not null and "shopId" = ${shopId} and "sessionId" = ${sessionId}`
  const values = sql.join(windows.map(({ days, since }) => sql`(cast(${days} as integer), cast(${since} as text))`))
  const edge = (way: 'asc' | 'desc') => sql`
    select (
      select id from ${sessionClicks} and "affiliateId" = affiliate_windows.id
        and ${affiliateClickTime} >= affiliate_windows.id || affiliate_windows.since and ${affiliateClickTime} <= affiliate_windows.id || ${latestClickFor(orderAt)}
      order by ${affiliateClickTime} ${sql.raw(way)}, "clickId" ${sql.raw(way)} limit 1
    ) from affiliate_windows`
  const { rows } = await sql<ClickRow>`
    with recursive windows(days, since) as (values ${values}),
    clicked(id) as (
      select min("affiliateId") from ${sessionClicks}
      union all
      select (select min("affiliateId") from ${sessionClicks} and "affiliateId" > clicked.id) from clicked where clicked.id is not null
    ),
    owners(id, days) as materialized (
      select clicked.id, (
        select coalesce(programs."cookieDurationDays", ${DEFAULT_CLICK_WINDOW_DAYS}) from affiliates
        left join programs on programs."shopId" = affiliates."shopId" and programs.id = affiliates."campaignId"
        where affiliates."shopId" = ${shopId} and affiliates.id = clicked.id
      ) from clicked
    ),
    affiliate_windows(id, since) as (select owners.id, windows.since from owners join windows on windows.days = owners.days),
    edges(id) as (${edge('asc')} union ${edge('desc')})
    select id, "clickId", "affiliateId", "occurredAt" from journey
    where "shopId" = ${shopId} and id in (select id from edges)`.execute(db)
  // Sorted here, because with `order by` a database may choose an index of all touches.
  return rows.map(toStoredClick).sort(byTime)
}

const byTime = (a: StoredClick, b: StoredClick): number =>
  compare(a.occurredAt, b.occurredAt) || compare(a.clickId, b.clickId)

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

export const journeyList = defineList(import.meta.url, 'journeyList', {
  read: listJourney,
  cost: () => rowsOf({ list: 'commissions' }),
})
