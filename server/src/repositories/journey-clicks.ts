import type { Trx } from '../db/database.ts'
import type { JourneyRow } from '../db/tables.ts'
import { prepared, preparedInsert } from './prepared.ts'

export interface StoredClick {
  clickId: string
  affiliateId: string | null
  occurredAt: string
}

const CLOCK_TOLERANCE_MS = 300_000

const clicks = (db: Trx, shopId: string) =>
  db
    .selectFrom('journey')
    .select(['id', 'clickId', 'affiliateId', 'occurredAt'])
    .where('shopId', '=', shopId)
    .where('type', '=', 'click')

export const latestFor = (orderAt: string) => new Date(Date.parse(orderAt) + CLOCK_TOLERANCE_MS).toISOString()

/**
 * The newest click with this click id, the caller's own or ours. For an order, the newest that is not after it: the
 * same id may be clicked again later. One that is after it is answered when there is no other, to be refused by name.
 */
export async function findClick(
  db: Trx,
  shopId: string,
  clickId: string,
  orderAt?: string,
): Promise<StoredClick | undefined> {
  const newest = clicks(db, shopId)
    .where('clickId', '=', clickId)
    .orderBy('occurredAt', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
  const row =
    (orderAt && (await newest.where('occurredAt', '<=', latestFor(orderAt)).executeTakeFirst())) ||
    (await newest.executeTakeFirst()) ||
    (await clicks(db, shopId).where('id', '=', clickId).executeTakeFirst())
  return row && toStoredClick(row)
}

/** The newest clicks of a session up to an order, at most so many, else the first one after it, to be refused by name. */
export async function findSessionClicks(
  db: Trx,
  shopId: string,
  { sessionId, orderAt }: Visit,
  limit: number,
): Promise<StoredClick[]> {
  const ofSession = clicks(db, shopId).where('sessionId', '=', sessionId)
  const before = await ofSession
    .where('occurredAt', '<=', latestFor(orderAt))
    .orderBy('occurredAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  if (before.length > 0) return before.map(toStoredClick)
  return (await ofSession.orderBy('occurredAt').orderBy('id').limit(1).execute()).map(toStoredClick)
}

/** The session whose clicks an order may be credited for. */
export interface Visit {
  sessionId: string
  orderAt: string
}

export const toStoredClick = (row: Pick<JourneyRow, 'id' | 'clickId' | 'affiliateId' | 'occurredAt'>): StoredClick => ({
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
  const rows = await trx.selectFrom('journey').select('id').where('occurredAt', '<', before).limit(limit).execute()
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
