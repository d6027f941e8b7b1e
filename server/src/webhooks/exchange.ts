import type { Trx } from '../db/database.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  deleteDeliveries,
  type FinishedDelivery,
  listClaimants,
  listClaimed,
  listWaiting,
  releaseClaimsOf,
  releaseDeliveries,
  releaseSilent,
  renewClaims,
  updateFinished,
} from '../repositories/deliveries.ts'
import { isGone, SILENT_MS } from './claimant.ts'

const SUBSCRIPTIONS = 200

/** What a dispatcher has for the outbox, and what it wants from it. */
export interface Bid {
  by: string
  /** Now, ISO 8601. */
  at: string
  finished: FinishedDelivery[]
  /** Claimed deliveries to give back, by id. */
  unwanted: string[]
  /** Look at the subscriptions after this one. */
  after: string
  /** How many deliveries to claim of each subscription that has some. */
  plan: (subscriptionIds: string[]) => Map<string, number>
}

export interface Catch {
  claimed: ClaimedDelivery[]
  /** Where to look next; empty when all subscriptions were seen. */
  after: string
}

/** One transaction with the outbox: results in, deliveries out. */
export async function exchange(trx: Trx, { by, at, ...bid }: Bid): Promise<Catch> {
  await updateFinished(trx, by, bid.finished)
  await releaseDeliveries(trx, by, bid.unwanted)
  const waiting = await listWaiting(trx, bid.after, SUBSCRIPTIONS)
  const ids: string[] = []
  for (const [subscriptionId, limit] of bid.plan(waiting)) {
    ids.push(...(await claimDeliveries(trx, subscriptionId, { by, at, limit })))
  }
  const claimed = await listClaimed(trx, ids)
  if (claimed.length < ids.length) {
    const known = new Set(claimed.map(({ id }) => id))
    await deleteDeliveries(
      trx,
      ids.filter((id) => !known.has(id)),
    )
  }
  return { claimed, after: waiting.length < SUBSCRIPTIONS ? '' : waiting.at(-1)! }
}

/** Speaks for the claims this dispatcher works on, and gives back those that nobody does. */
export async function keepClaims(
  trx: Trx,
  { by, ids, now }: { by: string; ids: string[]; now: number },
): Promise<void> {
  await renewClaims(trx, { by, at: toIso(now) }, ids)
  await releaseSilent(trx, toIso(now - SILENT_MS))
  for (const claimant of await listClaimants(trx)) {
    if (isGone(claimant)) await releaseClaimsOf(trx, claimant)
  }
}

const toIso = (ms: number) => new Date(ms).toISOString()
