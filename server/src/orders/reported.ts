import { findCommissionsById } from '../commissions/queries.ts'
import { invalid } from '../contract/errors.ts'
import type { Context } from '../core/context.ts'
import { goodsOf } from '../engine/commission.ts'
import type { Decision } from '../engine/facts.ts'
import { parseFacts } from '../engine/stored-facts.ts'
import { findOrder, listOrders } from './queries.ts'

/** A reported order in a list. */
export interface ReportedOrder {
  orderId: string
  /** As the merchant knows it. */
  name: string
  orderAt: string
  /** Goods after discount, in the currency of the order. */
  goodsCents: number
  orderCurrency: string
  /** The status of its commission; without one, why there is none. */
  outcome: string
  affiliateId: string | null
  /** Current amount, in its own currency. */
  commission: { cents: number; currency: string } | null
}

/**
 * Lists reported orders, newest first, including those without a commission.
 *
 * @param after the stored id of the last order of the previous page
 * @throws ApiError 400 `invalid_parameter` for an unknown one.
 */
export async function listReported(
  { db, shop }: Context,
  after: string | undefined,
  limit: number,
): Promise<{ data: ReportedOrder[]; next: string | undefined }> {
  const last = after === undefined ? undefined : await findOrder(db.read, shop.id, after)
  if (after !== undefined && !last) throw invalid('invalid_parameter', 'after must be the id of an order of this list.')
  const rows = await listOrders(db.read, shop.id, last ? { after: last } : {}, limit + 1)
  const page = rows.slice(0, limit)
  const ids = page.flatMap(({ commissionId }) => commissionId ?? [])
  const commissions = new Map((await findCommissionsById(db.read, shop.id, ids)).map((row) => [row.id, row]))
  const data = page.map((row): ReportedOrder => {
    const { order } = parseFacts(row.facts)
    const decision: Decision = JSON.parse(row.decision)
    const own = row.commissionId === null ? undefined : commissions.get(row.commissionId)
    return {
      orderId: row.orderId,
      name: own?.orderName || order.externalOrderId,
      orderAt: row.orderAt,
      goodsCents: goodsOf(order).base,
      orderCurrency: order.currency,
      outcome: own?.orderStatus ?? (decision.attribution.affiliateId === null ? 'NOBODY' : 'RESTRICTED'),
      affiliateId: decision.attribution.affiliateId,
      commission: own ? { cents: own.commissionAmountCents, currency: own.currency } : null,
    }
  })
  return { data, next: rows.length > limit ? page.at(-1)?.orderId : undefined }
}
