import { type Context, nowIso } from '../core/context.ts'
import type { CommissionRow } from '../database/tables.ts'

/** What one adjustment differs in from another; the amounts in cents, of either sign. */
export type AdjustmentColumns = Pick<
  CommissionRow,
  | 'id'
  | 'orderId'
  | 'affiliateId'
  | 'programId'
  | 'currency'
  | 'orderCurrency'
  | 'commissionAmountCents'
  | 'taxWithheldCents'
  | 'orderStatus'
  | 'payoutBatchId'
  | 'debtId'
  | 'happenedAt'
>

/** A row of money that no order earned: a refund of a paid commission, a reversal, a debt that is carried on. */
export function adjustmentRow(ctx: Context, columns: AdjustmentColumns): Omit<CommissionRow, 'shopId'> {
  const createdAt = nowIso(ctx)
  return {
    ...columns,
    externalOrderId: null,
    orderName: null,
    commissionType: null,
    commissionBaseCents: 0,
    commissionRateBps: 0,
    orderSubtotalCents: 0,
    orderDiscountCents: 0,
    orderShippingCents: 0,
    orderTaxCents: 0,
    trackingMethod: 'ADJUSTMENT',
    attributionMethod: null,
    attributionReasonCode: null,
    restrictionReasonCode: null,
    paidAt: null,
    createdAt,
    updatedAt: createdAt,
    version: 1,
  }
}

/** Takes money back from a commission that was paid: a waiting row that the next batch of its time nets. */
export const clawback = (
  ctx: Context,
  { id, affiliateId, programId, currency, orderCurrency }: CommissionRow,
  { name, amountCents, taxCents }: { name: string; amountCents: number; taxCents: number },
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, {
    id: ctx.newId('com'),
    orderId: `adj:${id}:${name}`,
    affiliateId,
    programId,
    currency,
    orderCurrency,
    commissionAmountCents: amountCents,
    taxWithheldCents: taxCents,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    debtId: null,
    happenedAt: nowIso(ctx),
  })
