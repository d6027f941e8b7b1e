import type { RefundInput } from '@referral/sdk'
import { usageError } from '../../errors.ts'
import type { Run } from '../../run.ts'
import { parseItem } from '../commissions/refund.ts'

export interface RefundOptions {
  refundId: string
  amountCents?: number
  currency?: string
  item?: string[]
  reason?: string
  at?: string
  idempotencyKey?: string
}

export type CancelOptions = Pick<RefundOptions, 'reason' | 'at' | 'idempotencyKey'>

export const REFUND_WARNINGS: Record<string, string> = {
  refund_differs: 'This refund id was reported before, with another amount or other line items. Nothing was changed.',
  refund_exceeds_order: 'Less was left of the order than was refunded.',
  refund_item_unknown: 'The order has no such line item, which was ignored.',
}

/** The key is derived from the content, so repeating a report is a replay that returns the first response. */
export const REPEATED = 'This report was already recorded; the response is that of the first report.'

/** Whether an earlier command sent the report. If this command retried, the replay can be of its own report. */
export const isRepeated = ({ idempotentReplayed, attempts }: { idempotentReplayed: boolean; attempts: number }) =>
  idempotentReplayed && attempts === 1

/** Reports a refund of an order. Repeating a refund ID changes nothing. */
export async function refund(run: Run, externalOrderId: string, options: RefundOptions): Promise<undefined> {
  const { refundId: externalRefundId, amountCents, currency, item = [], reason, at, idempotencyKey } = options
  if ((amountCents === undefined) === (item.length === 0)) throw usageError('Pass either --amount-cents or --item.')
  const input = {
    externalOrderId,
    externalRefundId,
    ...(item.length > 0 ? { lineItems: item.map(parseItem) } : { amountCents }),
    ...(currency && { currency }),
    ...(reason && { reason }),
    ...(at && { occurredAt: at }),
  } as RefundInput
  const client = await run.client()
  const response = await client.refunds.create(input, { idempotencyKey, dryRun: run.dryRun }).withResponse()
  const { data } = response
  if (data.warning)
    run.reporter.warn(
      `${REFUND_WARNINGS[data.warning] ?? data.warning}${data.refund ? ' The refunded amount is in refund.goodsCents.' : ''}`,
    )
  run.reporter.info(isRepeated(response) ? REPEATED : data.message)
  run.printRecord(data)
}

/** Reports that an order was canceled. Repeating it changes nothing. */
export async function cancel(
  run: Run,
  externalOrderId: string,
  { reason, at, idempotencyKey }: CancelOptions,
): Promise<undefined> {
  const client = await run.client()
  const options = { idempotencyKey, dryRun: run.dryRun }
  const response = await client.cancellations
    .create({ externalOrderId, ...(reason && { reason }), ...(at && { occurredAt: at }) }, options)
    .withResponse()
  const { data } = response
  run.reporter.info(isRepeated(response) ? REPEATED : data.message)
  run.printRecord(data)
}

/** Cancels a refund. Repeating it changes nothing. */
export async function cancelRefund(
  run: Run,
  externalOrderId: string,
  { refundId: externalRefundId }: { refundId: string },
): Promise<undefined> {
  const ids = { externalOrderId, externalRefundId }
  if (run.dryRun) return run.printDryRun('DELETE', `/api/v1/refunds?${new URLSearchParams(ids)}`)
  const reply = await (await run.client()).refunds.cancel(ids)
  run.reporter.info(reply.message)
  run.printRecord(reply)
}
