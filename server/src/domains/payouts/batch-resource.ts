import type { components } from '../../contract/schema.d.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import type { PayoutBatchRow } from '../../database/tables.ts'

type Schemas = components['schemas']

/** A batch as in openapi.yaml; a dry run has no id. */
export function toBatch(row: Omit<PayoutBatchRow, 'id' | 'shopId' | 'version'> & { id: string | null }) {
  const { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents } = row
  return {
    id: row.id,
    status: row.status,
    periodStart: row.periodStart,
    periodEnd: row.periodEnd,
    includeEarlier: row.includeEarlier === 1,
    currency: row.currency,
    totals: { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents },
    heldBack: { commissions: row.heldBackCommissions, commissionCents: row.heldBackCents },
    minimumPayoutCents: row.minimumPayoutCents,
    failureReason: row.failureReason,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    paidAt: row.paidAt,
  } satisfies Schemas['PayoutBatch']
}

/** An event of a batch. @param previousStatus null for a new batch */
export const batchEvent = (
  event: 'payout.created' | 'payout.paid' | 'payout.failed',
  row: Omit<PayoutBatchRow, 'shopId' | 'version'>,
  previousStatus: PayoutBatchRow['status'] | null,
): WebhookEvent => ({ event, data: { ...toBatch(row), previousStatus } })
