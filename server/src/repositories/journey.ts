import type { Trx } from '../db/database.ts'
import type { JourneyRow } from '../db/tables.ts'

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

/** The latest entries that match all of the filter, oldest first, and how many match. */
export async function listJourney(db: Trx, shopId: string, query: JourneyFilter) {
  let list = db.selectFrom('journey').where('shopId', '=', shopId).where('occurredAt', '>=', query.from)
  if (query.to) list = list.where('occurredAt', '<=', query.to)
  if (query.sessionId !== undefined) list = list.where('sessionId', '=', query.sessionId)
  if (query.affiliateId !== undefined) list = list.where('affiliateId', '=', query.affiliateId)
  if (query.customerEmailKeys) list = list.where('customerEmailKey', 'in', query.customerEmailKeys)
  const { total } = await list.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const latest: JourneyRow[] = await list
    .selectAll()
    .orderBy('occurredAt', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit)
    .execute()
  return { rows: latest.reverse(), total }
}
