import type { RunAside } from '../db/aside.ts'
import type { Trx } from '../db/database.ts'
import type { PayoutBatchRow } from '../db/tables.ts'
import { payoutLines } from '../engine/payout.ts'
import type { components } from '../http/schema.d.ts'
import { findAffiliatesById } from '../repositories/affiliates.ts'
import { sumBatches } from '../repositories/payout-commissions.ts'

type Schemas = components['schemas']

/** A batch as openapi.yaml shows it; without an id it is one that was not made. */
export function toBatch(row: Omit<PayoutBatchRow, 'id' | 'shopId' | 'version'> & { id: string | null }) {
  const { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents } = row
  return {
    id: row.id,
    status: row.status,
    periodStart: row.periodStart,
    periodEnd: row.periodEnd,
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

/** By batch id. */
export type Lines = Map<string, Schemas['PayoutLine'][]>

/**
 * What each batch pays to whom. Archived affiliates keep their names here. Every commission of the batches is read, so it
 * runs in the report thread.
 */
export const runAside: RunAside<{ shopId: string; query: string[] }, Lines> = async (
  db,
  { shopId, query: batchIds },
) => {
  if (batchIds.length === 0) return new Map()
  const rows = await sumBatches(db, shopId, batchIds)
  const people = await findPeople(db, shopId, new Set(rows.map((row) => row.affiliateId)))
  const byBatch = Map.groupBy(rows, (row) => row.batchId)
  return new Map(
    [...byBatch].map(([batchId, own]) => {
      const lines = payoutLines(own)
      // They were exact when the batch was made, and a line only shrinks.
      if (!lines) throw new Error('The lines of a batch are not exact')
      const named = lines.map(({ affiliateId, ...sums }) => {
        const { name = '', email = '' } = people.get(affiliateId) ?? {}
        return { affiliateId, name, email, ...sums }
      })
      return [batchId, named]
    }),
  )
}

/** A database takes only so many values in one list. */
const AT_ONCE = 500

async function findPeople(db: Trx, shopId: string, ids: Set<string>) {
  const people = new Map<string, { name: string; email: string }>()
  const rest = [...ids]
  while (rest.length) {
    const some = await findAffiliatesById(db, shopId, rest.splice(0, AT_ONCE))
    for (const { id, name, email } of some) people.set(id, { name, email })
  }
  return people
}
