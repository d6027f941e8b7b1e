import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import { unindexed } from './of-shop.ts'

export interface CommissionFilter {
  status?: CommissionRow['orderStatus']
  affiliateId?: string
  programId?: string
  payoutBatchId?: string
  /** The stored order id, such as `api:1001`, or one of two. */
  orderId?: string
  otherOrderId?: string
  /** Instants, both inclusive, of `happenedAt`. */
  from?: string
  to?: string
}

/** A filter of one shop that may end before an instant. */
export interface Matching extends CommissionFilter {
  shopId: string
  before?: string
}

/** A column whose index a list may be read by. */
export type ReadBy = 'orderId' | 'payoutBatchId' | 'affiliateId' | 'orderStatus' | 'programId'

/**
 * Commissions that match all of a filter. `readBy` is the filter whose index finds them; the others are checked row
 * by row.
 */
export function matching(db: Trx, values: Matching, readBy: ReadBy | undefined = narrowestByKind(values)) {
  const { status, affiliateId, programId, payoutBatchId, orderId, otherOrderId, from, to, before } = values
  let list = db.selectFrom('commissions').where('shopId', '=', values.shopId)
  const equal = (column: ReadBy, value: string | undefined) => {
    if (!value) return
    list = list.where(column === readBy ? column : unindexed(db, column), '=', value)
  }
  if (orderId) list = list.where('orderId', 'in', otherOrderId ? [orderId, otherOrderId] : [orderId])
  equal('payoutBatchId', payoutBatchId)
  equal('affiliateId', affiliateId)
  equal('orderStatus', status)
  equal('programId', programId)
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  return before ? list.where('happenedAt', '<', before) : list
}

/** The filter that usually leaves the fewest rows. */
export function narrowestByKind(filter: CommissionFilter): ReadBy | undefined {
  if (filter.orderId) return 'orderId'
  if (filter.payoutBatchId) return 'payoutBatchId'
  if (filter.affiliateId) return 'affiliateId'
  if (filter.status) return 'orderStatus'
  return filter.programId ? 'programId' : undefined
}
