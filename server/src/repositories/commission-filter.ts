import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'

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

export function matching(db: Trx, values: Matching) {
  const { status, affiliateId, programId, payoutBatchId, orderId, otherOrderId, from, to, before } = values
  let list = db.selectFrom('commissions').where('shopId', '=', values.shopId)
  if (status) list = list.where('orderStatus', '=', status)
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  if (programId) list = list.where('programId', '=', programId)
  if (payoutBatchId) list = list.where('payoutBatchId', '=', payoutBatchId)
  if (orderId) list = list.where('orderId', 'in', otherOrderId ? [orderId, otherOrderId] : [orderId])
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  return before ? list.where('happenedAt', '<', before) : list
}
