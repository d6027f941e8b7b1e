import { toUnits } from '../../core/currencies.ts'
import { localDate } from '../../core/time-zone.ts'
import type { RestrictionCode } from '../../engine/facts.ts'
import { canceledRefundOf } from '../../engine/normalize.ts'
import { restrictionTexts } from '../../engine/restriction-texts.ts'
import { EARNED, type StatementCommission, type StatementPayment, type StatementRefund } from './statement-queries.ts'

/** A statement line before it is numbered. Amounts are in cents. */
export interface StatementEntry {
  at: string
  kind: 'ORDER' | 'REFUND' | 'ADJUSTMENT' | 'PAYMENT'
  /** A description in plain words. */
  reason: string
  currency: string
  status: string | null
  /** The change to the balance. 0 for an order that is not approved. */
  amountCents: number
  commissionCents: number
  taxWithheldCents: number
  orderId: string | null
  commissionId: string | null
  refundId: string | null
  payoutBatchId: string | null
}

const money = (cents: number, currency: string): string => `${toUnits(cents, currency)} ${currency}`

type Named = Pick<StatementCommission, 'orderId' | 'orderName' | 'externalOrderId'>

const nameOf = ({ orderName, externalOrderId, orderId }: Named): string => orderName ?? externalOrderId ?? orderId

function orderReason(row: StatementCommission, timeZone: string): string {
  const order = `Order ${nameOf(row)}`
  switch (row.orderStatus) {
    case 'PENDING':
      return `${order}: not approved yet`
    case 'CANCELED':
      return `${order}: canceled, earns nothing`
    case 'REJECTED': {
      const code = row.restrictionReasonCode as RestrictionCode | null
      return `${order}: rejected${code ? `, because ${restrictionTexts(code).clause}` : ''}`
    }
    default:
      return `${order}: ${rateOf(row)}${ruleOf(row)}${holdOf(row, timeZone)}`
  }
}

const rateOf = ({ commissionType, commissionRateBps, commissionBaseCents, currency }: StatementCommission): string =>
  commissionType === 'PERCENT_OF_SALE'
    ? `commission of ${commissionRateBps / 100}% on ${money(commissionBaseCents, currency)}`
    : 'flat commission'

const ruleOf = ({ termsRule }: StatementCommission): string =>
  termsRule === null ? '' : ` by rule ${termsRule + 1} of the program's terms`

const holdOf = ({ orderStatus, availableAt, happenedAt }: StatementCommission, timeZone: string): string =>
  orderStatus === 'PAID' || availableAt <= happenedAt ? '' : `, payable from ${localDate(availableAt, timeZone)} on`

const isEarned = (status: StatementCommission['orderStatus']): boolean => EARNED.includes(status)

/** An order with its original commission. Its refunds are separate lines. */
export function orderEntry(row: StatementCommission, refunds: StatementRefund[], timeZone: string): StatementEntry {
  const sum = (column: 'commissionCents' | 'taxCents') => refunds.reduce((all, refund) => all + refund[column], 0)
  const commissionCents = row.commissionAmountCents - sum('commissionCents')
  const taxWithheldCents = row.taxWithheldCents - sum('taxCents')
  return {
    at: row.happenedAt,
    kind: 'ORDER',
    reason: orderReason(row, timeZone),
    currency: row.currency,
    status: row.orderStatus,
    amountCents: isEarned(row.orderStatus) ? commissionCents - taxWithheldCents : 0,
    commissionCents,
    taxWithheldCents,
    orderId: row.orderId,
    commissionId: row.id,
    refundId: null,
    payoutBatchId: null,
  }
}

/** When a refund counts. Never before its order. */
export const refundedAt = ({ occurredAt, happenedAt }: StatementRefund): string =>
  occurredAt < happenedAt ? happenedAt : occurredAt

export const refundNet = ({ orderStatus, commissionCents, taxCents }: StatementRefund): number =>
  isEarned(orderStatus) ? commissionCents - taxCents : 0

export function refundEntry(refund: StatementRefund): StatementEntry {
  const { externalRefundId, goodsCents, orderCurrency, reason } = refund
  const canceled = canceledRefundOf(externalRefundId)
  const name = `Refund ${canceled ?? externalRefundId} of order ${nameOf(refund)}${canceled === undefined ? '' : ' was canceled'}`
  const goods = `goods of ${money(Math.abs(goodsCents), orderCurrency)}`
  return {
    at: refundedAt(refund),
    kind: 'REFUND',
    reason: `${name}: ${goods}${reason ? `, ${reason}` : ''}`,
    currency: refund.currency,
    status: refund.orderStatus,
    amountCents: refundNet(refund),
    commissionCents: refund.commissionCents,
    taxWithheldCents: refund.taxCents,
    orderId: refund.orderId,
    commissionId: refund.commissionId,
    refundId: externalRefundId,
    payoutBatchId: null,
  }
}

/** The commission and the cause in an adjustment's order ID. */
export function partsOfAdjustment({ orderId }: Pick<StatementCommission, 'orderId'>) {
  const [, subject = '', cause = ''] = /^adj:([^:]+):(.*)$/s.exec(orderId) ?? []
  return { subject, cause }
}

export function adjustmentEntry(row: StatementCommission, orders: Map<string, Named>): StatementEntry {
  const { subject, cause } = partsOfAdjustment(row)
  const order = orders.get(subject)
  const isRefund = order !== undefined && cause !== 'reversal' && cause !== 'carry'
  return {
    at: row.happenedAt,
    kind: 'ADJUSTMENT',
    reason: adjustmentReason(row, cause, order && nameOf(order)),
    currency: row.currency,
    status: row.orderStatus,
    amountCents: isEarned(row.orderStatus) ? row.commissionAmountCents - row.taxWithheldCents : 0,
    commissionCents: row.commissionAmountCents,
    taxWithheldCents: row.taxWithheldCents,
    orderId: order?.orderId ?? null,
    commissionId: row.id,
    refundId: isRefund ? cause : null,
    payoutBatchId: null,
  }
}

function adjustmentReason(row: StatementCommission, cause: string, order: string | undefined): string {
  if (row.debtId !== null)
    return row.commissionAmountCents > 0
      ? 'Debt moved to the next period, because the earnings did not cover it'
      : 'Debt from the period before'
  if (cause === 'returned') return 'Payment returned; payable again'
  if (cause === 'reversal') return `Reversal of order ${order ?? ''}: the paid commission is deducted`
  const canceled = canceledRefundOf(cause)
  if (order !== undefined && canceled !== undefined)
    return `Refund ${canceled} of order ${order} was canceled, after its commission was paid`
  if (order !== undefined) return `Refund ${cause} of order ${order}, after its commission was paid`
  return 'Adjustment'
}

export function paymentEntry(payment: StatementPayment, netCents: number, timeZone: string): StatementEntry {
  const [first, last] = [payment.periodStart, payment.periodEnd].map((at) => localDate(at, timeZone))
  const count = `${payment.commissions} ${payment.commissions === 1 ? 'entry' : 'entries'}`
  return {
    at: payment.paidAt,
    kind: 'PAYMENT',
    reason: `Payment for ${first} to ${last}: ${count}`,
    currency: payment.currency,
    status: 'PAID',
    amountCents: 0 - netCents,
    commissionCents: 0,
    taxWithheldCents: 0,
    orderId: null,
    commissionId: null,
    refundId: null,
    payoutBatchId: payment.payoutBatchId,
  }
}
