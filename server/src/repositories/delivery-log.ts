import type { Trx } from '../db/database.ts'
import type { DeliveryRow } from '../db/tables.ts'
import { type PageQuery, pageOf } from './page.ts'
import { countRows } from './row-counts.ts'

interface DeliveryFilter extends PageQuery {
  subscriptionId?: string
  event?: string
  status?: DeliveryRow['status']
}

/** A delivery with the name of its event. */
export type LoggedDelivery = DeliveryRow & { event: string }

const deliveries = (db: Trx, shopId: string) =>
  db
    .selectFrom('deliveries')
    .innerJoin('webhookEvents', 'webhookEvents.id', 'deliveries.eventId')
    .selectAll('deliveries')
    .select('webhookEvents.event')
    .where('deliveries.shopId', '=', shopId)

/** A filtered list is counted row by row. */
export const isFiltered = ({ subscriptionId, event, status }: DeliveryFilter): boolean =>
  Boolean(subscriptionId || event || status)

/** Newest first. */
export async function listDeliveries(db: Trx, shopId: string, query: DeliveryFilter) {
  let list = deliveries(db, shopId).orderBy('deliveries.id', 'desc')
  if (query.subscriptionId) list = list.where('deliveries.subscriptionId', '=', query.subscriptionId)
  if (query.event) list = list.where('webhookEvents.event', '=', query.event)
  if (query.status) list = list.where('deliveries.status', '=', query.status)
  // Counting them one by one needs their events only where those are asked for.
  return pageOf(list, query, query.event ? {} : { total: await countDeliveries(db, shopId, query) })
}

async function countDeliveries(db: Trx, shopId: string, query: DeliveryFilter): Promise<number> {
  if (!query.subscriptionId && !query.status) return countRows(db, shopId, { list: 'deliveries' })
  let list = db.selectFrom('deliveries').where('shopId', '=', shopId)
  if (query.subscriptionId) list = list.where('subscriptionId', '=', query.subscriptionId)
  if (query.status) list = list.where('status', '=', query.status)
  const { total } = await list.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return total
}

export const findDelivery = (db: Trx, shopId: string, id: string): Promise<LoggedDelivery | undefined> =>
  deliveries(db, shopId).where('deliveries.id', '=', id).executeTakeFirst()
