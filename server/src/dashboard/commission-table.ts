import type { components } from '../contract/schema.d.ts'
import type { Context } from '../core/context.ts'
import { affiliateNames } from '../domains/affiliates/affiliates.ts'
import { orderNameOf, orderNames, refundedCents } from '../domains/commissions/search.ts'
import { earned, goods, money, time } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import type { PageRequest } from './route.ts'
import { badge, nameOf } from './status.ts'
import { type Cell, type Column, inCard, nameColumn, numberColumn } from './table.ts'
import { urlWithQuery } from './url.ts'

type Commission = components['schemas']['Commission']

export const COMMISSION_COLUMNS: Column[] = [
  'Order',
  inCard('bare', nameColumn('Affiliate')),
  inCard('bare', 'Date'),
  inCard('inline', numberColumn('Goods')),
  inCard('lead', numberColumn('Commission')),
  inCard('bare', 'Status'),
]

/** The names that rows of commissions show: of affiliates by id, and of adjusted orders by the id of their commission. Goods that were refunded, in cents by that id, too. */
export interface CommissionNames {
  affiliates: Map<string, string>
  orders: Map<string, string>
  refunded: Map<string, number>
}

const ADJUSTMENT = /^adj:([^:]+):(.*)$/s

export async function namesOf({ ctx }: PageRequest, list: Commission[]): Promise<CommissionNames> {
  const [affiliates, orders, refunded] = await Promise.all([
    affiliateNames(
      ctx,
      list.map(({ affiliateId }) => affiliateId),
    ),
    adjustedOrders(ctx, list),
    refundedCents(
      ctx,
      list.map(({ id }) => id),
    ),
  ])
  return { affiliates, orders, refunded }
}

/** The names of the orders that adjustments in a list are about, by the id of their commission. */
export const adjustedOrders = (ctx: Context, list: Commission[]): Promise<Map<string, string>> =>
  orderNames(
    ctx,
    list.flatMap(({ orderId }) => ADJUSTMENT.exec(orderId)?.[1] ?? []),
  )

/** Why an adjustment was recorded, from its order id. */
function reasonOf(text: string): string {
  if (text === 'reversal') return 'Reversal'
  if (text === 'carry') return 'Debt carried forward'
  return text === 'returned' ? 'Returned payment' : `Refund ${text}`
}

/** The order of a commission as the merchant knows it; for an adjustment the adjusted order, and why it was adjusted. */
export function orderOf(
  one: Commission,
  { orders }: Pick<CommissionNames, 'orders'>,
): { order: string | undefined; reason?: string } {
  if (one.trackingMethod !== 'ADJUSTMENT') return { order: orderNameOf(one) }
  const [, commissionId = '', reason = ''] = ADJUSTMENT.exec(one.orderId) ?? []
  return { order: orders.get(commissionId), reason: reasonOf(reason) }
}

/** The order of a commission with a link to its explanation; for an adjustment its reason and the adjusted order. */
export function orderCell(one: Commission, names: CommissionNames): Html {
  const { order, reason } = orderOf(one, names)
  if (reason === undefined)
    return html`<a href="${urlWithQuery('/admin/orders', { id: one.orderId })}">${isolated(order ?? '')}</a>`
  return html`${isolated(reason)}<small>${order ? html`of order ${isolated(order)}` : 'Adjustment'}</small>`
}

export function affiliateCell({ affiliateId }: Pick<Commission, 'affiliateId'>, names: Map<string, string>): Html {
  return html`<a href="/admin/affiliates/${affiliateId}">${isolated(names.get(affiliateId) || affiliateId)}</a>`
}

const goodsCell = (one: Commission, { refunded }: CommissionNames): Html =>
  goods(Math.max(0, one.orderSubtotalCents - one.orderDiscountCents), refunded.get(one.id) ?? 0, one.orderCurrency)

export const commissionCells = (one: Commission, names: CommissionNames, zone: string): Cell[] => [
  orderCell(one, names),
  affiliateCell(one, names.affiliates),
  time(one.happenedAt, '–', zone),
  one.trackingMethod === 'ADJUSTMENT' ? '–' : goodsCell(one, names),
  // A negative adjustment takes a paid commission back, in its own row.
  one.orderStatus === 'REVERSED' && one.payoutBatchId !== null
    ? money(one.commissionAmountCents, one.currency)
    : earned(one.commissionAmountCents, one.currency, one.orderStatus),
  html`${badge(one.orderStatus)}${one.restrictionReasonCode ? html`<small>${nameOf(one.restrictionReasonCode)}</small>` : ''}`,
]
