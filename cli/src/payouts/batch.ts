import type { PayoutBatch, ReferralClient } from '@referral/sdk'
import { notFoundError } from '../exit.ts'

export type BatchWithLines = PayoutBatch & Required<Pick<PayoutBatch, 'lines'>>

/** One batch with its line per affiliate. */
export async function readBatch(client: ReferralClient, id: string): Promise<BatchWithLines> {
  const { data } = await client.payouts.list({ id, include: 'lines' })
  const [batch] = data
  if (!batch || batch.id !== id)
    throw notFoundError(`No payout batch ${id} exists in your shop.`, 'See `referral payouts list`.')
  return { ...batch, lines: batch.lines ?? [] }
}
