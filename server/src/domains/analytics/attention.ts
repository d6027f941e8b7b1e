import type { Context } from '../../core/context.ts'
import { countRows, sumByCurrency } from '../../core/queries.ts'
import { countApproved } from '../ledger/batch-commissions.ts'
import { hasOpenBatch } from '../ledger/payouts.ts'
import { hasPrograms } from '../programs/queries.ts'
import { listSubscriptions } from '../webhooks/queries.ts'

/** What needs a decision in a shop. Read from stored counts, so it is fast for shops of any size. */
export interface Attention {
  hasProgram: boolean
  hasWebhook: boolean
  affiliates: number
  pendingAffiliates: number
  commissions: number
  pendingCommissions: number
  /** Before tax, by currency. */
  pendingSums: { currency: string; cents: bigint }[]
  /** Approved commissions, in an open batch or in none. */
  unpaidCommissions: number
  payoutBatches: number
  hasOpenBatch: boolean
}

export async function readAttention({ db, shop }: Context): Promise<Attention> {
  const count = (list: Parameters<typeof countRows>[2]['list'], status?: string) =>
    countRows(db.read, shop.id, { list, ...(status && { status }) })
  const [
    affiliates,
    pendingAffiliates,
    commissions,
    pending,
    payoutBatches,
    hasProgram,
    subscriptions,
    unpaidCommissions,
    isBatchOpen,
  ] = await Promise.all([
    count('affiliates'),
    count('affiliates', 'PENDING'),
    count('commissions'),
    sumByCurrency(db.read, shop.id, 'PENDING'),
    count('payoutBatches'),
    hasPrograms(db.read, shop.id),
    listSubscriptions(db.read, shop.id),
    countApproved(db.read, shop.id),
    hasOpenBatch(db.read, shop.id),
  ])
  return {
    hasProgram,
    hasWebhook: subscriptions.length > 0,
    affiliates,
    pendingAffiliates,
    commissions,
    pendingCommissions: pending.reduce((sum, { rows }) => sum + rows, 0),
    pendingSums: pending,
    unpaidCommissions,
    payoutBatches,
    hasOpenBatch: isBatchOpen,
  }
}
