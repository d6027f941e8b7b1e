import type { Transaction } from '../../database/access.ts'
import {
  deleteWaiting,
  type FinishedDelivery,
  listBodies,
  listShopsWaitedFor,
  listWaitedFor,
  listWaiting,
  updateFinished,
  type WaitingDelivery,
} from '../delivery-queries.ts'
import {
  type Claimant,
  claimDestination,
  type Destination,
  hasSubscription,
  listDestinations,
  releaseDestination,
} from '../queries.ts'

/** So many shops are looked at in one transaction, and so many subscriptions of each. */
export const PAGE = 64
const SUBSCRIPTIONS_PAGE = 128

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
  /** Look at the shops after this one first. */
  after: string
  /** Of a shop, look at the subscriptions after this one first. */
  afterOf: ReadonlyMap<string, string>
  /** How many more deliveries it wants of each subscription, given by shop. */
  plan: (waiting: ReadonlyMap<string, string[]>) => Map<string, number>
}

export interface Catch {
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
 * One transaction with the outbox: results in, deliveries out. Only one process at a time sends to a subscription; it
 * gives that right back in the transaction that finds nothing more to send, so nothing is overlooked in between.
 */
export async function exchange(trx: Transaction, bid: Bid): Promise<Catch> {
  const { by } = bid.claimant
  await updateFinished(trx, bid.finished)
  const held = countHeld(bid)
  const mine = await listDestinations(trx, { by })
  const seen = await look(trx, bid)
  const shopOf = new Map([...seen].flatMap(([shopId, ids]) => ids.map((id) => [id, shopId])))
  const plan = bid.plan(seen)
  // In the order of ids, so that two processes cannot wait for each other.
  const wanted = [...plan.keys()].filter((id) => !mine.some((one) => one.id === id)).sort()
  const got = await Promise.all(wanted.map((id) => claimDestination(trx, { ...bid.claimant, id })))
  const destinations = new Map([...mine, ...got.flat()].map((one) => [one.id, one]))
  const lost = wanted.filter((id) => !destinations.has(id))
  const isShared = (await Promise.all(lost.map((id) => forgetOrphans(trx, shopOf.get(id) ?? '', id)))).includes(false)

  const taken = (
    await Promise.all(
      [...plan].map(([id, room]) => {
        if (!destinations.has(id)) return []
        return take(trx, bid, { id, shopId: shopOf.get(id) ?? '', room, held: held.get(id) ?? 0 })
      }),
    )
  ).flat()
  const busy = new Set([...held.keys(), ...taken.map(({ subscriptionId }) => subscriptionId)])
  const idle = [...destinations.keys()].filter((id) => !busy.has(id))
  await Promise.all(idle.map((id) => releaseDestination(trx, { by, id })))
  for (const id of idle) destinations.delete(id)
  return { destinations, deliveries: await withBodies(trx, taken), seen, planned: new Set(plan.keys()), isShared }
}

/** A page of the shops that something waits for, and of each a page of its subscriptions: nobody's many hide the others'. */
async function look(trx: Transaction, { after, afterOf }: Bid): Promise<ReadonlyMap<string, string[]>> {
  const shops = await around(PAGE, after, (from, limit) => listShopsWaitedFor(trx, { after: from, limit }))
  const pages = shops.map(async ({ id: shopId, first, last }): Promise<[string, string[]]> => {
    // Most shops have one.
    if (first === last) return [shopId, [first]]
    const list = (from: string, limit: number) => listWaitedFor(trx, { shopId, after: from, limit })
    const page = await around(SUBSCRIPTIONS_PAGE, afterOf.get(shopId) ?? '', list)
    return [shopId, page.map(({ id }) => id)]
  })
  return new Map(await Promise.all(pages))
}

/** A page of rows by id, of which those after one come first. */
async function around<Row extends { id: string }>(
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

interface Wanted {
  shopId: string
  id: string
  room: number
  held: number
}

/** What waits for a subscription and is not already here. */
async function take(trx: Transaction, bid: Bid, { shopId, id, room, held }: Wanted) {
  const waiting = await listWaiting(trx, { shopId, subscriptionId: id, limit: room + held })
  return waiting.filter((one) => !bid.held.has(one.id)).slice(0, room)
}

function countHeld({ held, finished }: Bid): Map<string, number> {
  const counts = new Map<string, number>()
  const ended = new Set(finished.map(({ id }) => id))
  for (const [id, subscriptionId] of held) {
    if (!ended.has(id)) counts.set(subscriptionId, (counts.get(subscriptionId) ?? 0) + 1)
  }
  return counts
}

/** What waits for a subscription that is gone will never be sent. Answers whether it is gone. */
async function forgetOrphans(trx: Transaction, shopId: string, id: string): Promise<boolean> {
  if (await hasSubscription(trx, id)) return false
  await deleteWaiting(trx, shopId, id)
  return true
}

/** Deliveries of the same event share its body. */
async function withBodies(trx: Transaction, taken: WaitingDelivery[]): Promise<Delivery[]> {
  const eventIds = [...new Set(taken.map(({ eventId }) => eventId))]
  const bodies = await Promise.all(eventIds.map((id) => listBodies(trx, { id })))
  const byId = new Map(bodies.flat().map(({ id, event, body }) => [id, { event, body }]))
  return taken.flatMap((one) => {
    const content = byId.get(one.eventId)
    return content ? { ...one, ...content } : []
  })
}
