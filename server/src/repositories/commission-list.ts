import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import { storedOrderIds } from '../engine/order-id.ts'
import { type CommissionFilter, type Matching, matching, type ReadBy } from './commission-filter.ts'
import { countCommissions, narrowest, placeOfPage } from './commission-totals.ts'
import { findCommissionByOrder } from './commissions.ts'
import { type Page, type PageQuery, toPage } from './page.ts'
import { behind } from './page-place.ts'
import { shaped } from './prepared.ts'

/** A filter with where its page begins. */
interface Wanted extends Matching {
  afterAt?: string
  afterId?: string
  limit: number
  offset: number
}

/** A filter as callers give it. */
type Given = Omit<CommissionFilter, 'orderId' | 'otherOrderId'> & {
  /** The caller's own order id or the stored one. */
  externalOrderId?: string
}

/** What the list shows, in the order of the document: rows that need no copying on their way out. */
const SHOWN = [
  'id',
  'affiliateId',
  'programId',
  'externalOrderId',
  'orderId',
  'orderName',
  'currency',
  'orderCurrency',
  'commissionType',
  'commissionBaseCents',
  'commissionRateBps',
  'commissionAmountCents',
  'taxWithheldCents',
  'orderSubtotalCents',
  'orderDiscountCents',
  'orderShippingCents',
  'orderTaxCents',
  'trackingMethod',
  'attributionMethod',
  'attributionReasonCode',
  'restrictionReasonCode',
  'orderStatus',
  'payoutBatchId',
  'happenedAt',
  'paidAt',
  'createdAt',
  'updatedAt',
] as const satisfies (keyof CommissionRow)[]

const selectBy = (readBy: ReadBy | undefined) =>
  shaped<Wanted>()((db, values) => {
    const { afterAt, afterId, limit, offset } = values
    const list = matching(db, values, readBy).select(SHOWN)
    const rest = afterAt && afterId ? list.where(behind('commissions', { at: afterAt, id: afterId })) : list
    return rest.orderBy('happenedAt', 'desc').orderBy('id', 'desc').limit(limit).offset(offset).compile()
  })

const selects = {
  all: selectBy(undefined),
  orderId: selectBy('orderId'),
  payoutBatchId: selectBy('payoutBatchId'),
  affiliateId: selectBy('affiliateId'),
  orderStatus: selectBy('orderStatus'),
  programId: selectBy('programId'),
}

/** Commissions by `happenedAt`, newest first. `externalOrderId` may be the stored id too. */
export async function listCommissions(
  db: Trx,
  shopId: string,
  { page, limit, start, ...given }: Given & PageQuery,
): Promise<Page<Pick<CommissionRow, (typeof SHOWN)[number]>>> {
  const filter = await readFilter(db, shopId, given)
  const total = await countCommissions(db, shopId, filter)
  const offset = (page - 1) * limit
  if (total <= offset) return toPage([], { page, limit }, total)
  const place = start ? { afterAt: start.at, afterId: start.id, offset } : await placeOfPage(db, shopId, filter, offset)
  const select = selects[(await narrowest(db, shopId, filter)) ?? 'all']
  return toPage(await select(db, { ...filter, shopId, limit, ...place }), { page, limit }, total)
}

/** An empty text is no filter. */
async function readFilter(db: Trx, shopId: string, given: Given): Promise<CommissionFilter> {
  const { status, from, to, externalOrderId } = given
  const filter: CommissionFilter = { status, from, to }
  if (given.affiliateId) filter.affiliateId = given.affiliateId
  if (given.programId) filter.programId = given.programId
  if (given.payoutBatchId) filter.payoutBatchId = given.payoutBatchId
  return externalOrderId ? { ...filter, ...(await orderFilter(db, shopId, externalOrderId)) } : filter
}

/** The stored id wins: only when no order has it is the text read as the caller's own id, of either source. */
async function orderFilter(db: Trx, shopId: string, text: string): Promise<CommissionFilter> {
  const { exact, bySource } = storedOrderIds(text)
  for (const orderId of exact) if (await findCommissionByOrder(db, shopId, orderId)) return { orderId }
  const [orderId, otherOrderId] = bySource
  return { orderId, otherOrderId }
}
