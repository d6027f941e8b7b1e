import type { components } from '../../contract/schema.d.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { hasId } from '../../core/queries.ts'
import type { Transaction } from '../../database/database.ts'
import type { CommissionRow, RefundRow } from '../../database/tables.ts'
import { toCommission } from '../ledger/commissions.ts'

/** A refund as in openapi.yaml. */
export const toRefund = (row: RefundRow): components['schemas']['Refund'] => ({
  id: row.id,
  externalRefundId: row.externalRefundId,
  amountCents: row.amountCents,
  lineItems: JSON.parse(row.lineItems),
  reason: row.reason,
  goodsCents: row.goodsCents,
  commissionCents: row.commissionCents,
  taxCents: row.taxCents,
  adjustmentId: row.adjustmentId,
  occurredAt: row.occurredAt,
  createdAt: row.createdAt,
})

type Status = CommissionRow['orderStatus']

const EVENTS: Partial<Record<Status, string>> = {
  APPROVED: 'commission.approved',
  REJECTED: 'commission.rejected',
  REVERSED: 'commission.reversed',
}

/** The event for a commission that has entered a status. @param previousStatus null for a new commission */
export function statusEvents(row: CommissionRow, previousStatus: Status | null): WebhookEvent[] {
  const event = EVENTS[row.orderStatus]
  return event ? [{ event, data: { ...toCommission(row), previousStatus } }] : []
}

export const refundEvent = (row: CommissionRow, refund: RefundRow, previousStatus: Status): WebhookEvent => ({
  event: 'commission.refunded',
  data: { ...toCommission(row), previousStatus, refund: toRefund(refund) },
})

/** The events for a batch's paid commissions. Adjustments have none. */
export async function findPaidEvents(
  trx: Transaction,
  { shopId, batchId }: { shopId: string; batchId: string },
  ids: string[],
): Promise<WebhookEvent[]> {
  const list = trx
    .selectFrom('commissions')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('payoutBatchId', '=', batchId)
    .where('orderStatus', '=', 'PAID')
    .where('trackingMethod', '<>', 'ADJUSTMENT')
    .where(hasId(trx, ids))
    .orderBy('happenedAt', 'desc')
    .orderBy('id', 'desc')
  return (await list.execute()).map((row) => ({
    event: 'commission.paid',
    data: { ...toCommission(row), previousStatus: 'PAYABLE' },
    isIndependent: true,
  }))
}

/** A new commission's data for the audit log. */
export const auditedAmounts = (row: Omit<CommissionRow, 'shopId'>) => ({
  orderId: row.orderId,
  amountCents: row.commissionAmountCents,
  ...(row.taxWithheldCents !== 0 && { taxWithheldCents: row.taxWithheldCents }),
  status: row.orderStatus,
})
