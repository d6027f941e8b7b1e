import type { RefundRow } from '../db/tables-owner.ts'
import type { Decision, Facts, RateGroup } from '../engine/facts.ts'
import { goodsOf } from '../engine/goods.ts'
import type { components } from '../http/schema.d.ts'

type Line = components['schemas']['ArithmeticLine']

const lineIn =
  (currency: string) =>
  (step: Line['step'], text: string, cents: number): Line => ({ step, text, cents, currency })

/**
 * How an order's commission comes about, line by line, and what refunds took from it. Goods are in cents of the order's
 * currency, everything from the rates on in cents of the commission's.
 */
export function arithmeticOf(facts: Facts, decision: Decision, refunds: RefundRow[]): Line[] {
  const { subtotalCents, baseCents, amountCents, taxWithheldCents } = decision
  const goods = goodsOf(facts.order)
  const line = lineIn(facts.order.currency)
  const earned = lineIn(decision.currency ?? facts.order.currency)
  const lines = [line('subtotal', subtotalText(facts), subtotalCents)]
  if (goods.base !== subtotalCents) lines.push(line('discount', 'Discount on goods', goods.base - subtotalCents))
  if (goods.base !== baseCents) {
    lines.push(line('outside', 'Lines that are not connected to the affiliate', baseCents - goods.base))
  }
  lines.push(line('base', 'What commission is paid on; shipping and tax are never in it', baseCents))
  lines.push(...decision.groups.map((group) => earned('group', groupText(group, facts), group.amountCents)))
  if (decision.status === null) return lines
  if (decision.restrictionReasonCode) lines.push(earned('restricted', decision.restrictionReasonCode, 0))
  const bps = facts.settings.taxWithholdingBps
  lines.push(
    earned('commission', 'The commission', amountCents),
    earned('tax', `Withheld: ${amountCents} × ${bps} ÷ 10000, rounded half up`, taxWithheldCents),
    ...refunds.map((refund) => earned('refund', refundText(refund), refund.commissionCents)),
  )
  const left = refunds.reduce((total, refund) => total + refund.commissionCents, amountCents)
  return [...lines, earned('now', 'What the commission comes to after refunds', left)]
}

function subtotalText({ order: { amountCents, lines } }: Facts): string {
  if (amountCents !== null) return 'Goods before discount, shipping and tax, as they were reported'
  const terms = lines.slice(0, 10).map(({ quantity, priceCents }) => `${quantity} × ${priceCents}`)
  return `Goods before discount, shipping and tax: ${terms.join(' + ')}${lines.length > 10 ? ' + …' : ''}`
}

function groupText(group: RateGroup, { order, settings }: Facts): string {
  const { commissionType, rate, baseCents, quantity, unpaidReasonCode } = group
  if (unpaidReasonCode) {
    return `The flat rate of ${rate} cents is in ${settings.currency} and cannot be added to percentages of an order in ${order.currency}, so it earns nothing`
  }
  if (commissionType === 'PERCENT_OF_SALE') return `${baseCents} × ${rate} ÷ 10000, rounded half up`
  return commissionType === 'FLAT_PER_ORDER' ? `${rate} for the order` : `${rate} × ${quantity} pieces`
}

const refundText = ({ externalRefundId, goodsCents }: RefundRow): string =>
  `Refund ${externalRefundId} of ${goodsCents} cents of goods`
