import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import { indexedBy } from '../db/index-hint.ts'
import { DEFAULT_COOKIE_DAYS } from '../engine/link-evidence.ts'
import { type ClickRow, clicksBy, latestFor, type StoredClick, time, toStoredClick } from './journey-clicks.ts'
import { prepared } from './prepared.ts'

/** The session whose clicks an order may be credited for. */
export interface Visit {
  sessionId: string
  orderAt: string
}

/** From when on a click counts for the affiliates whose programs have this window. */
export interface Window {
  days: number
  since: string
}

/** A click with the window of its affiliate's program, and whether there is such an affiliate. */
export interface WindowedClick extends StoredClick {
  days: number
  isNamed: boolean
}

interface Stretch {
  shopId: string
  sessionId: string
  latest: string
}

const ofSession = (db: Trx, { shopId, sessionId }: Stretch) =>
  sql`${clicksBy(db, 'journey_clicks_session')} and "shopId" = ${shopId} and "sessionId" = ${sessionId}`

/** When a click of an affiliate occurred, in the form that only the index by affiliate has an order for. */
const timeOfAffiliate = sql`("affiliateId" || "occurredAt")`

/** Equal times go by click id, as in the engine. */
const inOrder = (way: 'asc' | 'desc') => sql`order by ${time} ${sql.raw(way)}, "clickId" ${sql.raw(way)}`

const newestInSession = prepared<Stretch & { limit: number }>()((db, values) =>
  sql<ClickRow>`${ofSession(db, values)} and ${time} <= ${values.latest}
    ${inOrder('desc')} limit ${values.limit}`.compile(db),
)

const firstAfter = prepared<Stretch>()((db, values) =>
  sql<ClickRow>`${ofSession(db, values)} and ${time} > ${values.latest} ${inOrder('asc')} limit 1`.compile(db),
)

/**
 * The newest clicks of a session up to an order. Without any, the first click after the order, so that the engine can
 * say so.
 */
export async function findSessionClicks(
  db: Trx,
  shopId: string,
  { sessionId, orderAt }: Visit,
  limit: number,
): Promise<StoredClick[]> {
  const values = { shopId, sessionId, latest: latestFor(orderAt), limit }
  const rows = await newestInSession(db, values)
  return (rows.length > 0 ? rows : await firstAfter(db, values)).map(toStoredClick)
}

const pageFrom = (way: 'asc' | 'desc') =>
  prepared<Stretch & { since: string; limit: number }>()((db, values) =>
    sql<ClickRow & { named: string | null; days: number | null }>`
      select c.*, affiliates.id as named, programs."cookieDurationDays" as days from (
        ${ofSession(db, values)} and ${time} >= ${values.since} and ${time} <= ${values.latest}
        ${inOrder(way)} limit ${values.limit}
      ) c
      left join affiliates on affiliates.id = c."affiliateId"
      left join programs on programs.id = affiliates."campaignId"`.compile(db),
  )
const pages = { first: pageFrom('asc'), last: pageFrom('desc') }

/** The first or the last clicks of a session since an instant, whether they count or not, the outermost first. */
export async function findEdgeClicks(
  db: Trx,
  shopId: string,
  { sessionId, orderAt, since }: Visit & { since: string },
  { edge, limit }: { edge: 'first' | 'last'; limit: number },
): Promise<WindowedClick[]> {
  const rows = await pages[edge](db, { shopId, sessionId, latest: latestFor(orderAt), since, limit })
  const clicks = rows.map(({ named, days, ...row }) => ({
    ...toStoredClick(row),
    days: days ?? DEFAULT_COOKIE_DAYS,
    isNamed: named !== null,
  }))
  return clicks.sort(edge === 'first' ? byTime : (a, b) => byTime(b, a))
}

/**
 * The first and the last click that count of each affiliate that a session clicked on, oldest first. Goes from affiliate
 * to affiliate in an index, however many clicks each of them has.
 */
export async function findAffiliateEdges(
  db: Trx,
  shopId: string,
  { sessionId, orderAt }: Visit,
  windows: Window[],
): Promise<StoredClick[]> {
  const clicked = sql`journey ${indexedBy(db, 'journey_clicks_session_affiliate')} where type = 'click'
    and "affiliateId" is not null and "shopId" = ${shopId} and "sessionId" = ${sessionId}`
  const values = sql.join(windows.map(({ days, since }) => sql`(cast(${days} as integer), cast(${since} as text))`))
  const edge = (way: 'asc' | 'desc') => sql`
    select (
      select id from ${clicked} and "affiliateId" = people.id
        and ${timeOfAffiliate} >= people.id || people.since and ${timeOfAffiliate} <= people.id || ${latestFor(orderAt)}
      order by ${timeOfAffiliate} ${sql.raw(way)}, "clickId" ${sql.raw(way)} limit 1
    ) from people`
  const { rows } = await sql<ClickRow>`
    with recursive windows(days, since) as (values ${values}),
    named(id) as (
      select min("affiliateId") from ${clicked}
      union all
      select (select min("affiliateId") from ${clicked} and "affiliateId" > named.id) from named where named.id is not null
    ),
    owners(id, days) as materialized (
      select named.id, (
        select coalesce(programs."cookieDurationDays", ${DEFAULT_COOKIE_DAYS}) from affiliates
        left join programs on programs.id = affiliates."campaignId" where affiliates.id = named.id
      ) from named
    ),
    people(id, since) as (select owners.id, windows.since from owners join windows on windows.days = owners.days),
    edges(id) as (${edge('asc')} union ${edge('desc')})
    select id, "clickId", "affiliateId", "occurredAt" from journey where id in (select id from edges)`.execute(db)
  // Sorted here: a database that is asked for an order may look for it in an index of all shops' touches.
  return rows.map(toStoredClick).sort(byTime)
}

const byTime = (a: StoredClick, b: StoredClick): number =>
  compare(a.occurredAt, b.occurredAt) || compare(a.clickId, b.clickId)

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b))
