import type { Transaction } from '../../database/database.ts'
import {
  deletePending,
  type FinishedDelivery,
  findEventBody,
  listPending,
  listShopsWithPending,
  listSubscriptionsWithPending,
  type PendingDelivery,
  recordResults,
} from '../delivery-queries.ts'
import {
  claimDestination,
  type Destination,
  findSubscription,
  type LeaseHolder,
  listDestinations,
  releaseDestination,
} from '../queries.ts'

/** So many shops are looked at in one transaction, and so many subscriptions of each. */
export const SHOPS_PAGE = 64
const SUBSCRIPTIONS_PAGE = 128

/** A delivery with what it says. */
export interface Delivery extends PendingDelivery {
  event: string
  body: string
}

/** What a dispatcher has for the outbox, and what it wants from it. */
export interface SyncRequest {
  leaseHolder: LeaseHolder
  finished: FinishedDelivery[]
  /** The deliveries it has and their subscriptions, those among them that are finished. */
  claimed: ReadonlyMap<string, string>
  /** Look at the shops after this one first. */
  afterShop: string
  /** Of a shop, look at the subscriptions after this one first. */
  afterSubscription: ReadonlyMap<string, string>
  /** How many more deliveries it wants of each subscription, given by shop. */
  plan: (waiting: ReadonlyMap<string, string[]>) => Map<string, number>
}

export interface SyncResult {
  /** All that it may send to now. */
  destinations: Map<string, Destination>
  deliveries: Delivery[]
  /** The subscriptions that were looked at, by shop; fewer shops than a page are all. */
  seen: ReadonlyMap<string, string[]>
  /** Those of them that something was wanted of. */
  planned: ReadonlySet<string>
  /** Something waits that another process has the right to send. */
  isShared: boolean
}

/**
 * Records results and claims deliveries, in one transaction. Only the process that holds the lease of a subscription sends
 * to it. The lease is released in the transaction that finds nothing more to send, so no delivery is missed in between.
 */
export async function syncOutbox(trx: Transaction, request: SyncRequest): Promise<SyncResult> {
  await recordResults(trx, request.finished)
  return claimDeliveries(trx, request)
}

async function claimDeliveries(trx: Transaction, request: SyncRequest): Promise<SyncResult> {
  const { leaseHolder } = request
  const unfinished = countUnfinished(request)
  const leased = await listDestinations(trx, { by: leaseHolder.holder })
  const seen = await findPending(trx, request)
  const shopOf = new Map([...seen].flatMap(([shopId, ids]) => ids.map((id) => [id, shopId])))
  const plan = request.plan(seen)
  // In the order of ids, so that two processes cannot deadlock.
  const wanted = [...plan.keys()].filter((id) => !leased.some((one) => one.id === id)).sort()
  const newlyLeased = await Promise.all(
    wanted.map((id) => claimDestination(trx, { ...leaseHolder, shopId: shopOf.get(id) ?? '', id })),
  )
  const destinations = new Map([...leased, ...newlyLeased.flat()].map((one) => [one.id, one]))
  const notLeased = wanted.filter((id) => !destinations.has(id))
  const areOrphans = await Promise.all(notLeased.map((id) => deleteIfOrphaned(trx, shopOf.get(id) ?? '', id)))

  const lists = [...plan].map(([id, room]) => {
    if (!destinations.has(id)) return []
    const share = { id, shopId: shopOf.get(id) ?? '', room, unfinished: unfinished.get(id) ?? 0 }
    return listUnclaimed(trx, request, share)
  })
  const claimed = (await Promise.all(lists)).flat()
  const busy = new Set([...unfinished.keys(), ...claimed.map(({ subscriptionId }) => subscriptionId)])
  const idle = [...destinations.values()].filter(({ id }) => !busy.has(id))
  await Promise.all(idle.map(({ shopId, id }) => releaseDestination(trx, { shopId, id, by: leaseHolder.holder })))
  for (const { id } of idle) destinations.delete(id)
  return {
    destinations,
    deliveries: await withBodies(trx, claimed),
    seen,
    planned: new Set(plan.keys()),
    isShared: areOrphans.includes(false),
  }
}

/** A page of the shops that something waits for, and of each a page of its subscriptions: nobody's many hide the others'. */
async function findPending(
  trx: Transaction,
  { afterShop, afterSubscription }: SyncRequest,
): Promise<ReadonlyMap<string, string[]>> {
  const shops = await pageAround(SHOPS_PAGE, afterShop, (after, limit) => listShopsWithPending(trx, { after, limit }))
  const pages = shops.map(async ({ id: shopId, first, last }): Promise<[string, string[]]> => {
    // Most shops have one.
    if (first === last) return [shopId, [first]]
    const list = (after: string, limit: number) => listSubscriptionsWithPending(trx, { shopId, after, limit })
    const page = await pageAround(SUBSCRIPTIONS_PAGE, afterSubscription.get(shopId) ?? '', list)
    return [shopId, page.map(({ id }) => id)]
  })
  return new Map(await Promise.all(pages))
}

/** A page of rows by id, of which those after one come first. */
async function pageAround<Row extends { id: string }>(
  page: number,
  after: string,
  list: (after: string, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const first = await list('', page)
  // Where a page holds all of them, one look is enough.
  const next = first.length < page || after === '' ? [] : await list(after, page)
  const rows = [...next, ...first.filter(({ id }) => id > after), ...first.filter(({ id }) => id <= after)]
  return [...new Map(rows.map((row) => [row.id, row])).values()].slice(0, page)
}

interface SubscriptionShare {
  shopId: string
  id: string
  /** How many deliveries to claim at most. */
  room: number
  /** How many deliveries of the subscription this process has claimed and not finished. */
  unfinished: number
}

/** The oldest pending deliveries of a subscription that this process has not claimed yet. */
async function listUnclaimed(trx: Transaction, { claimed }: SyncRequest, share: SubscriptionShare) {
  const { shopId, id, room, unfinished } = share
  const pending = await listPending(trx, { shopId, subscriptionId: id, limit: room + unfinished })
  return pending.filter((one) => !claimed.has(one.id)).slice(0, room)
}

function countUnfinished({ claimed, finished }: SyncRequest): Map<string, number> {
  const counts = new Map<string, number>()
  const finishedIds = new Set(finished.map(({ id }) => id))
  for (const [id, subscriptionId] of claimed) {
    if (!finishedIds.has(id)) counts.set(subscriptionId, (counts.get(subscriptionId) ?? 0) + 1)
  }
  return counts
}

/** What waits for a subscription that is gone will never be sent. Returns whether it is gone. */
async function deleteIfOrphaned(trx: Transaction, shopId: string, id: string): Promise<boolean> {
  if (await findSubscription(trx, shopId, id)) return false
  await deletePending(trx, shopId, id)
  return true
}

/** Deliveries of the same event share its body. */
async function withBodies(trx: Transaction, pending: PendingDelivery[]): Promise<Delivery[]> {
  const events = new Map(pending.map(({ shopId, eventId }) => [eventId, { shopId, id: eventId }]))
  const bodies = await Promise.all([...events.values()].map((event) => findEventBody(trx, event)))
  const byId = new Map(bodies.flat().map(({ id, event, body }) => [id, { event, body }]))
  return pending.flatMap((one) => {
    const content = byId.get(one.eventId)
    return content ? { ...one, ...content } : []
  })
}
