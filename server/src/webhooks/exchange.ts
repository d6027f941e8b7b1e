import type { Trx } from '../db/database.ts'
import {
  deleteWaiting,
  type FinishedDelivery,
  listWaitedFor,
  listWaiting,
  updateFinished,
  type WaitingDelivery,
} from '../repositories/deliveries.ts'
import {
  type Claimant,
  claimDestinations,
  type Destination,
  listDestinations,
  listExisting,
  releaseDestinations,
} from '../repositories/subscriptions.ts'
import { listBodies } from '../repositories/webhook-events.ts'

// One page of subscriptions is looked at in one transaction.
const PAGE = 64

/** A delivery with what it says. */
export interface Delivery extends WaitingDelivery {
  event: string
  body: string
}

/** What a dispatcher has for the outbox, and what it wants from it. */
export interface Bid {
  claimant: Claimant
  finished: FinishedDelivery[]
  /** The deliveries it has and their subscriptions, those among them that are finished. */
  held: ReadonlyMap<string, string>
  /** Look at the subscriptions after this one. */
  after: string
  /** How many more deliveries it wants of each subscription. */
  plan: (subscriptionIds: string[]) => Map<string, number>
}

export interface Catch {
  /** All that it may send to now. */
  destinations: Map<string, Destination>
  deliveries: Delivery[]
  /** Where to look next; empty when all subscriptions were seen. */
  after: string
  /** Something waits that another process has the right to send. */
  isShared: boolean
}

/**
 * One transaction with the outbox: results in, deliveries out. Only one process at a time sends to a subscription; it
 * gives that right back in the transaction that finds nothing more to send, so nothing is overlooked in between.
 */
export async function exchange(trx: Trx, bid: Bid): Promise<Catch> {
  const { by } = bid.claimant
  await updateFinished(trx, bid.finished)
  const held = countHeld(bid)
  const destinations = new Map((await listDestinations(trx, by)).map((one) => [one.id, one]))
  const waitedFor = await listWaitedFor(trx, bid.after, PAGE)
  const plan = bid.plan(waitedFor)
  const wanted = [...plan.keys()].filter((id) => !destinations.has(id))
  for (const one of await claimDestinations(trx, wanted, bid.claimant)) destinations.set(one.id, one)
  const isShared = await forgetOrphans(
    trx,
    wanted.filter((id) => !destinations.has(id)),
  )

  const taken: WaitingDelivery[] = []
  for (const [id, room] of plan) {
    if (!destinations.has(id)) continue
    const waiting = await listWaiting(trx, id, room + (held.get(id) ?? 0))
    taken.push(...waiting.filter((one) => !bid.held.has(one.id)).slice(0, room))
  }
  const busy = new Set([...held.keys(), ...taken.map(({ subscriptionId }) => subscriptionId)])
  const idle = [...destinations.keys()].filter((id) => !busy.has(id))
  await releaseDestinations(trx, by, idle)
  for (const id of idle) destinations.delete(id)
  const after = waitedFor.length < PAGE ? '' : waitedFor.at(-1)!
  return { destinations, deliveries: await withBodies(trx, taken), after, isShared }
}

function countHeld({ held, finished }: Bid): Map<string, number> {
  const counts = new Map<string, number>()
  const ended = new Set(finished.map(({ id }) => id))
  for (const [id, subscriptionId] of held) {
    if (!ended.has(id)) counts.set(subscriptionId, (counts.get(subscriptionId) ?? 0) + 1)
  }
  return counts
}

/** What waits for a subscription that is gone will never be sent. Answers whether some of these still exist. */
async function forgetOrphans(trx: Trx, ids: string[]): Promise<boolean> {
  const existing = await listExisting(trx, ids)
  for (const id of ids) if (!existing.includes(id)) await deleteWaiting(trx, id)
  return existing.length > 0
}

/** Deliveries of the same event share its body. */
async function withBodies(trx: Trx, taken: WaitingDelivery[]): Promise<Delivery[]> {
  const bodies = await listBodies(trx, [...new Set(taken.map(({ eventId }) => eventId))])
  const byId = new Map(bodies.map((one) => [one.id, one]))
  return taken.flatMap((one) => {
    const content = byId.get(one.eventId)
    return content ? { ...one, event: content.event, body: content.body } : []
  })
}
