import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import { indexedBy } from '../db/index-hint.ts'
import type { JourneyRow } from '../db/tables.ts'
import { prepared, preparedInsert } from './prepared.ts'

export interface StoredClick {
  clickId: string
  affiliateId: string | null
  occurredAt: string
}

const CLOCK_TOLERANCE_MS = 300_000

/** Up to when a click may have occurred to count for an order. */
export const latestFor = (orderAt: string) => new Date(Date.parse(orderAt) + CLOCK_TOLERANCE_MS).toISOString()

export type ClickRow = Pick<JourneyRow, 'id' | 'clickId' | 'affiliateId' | 'occurredAt'>

/** Clicks, found by one of their indexes. Its condition stands in the query as it stands in the index. */
export const clicksBy = (db: Trx, index: string) =>
  sql`select id, "clickId", "affiliateId", "occurredAt" from journey ${indexedBy(db, index)} where type = 'click'`

/** When a click occurred, in the form that the indexes of clicks alone have an order for. */
export const time = sql`("occurredAt" || '')`

interface ClickKey {
  shopId: string
  clickId: string
}

const named = (db: Trx, { shopId, clickId }: ClickKey) =>
  sql`${clicksBy(db, 'journey_clicks_clickId')} and "affiliateId" is not null
    and "shopId" = ${shopId} and "clickId" = ${clickId}`

const newest = prepared<ClickKey>()((db, key) =>
  sql<ClickRow>`${named(db, key)} order by ${time} desc, id desc limit 1`.compile(db),
)

const newestUpTo = prepared<ClickKey & { latest: string }>()((db, key) =>
  sql<ClickRow>`${named(db, key)} and ${time} <= ${key.latest}
    order by ${time} desc, id desc limit 1`.compile(db),
)

const unnamed = prepared<ClickKey>()((db, { shopId, clickId }) =>
  sql<ClickRow>`${clicksBy(db, 'journey_clicks_unknown')} and "affiliateId" is null
    and "shopId" = ${shopId} and "clickId" = ${clickId} limit 1`.compile(db),
)

const byId = prepared<ClickKey>()((db, { shopId, clickId }) =>
  sql<ClickRow>`select id, "clickId", "affiliateId", "occurredAt" from journey
    where id = ${clickId} and "shopId" = ${shopId} and type = 'click'`.compile(db),
)

/**
 * The click with this click id, the caller's own or the id of the click itself. Of several, the newest that names an
 * affiliate and is not after the order: the same id may be clicked again later. A click after the order is returned
 * only when there is no other, so that the engine can say so.
 */
export async function findClick(
  db: Trx,
  shopId: string,
  clickId: string,
  orderAt: string,
): Promise<StoredClick | undefined> {
  const key = { shopId, clickId, latest: latestFor(orderAt) }
  for (const find of [newestUpTo, newest, byId, unnamed]) {
    const [row] = await find(db, key)
    if (row) return toStoredClick(row)
  }
  return undefined
}

/** The affiliate that a click id belongs to; undefined as long as no click with this id has named one. */
export async function findClickOwner(db: Trx, shopId: string, clickId: string): Promise<string | undefined> {
  const key = { shopId, clickId }
  const [row] = await newest(db, key)
  return (row ?? (await byId(db, key))[0])?.affiliateId ?? undefined
}

export const toStoredClick = (row: ClickRow): StoredClick => ({
  clickId: row.clickId ?? row.id,
  affiliateId: row.affiliateId,
  occurredAt: row.occurredAt,
})

const insertOne = preparedInsert('journey')

export const insertJourneyEntry = (trx: Trx, shopId: string, row: Omit<JourneyRow, 'shopId'>): Promise<void> =>
  insertOne(trx, { shopId, ...row })

const deleteOrder = prepared<{ shopId: string; orderId: string | null }>()((trx, { shopId, orderId }) =>
  trx.deleteFrom('journey').where('shopId', '=', shopId).where('orderId', '=', orderId).compile(),
)

/** An order stands in the journey once; a later report of it that was credited replaces the earlier entry. */
export async function replaceJourneyOrder(trx: Trx, shopId: string, row: Omit<JourneyRow, 'shopId'>): Promise<void> {
  await deleteOrder(trx, { shopId, orderId: row.orderId })
  await insertJourneyEntry(trx, shopId, row)
}

/** Deletes some entries of all shops that happened before an instant. Answers whether there may be more. */
export async function deleteJourneyBefore(trx: Trx, before: string, limit = 500): Promise<boolean> {
  const rows = await trx
    .selectFrom('journey')
    .select('id')
    .where('occurredAt', '<', before)
    // From the end of the index where they are: PostgreSQL would rather read the table from its beginning.
    .orderBy('occurredAt')
    .limit(limit)
    .execute()
  if (rows.length === 0) return false
  await trx
    .deleteFrom('journey')
    .where(
      'id',
      'in',
      rows.map((row) => row.id),
    )
    .execute()
  return rows.length === limit
}
