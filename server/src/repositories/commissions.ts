import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import { type PageQuery, pageOf } from './page.ts'

interface CommissionFilter extends PageQuery {
  status?: CommissionRow['orderStatus']
  affiliateId?: string
  programId?: string
  payoutBatchId?: string
  externalOrderId?: string
  /** Instants, both inclusive, of `happenedAt`. */
  from?: string
  to?: string
}

const commissions = (db: Trx, shopId: string) => db.selectFrom('commissions').selectAll().where('shopId', '=', shopId)

export const findCommission = (db: Trx, shopId: string, id: string): Promise<CommissionRow | undefined> =>
  commissions(db, shopId).where('id', '=', id).executeTakeFirst()

/** By the stored order id, such as `api:1001`. */
export const findCommissionByOrder = (db: Trx, shopId: string, orderId: string): Promise<CommissionRow | undefined> =>
  commissions(db, shopId).where('orderId', '=', orderId).executeTakeFirst()

export async function listCommissions(db: Trx, shopId: string, query: CommissionFilter) {
  let list = commissions(db, shopId).orderBy('happenedAt', 'desc').orderBy('id', 'desc')
  if (query.status) list = list.where('orderStatus', '=', query.status)
  if (query.affiliateId) list = list.where('affiliateId', '=', query.affiliateId)
  if (query.programId) list = list.where('programId', '=', query.programId)
  if (query.payoutBatchId) list = list.where('payoutBatchId', '=', query.payoutBatchId)
  if (query.from) list = list.where('happenedAt', '>=', query.from)
  if (query.to) list = list.where('happenedAt', '<=', query.to)
  if (query.externalOrderId) {
    // The stored id wins: only when no order has it is the text read as the caller's own id.
    const stored = await findCommissionByOrder(db, shopId, query.externalOrderId)
    list = list.where(stored ? 'orderId' : 'externalOrderId', '=', query.externalOrderId)
  }
  return pageOf(list, query)
}

export async function insertCommission(trx: Trx, shopId: string, row: Omit<CommissionRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('commissions')
    .values({ shopId, ...row })
    .execute()
}
