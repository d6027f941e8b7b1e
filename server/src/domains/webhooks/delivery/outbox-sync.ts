import type { Transaction } from '../../../database/database.ts'
import type { SubscriptionRow } from '../../../database/tables.ts'
import {
  deletePending,
  failUndeliverable,
  findEventBody,
  listPending,
  listShopsWithPending,
  listSubscriptionsWithPending,
  type PendingDelivery,
} from '../delivery-queries.ts'
import {
  claimDestination,
  type Destination,
  findLease,
  type LeaseHolder,
  listDestinations,
  releaseDestination,
} from '../queries.ts'
import { type EndedAttempt, recordAttempts, type Unreachable } from './retry.ts'

/** How many shops are visited in one transaction, and how many subscriptions of each. */
export const SHOPS_PAGE = 64
const SUBSCRIPTIONS_PAGE = 128

/** A delivery with its payload. */
export interface Delivery extends PendingDelivery {
  event: string
  body: string
  traceparent: string | null
}

/** The state of a dispatcher, from which the next deliveries are chosen. */
export interface SyncRequest {
  leaseHolder: LeaseHolder
  ended: EndedAttempt[]
  /** The subscription of each claimed delivery by delivery id, finished ones included. */
  claimed: ReadonlyMap<string, string>
  /** The shops after this one come first. */
  afterShop: string
  /** By shop: the subscriptions after this one come first. */
  afterSubscription: ReadonlyMap<string, string>
  /** How many more deliveries to claim from each subscription, given the pending subscriptions by shop. */
  plan: (pending: ReadonlyMap<string, string[]>) => Map<string, number>
}

export interface SyncResult {
  /** The subscriptions to disable. */
  unreachable: Unreachable[]
  /** Where the dispatcher may send to now. */
  destinations: Map<string, Destination>
  deliveries: Delivery[]
  /** The subscriptions that were visited, by shop. Fewer shops than a page means that there are no others. */
  visited: ReadonlyMap<string, string[]>
  /** Those of them from which deliveries were to be claimed. */
  planned: ReadonlySet<string>
  /** There are pending deliveries that another process has leased. */
  isShared: boolean
}

/**
 * Records results and claims deliveries, in one transaction. Only the process that holds the lease of a subscription sends
 * to it. The lease is released in the transaction that finds nothing more to send, so no delivery is missed in between.
 */
export async function syncOutbox(trx: Transaction, request: SyncRequest): Promise<SyncResult> {
  const unreachable = await recordAttempts(trx, request.ended)
  return { unreachable, ...(await claimDeliveries(trx, request)) }
}

async function claimDeliveries(trx: Transaction, request: SyncRequest): Promise<Omit<SyncResult, 'unreachable'>> {
  const { leaseHolder } = request
  const unfinished = countUnfinished(request)
  const leased = await listDestinations(trx, { by: leaseHolder.holder })
  const visited = await findPending(trx, request)
  const shopOf = new Map([...visited].flatMap(([shopId, ids]) => ids.map((id) => [id, shopId])))
  const plan = request.plan(visited)
  // In the order of ids, so that two processes cannot deadlock.
  const unleased = [...plan.keys()].filter((id) => !leased.some((one) => one.id === id)).sort()
  const keys = unleased.map((id) => ({ shopId: shopOf.get(id) ?? '', id }))
  // One read for all: an update of each subscription that another process has leased would cost more.
  const leases = (await Promise.all(keys.map((key) => findLease(trx, key)))).flat()
  const existing = new Map(leases.map((lease) => [lease.id, lease]))
  const free = new Set(leases.filter((lease) => isFree(lease, leaseHolder)).map(({ id }) => id))
  const orphans = keys.filter(({ id }) => !existing.has(id))
  await Promise.all(orphans.map(({ shopId, id }) => deletePending(trx, shopId, id)))
  const disabled = new Set(leases.filter(({ disabledAt }) => disabledAt !== null).map(({ id }) => id))
  const undeliverable = keys.filter(({ id }) => disabled.has(id))
  const clockOffsetMs = (id: string) => existing.get(id)?.clockOffsetMs ?? 0
  const endOf = (id: string) => new Date(Date.parse(leaseHolder.now) + clockOffsetMs(id)).toISOString()
  await Promise.all(undeliverable.map((key) => failUndeliverable(trx, { ...key, at: endOf(key.id) })))
  const claims = keys.filter(({ id }) => free.has(id)).map((key) => claimDestination(trx, { ...leaseHolder, ...key }))
  const claimedNow = (await Promise.all(claims)).flat().map((one) => ({ ...one, clockOffsetMs: clockOffsetMs(one.id) }))
  const destinations = new Map([...leased, ...claimedNow].map((one) => [one.id, one]))

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
    visited,
    planned: new Set(plan.keys()),
    isShared: leases.some(({ id }) => !destinations.has(id) && !disabled.has(id)),
  }
}

const isFree = (
  { claimedBy, claimedAt, disabledAt }: Pick<SubscriptionRow, 'claimedBy' | 'claimedAt' | 'disabledAt'>,
  { expiredBefore }: LeaseHolder,
): boolean => disabledAt === null && (claimedBy === null || (claimedAt !== null && claimedAt < expiredBefore))

/** A page of the shops with pending deliveries, and a page of the subscriptions of each, so that no shop crowds out others. */
async function findPending(
  trx: Transaction,
  { afterShop, afterSubscription }: SyncRequest,
): Promise<ReadonlyMap<string, string[]>> {
  const shops = await pageAround(SHOPS_PAGE, afterShop, (after, limit) => listShopsWithPending(trx, { after, limit }))
  const pages = shops.map(
    async ({ id: shopId, firstSubscriptionId, lastSubscriptionId }): Promise<[string, string[]]> => {
      // Most shops have one subscription.
      if (firstSubscriptionId === lastSubscriptionId) return [shopId, [firstSubscriptionId]]
      const list = (after: string, limit: number) => listSubscriptionsWithPending(trx, { shopId, after, limit })
      const page = await pageAround(SUBSCRIPTIONS_PAGE, afterSubscription.get(shopId) ?? '', list)
      return [shopId, page.map(({ id }) => id)]
    },
  )
  return new Map(await Promise.all(pages))
}

/** A page of rows by id that begins after an id and wraps around. */
async function pageAround<Row extends { id: string }>(
  page: number,
  after: string,
  list: (after: string, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const first = await list('', page)
  // When one page holds all rows, one query is enough.
  const next = first.length < page || after === '' ? [] : await list(after, page)
  const rows = [...next, ...first.filter(({ id }) => id > after), ...first.filter(({ id }) => id <= after)]
  return [...new Map(rows.map((row) => [row.id, row])).values()].slice(0, page)
}

interface SubscriptionShare {
  shopId: string
  id: string
  /** The maximum number of deliveries to claim. */
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

function countUnfinished({ claimed, ended }: SyncRequest): Map<string, number> {
  const counts = new Map<string, number>()
  const endedIds = new Set(ended.map(({ id }) => id))
  for (const [id, subscriptionId] of claimed) {
    if (!endedIds.has(id)) counts.set(subscriptionId, (counts.get(subscriptionId) ?? 0) + 1)
  }
  return counts
}

/** Adds the payloads; deliveries of the same event share one. */
async function withBodies(trx: Transaction, pending: PendingDelivery[]): Promise<Delivery[]> {
  const events = new Map(pending.map(({ shopId, eventId }) => [eventId, { shopId, id: eventId }]))
  const bodies = await Promise.all([...events.values()].map((event) => findEventBody(trx, event)))
  const byId = new Map(bodies.flat().map(({ id, ...content }) => [id, content]))
  return pending.flatMap((one) => {
    const content = byId.get(one.eventId)
    return content ? { ...one, ...content } : []
  })
}
