import { type Context, nowIso } from '../core/context.ts'
import type { CommissionRow } from '../database/tables.ts'
import { adjustmentRow } from './queries.ts'

/** An adjustment that takes money of a paid commission back, or returns it; the next batch nets it. */
export const clawbackRow = (
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
