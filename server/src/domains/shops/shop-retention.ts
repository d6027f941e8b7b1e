import { clockOf, type Deps, nowIso } from '../../core/context.ts'
import { deleteExpiredResponses } from '../../core/idempotency.ts'
import { idBoundary } from '../../core/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { JourneyRow, ShopRow } from '../../database/tables.ts'
import { deleteJourney, listJourneyBefore } from '../journey/queries.ts'
import { deletePendingNotices, listOrdersWithNotices } from '../ledger/order-notices.ts'
import { longestClickWindow } from '../programs/queries.ts'
import {
  deleteFinishedDeliveries,
  deleteUnreferencedEvents,
  hasRowsBefore,
  type IdRange,
} from '../webhooks/delivery-queries.ts'

const DAY_MS = 86_400_000
/**
 * How long finished deliveries stay in the log and can be redelivered, and the minimum time events stay in the feed.
 */
const DELIVERY_DAYS = 30

type ShopClock = Pick<ShopRow, 'id' | 'clockOffsetMs'>

/** Runs one transaction per batch until nothing is left or the server stops. */
export async function inBatches({ db, stopping }: Deps, work: (trx: Transaction) => Promise<boolean>): Promise<void> {
  while (!stopping.aborted && (await db.transact(work)));
}

/** Deletes a shop's rows with IDs below `before`. */
async function purgeOlder(
  { db, stopping }: Deps,
  { table, shopId, before }: { table: 'deliveries' | 'webhookEvents'; shopId: string; before: string },
  work: (trx: Transaction, range: IdRange) => Promise<string | undefined>,
): Promise<void> {
  if (stopping.aborted || !(await hasRowsBefore(db.read, table, { shopId, before }))) return
  for (let next: string | undefined = ''; next !== undefined && !stopping.aborted; ) {
    const after: string = next
    next = await db.transact((trx) => work(trx, { shopId, after, before }))
  }
}

const deliveryCutoff = (deps: Deps, shop: ShopClock) => clockOf(deps, shop).now() - DELIVERY_DAYS * DAY_MS

/**
 * Deletes a shop's events past their retention. Call it before {@link purgeDeliveries}: events have one more day of
 * retention, so that a redelivery in progress keeps its event.
 */
export const purgeEvents = (deps: Deps, shop: ShopClock): Promise<void> => {
  const before = idBoundary('evt', deliveryCutoff(deps, shop) - DAY_MS)
  return purgeOlder(deps, { table: 'webhookEvents', shopId: shop.id, before }, deleteUnreferencedEvents)
}

/** Deletes a shop's finished deliveries past their retention. */
export function purgeDeliveries(deps: Deps, shop: ShopClock): Promise<void> {
  const cutoff = deliveryCutoff(deps, shop)
  const finishedBefore = new Date(cutoff).toISOString()
  return purgeOlder(deps, { table: 'deliveries', shopId: shop.id, before: idBoundary('dlv', cutoff) }, (trx, range) =>
    deleteFinishedDeliveries(trx, range, finishedBefore),
  )
}

const JOURNEY_TYPES: JourneyRow['type'][] = ['click', 'page_view', 'conversion']
const ENTRIES_AT_ONCE = 500

/** Deletes the journey entries of a shop past the configured retention, except clicks that may still count. */
export async function purgeJourney(deps: Deps, shop: ShopClock): Promise<void> {
  const { db, config, stopping } = deps
  if (config.journeyRetentionDays === undefined) return
  const days = Math.max(config.journeyRetentionDays, await longestClickWindow(db.read, shop.id))
  const before = new Date(clockOf(deps, shop).now() - days * DAY_MS).toISOString()
  for (const type of JOURNEY_TYPES) {
    for (let isDone = false; !isDone && !stopping.aborted; ) {
      const ids = await listJourneyBefore(db.read, shop.id, { type, before, limit: ENTRIES_AT_ONCE })
      // Takes the shop's turn: one transaction that locks several shops' counts would deadlock with orders.
      if (ids.length > 0) await db.transact((trx) => deleteJourney(trx, shop.id, ids), shop.id)
      isDone = ids.length < ENTRIES_AT_ONCE
    }
  }
}

const NOTICES_AT_ONCE = 200

/** Deletes a shop's refunds and cancellations whose order was not reported within the configured time. */
export async function purgePendingNotices(deps: Deps, shop: ShopClock): Promise<void> {
  const { db, config, stopping } = deps
  if (config.pendingRefundRetentionDays === undefined) return
  const before = new Date(clockOf(deps, shop).now() - config.pendingRefundRetentionDays * DAY_MS).toISOString()
  for (let after: string | undefined = ''; after !== undefined && !stopping.aborted; ) {
    const page = { shopId: shop.id, after, before, limit: NOTICES_AT_ONCE }
    const { orderIds, last } = await listOrdersWithNotices(db.read, page)
    // Takes the shop's turn: an order reported at the same time either keeps its notices or never sees them.
    if (orderIds.length > 0)
      await db.transact((trx) => deletePendingNotices(trx, { shopId: shop.id, orderIds, before }), shop.id)
    after = last
  }
}

/**
 * Deletes what has expired in a test shop by its own clock. What expires by the server's clock is deleted for all shops
 * at once.
 */
export async function purgeTestShop(deps: Deps, shop: ShopClock): Promise<void> {
  const now = nowIso(clockOf(deps, shop))
  await inBatches(deps, (trx) => deleteExpiredResponses(trx, now, shop.id))
  await purgeEvents(deps, shop)
  await purgeDeliveries(deps, shop)
  await purgeJourney(deps, shop)
}
