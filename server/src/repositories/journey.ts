import type { Trx } from '../db/database.ts'
import type { JourneyRow } from '../db/tables.ts'
import { unindexed } from './of-shop.ts'

interface JourneyFilter {
  sessionId?: string
  affiliateId?: string
  /** As {@link JourneyRow.customerEmailKey} holds it; one of these. */
  customerEmailKeys?: string[]
  /** Instants, both inclusive, of `occurredAt`. */
  from: string
  to?: string
  limit: number
}

/** A session is usually shorter than what a customer did, and that shorter than what came over an affiliate. */
function matching(db: Trx, shopId: string, { sessionId, affiliateId, customerEmailKeys, from, to }: JourneyFilter) {
  let list = db.selectFrom('journey').where('shopId', '=', shopId).where('occurredAt', '>=', from)
  if (to) list = list.where('occurredAt', '<=', to)
  if (sessionId !== undefined) list = list.where('sessionId', '=', sessionId)
  const byEmail = sessionId === undefined
  if (customerEmailKeys)
    list = list.where(byEmail ? 'customerEmailKey' : unindexed(db, 'customerEmailKey'), 'in', customerEmailKeys)
  const byAffiliate = byEmail && !customerEmailKeys
  if (affiliateId !== undefined)
    list = list.where(byAffiliate ? 'affiliateId' : unindexed(db, 'affiliateId'), '=', affiliateId)
  return list
}

/** The latest entries that match all of the filter, oldest first, and how many match. */
export async function listJourney(db: Trx, shopId: string, query: JourneyFilter) {
  const list = matching(db, shopId, query)
  const { total } = await list.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const latest: JourneyRow[] = await list
    .selectAll()
    .orderBy('occurredAt', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit)
    .execute()
  return { rows: latest.reverse(), total }
}
