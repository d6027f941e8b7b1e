import type { Trx } from '../db/database.ts'
import type { OrderRow } from '../db/tables.ts'

export interface HistoryFilter {
  /** Instants, both inclusive, of `orderAt`. */
  from?: string
  to?: string
  /** The last order of the page before. */
  after?: Pick<OrderRow, 'orderAt' | 'orderId'>
}

/** Reported orders, newest first. */
export function listOrders(db: Trx, shopId: string, filter: HistoryFilter, limit: number): Promise<OrderRow[]> {
  const { from, to, after } = filter
  let list = db.selectFrom('orders').selectAll().where('shopId', '=', shopId)
  if (from) list = list.where('orderAt', '>=', from)
  if (to) list = list.where('orderAt', '<=', to)
  if (after) {
    // The first condition alone finds the place in the index; the second drops the few that were there before.
    list = list
      .where('orderAt', '<=', after.orderAt)
      .where((eb) => eb.or([eb('orderAt', '<', after.orderAt), eb('orderId', '<', after.orderId)]))
  }
  return list.orderBy('orderAt', 'desc').orderBy('orderId', 'desc').limit(limit).execute()
}
