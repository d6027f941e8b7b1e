import { exact } from '../engine/money.ts'
import type { RefundLine } from '../engine/refund-goods.ts'
import type { components } from '../http/schema.d.ts'
import { firstCharacters } from './conversion-order.ts'
import type { WantedRefund } from './refunds.ts'
import { minorUnits } from './store-money.ts'
import { evidence, storeId } from './store-order.ts'

type StoreRefund = components['schemas']['StoreRefund']

const MAX_REASON = 1000

/**
 * A store's refund as the engine reads it. Returned pieces are taken at what they were sold for; money beside them, at its
 * amount: the store writes it as a discrepancy below zero. Shipping is not goods.
 */
export function toStoreRefund(body: StoreRefund, currency: string): WantedRefund {
  const items = body.refund_line_items.filter(({ quantity }) => (quantity ?? 0) > 0)
  const lineItems = items.map(toRefundLine)
  const beside = (body.order_adjustments ?? [])
    .filter(({ kind }) => kind === 'refund_discrepancy')
    .map(({ amount }) => -(minorUnits(amount, currency) ?? 0n))
    .reduce((sum, cents) => sum + cents, 0n)
  const worth = items
    .map(({ subtotal }) => minorUnits(subtotal, currency) ?? 0n)
    .reduce((sum, cents) => sum + cents, 0n)
  const isPlain = beside === 0n && lineItems.length > 0 && lineItems.every(isNamed)
  return {
    refundId: storeId('id', body.id),
    amountCents: isPlain ? null : atMostLargest(worth + beside),
    lineItems: lineItems.filter(isNamed),
    reason: reasonOf(body),
    isFact: true,
  }
}

/** Every order is worth less than the largest exact number, and a refund takes no more than is left. */
function atMostLargest(cents: bigint): number {
  if (cents <= 0n) return 0
  return exact(cents) ?? Number.MAX_SAFE_INTEGER
}

/** What has to be kept of a refund to read it again, and nothing of who was refunded. */
export const essenceOf = ({
  id,
  order_id,
  note,
  refund_line_items: items,
  order_adjustments: adjustments,
}: StoreRefund): StoreRefund => ({
  id,
  order_id,
  note: reasonOf({ note }),
  refund_line_items: items.map(({ quantity, subtotal, line_item: item }) => ({
    quantity,
    subtotal,
    line_item: { product_id: item?.product_id, variant_id: item?.variant_id },
  })),
  order_adjustments: adjustments?.map(({ kind, amount }) => ({ kind, amount })),
})

const reasonOf = ({ note }: Pick<StoreRefund, 'note'>): string | null =>
  firstCharacters(note?.trim() ?? '', MAX_REASON) || null

type StoreRefundLine = StoreRefund['refund_line_items'][number]

const toRefundLine = ({ quantity, line_item: item }: StoreRefundLine): RefundLine => ({
  variantId: evidence(item?.variant_id),
  productId: evidence(item?.product_id),
  quantity: quantity ?? 0,
})

/** Goods that were typed in at the till have no id, so only their money tells. */
const isNamed = ({ variantId, productId }: RefundLine) => Boolean(variantId || productId)
