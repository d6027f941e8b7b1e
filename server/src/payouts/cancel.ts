import { concurrentChange, conflict } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { payoutNotFound } from './batch.ts'
import { toBatch } from './payouts.ts'
import { cancelCarriedDebts, findBatch, releaseCommissions, updateBatchIfUnchanged } from './queries.ts'

const CANCELED_REASON = 'The batch was canceled.'
const EMPTY_TOTALS = { commissions: 0, affiliates: 0, commissionCents: 0, taxWithheldCents: 0, netPayableCents: 0 }

/**
 * Gives up a batch that is not paid: its commissions are approved again and may be gathered by another one. A debt that
 * it carried on is taken back, unless another batch has collected it already.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `payout_not_cancelable` or `concurrent_change`.
 */
export async function cancel(ctx: Context, id: string): Promise<components['schemas']['PayoutBatch']> {
  const batch = await findBatch(ctx.db.read, ctx.shop.id, id)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN' && batch.status !== 'FAILED') {
    throw conflict('payout_not_cancelable', `This payout batch is ${batch.status} and cannot be canceled.`)
  }
  return mutate(ctx, async (trx) => {
    const updatedAt = nowIso(ctx)
    const changes = { ...EMPTY_TOTALS, status: 'FAILED' as const, failureReason: CANCELED_REASON, updatedAt }
    if (!(await updateBatchIfUnchanged(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
    await cancelCarriedDebts(trx, ctx.shop.id, id, updatedAt)
    const released = await releaseCommissions(trx, ctx.shop.id, id, updatedAt)
    const data = { previousStatus: batch.status, released, netPayableCents: batch.netPayableCents }
    return { result: toBatch({ ...batch, ...changes }), audit: { action: 'payout.canceled', subjectId: id, data } }
  })
}
