import type { Trx } from '../db/database.ts'
import type { JourneyRow } from '../db/tables.ts'

export interface StoredClick {
  clickId: string
  affiliateId: string | null
  occurredAt: string
}

/** A session with more clicks than this is no shopper. */
const MAX_SESSION_CLICKS = 100
const CLOCK_TOLERANCE_MS = 300_000

const clicks = (db: Trx, shopId: string) =>
  db
    .selectFrom('journey')
    .select(['id', 'clickId', 'affiliateId', 'occurredAt'])
    .where('shopId', '=', shopId)
    .where('type', '=', 'click')

/** The newest click with this click id, the caller's own or ours. */
export async function findClick(db: Trx, shopId: string, clickId: string): Promise<StoredClick | undefined> {
  const newest = clicks(db, shopId).orderBy('occurredAt', 'desc').orderBy('id', 'desc')
  const row =
    (await newest.where('clickId', '=', clickId).executeTakeFirst()) ??
    (await clicks(db, shopId).where('id', '=', clickId).executeTakeFirst())
  return row && toStoredClick(row)
}

/** The newest clicks of a session up to an order. */
export async function findSessionClicks(
  db: Trx,
  shopId: string,
  sessionId: string,
  orderAt: string,
): Promise<StoredClick[]> {
  const latest = new Date(Date.parse(orderAt) + CLOCK_TOLERANCE_MS).toISOString()
  const rows = await clicks(db, shopId)
    .where('sessionId', '=', sessionId)
    .where('occurredAt', '<=', latest)
    .orderBy('occurredAt', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_SESSION_CLICKS)
    .execute()
  return rows.map(toStoredClick)
}

const toStoredClick = (row: Pick<JourneyRow, 'id' | 'clickId' | 'affiliateId' | 'occurredAt'>): StoredClick => ({
  clickId: row.clickId ?? row.id,
  affiliateId: row.affiliateId,
  occurredAt: row.occurredAt,
})

export async function insertJourneyEntry(trx: Trx, shopId: string, row: Omit<JourneyRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('journey')
    .values({ shopId, ...row })
    .execute()
}

/** An order stands in the journey once; a later report of it that was credited replaces the earlier entry. */
export async function replaceJourneyOrder(trx: Trx, shopId: string, row: Omit<JourneyRow, 'shopId'>): Promise<void> {
  await trx.deleteFrom('journey').where('shopId', '=', shopId).where('orderId', '=', row.orderId).execute()
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
