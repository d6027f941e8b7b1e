import { type Deps, nowIso } from '../core/context.ts'
import { deleteExpiredResponses } from '../core/idempotency.ts'
import { bestEffort } from '../core/log.ts'
import type { ShopRow } from '../database/tables.ts'
import { listShops } from '../domains/accounts/queries.ts'
import { deleteTestShopRows } from '../domains/shops/shop-deletion.ts'
import {
  inBatches,
  purgeDeliveries,
  purgeEvents,
  purgeJourney,
  purgePendingNotices,
  purgeTestShop,
} from '../domains/shops/shop-retention.ts'

const INTERVAL_MS = 3_600_000

/** Deletes expired data and updates the planner's statistics, now and every hour until the server stops. */
export function startRetention(deps: Deps): void {
  const work = async () => {
    await purgeExpired(deps)
    if (!deps.stopping.aborted) await bestEffort(deps.log, 'optimize_failed', () => deps.db.optimize())
  }
  void work()
  setInterval(() => void work(), INTERVAL_MS).unref()
}

/**
 * Deletes expired `Idempotency-Key` responses, finished deliveries, and journey entries and refunds of unknown orders
 * past the configured retention. Keeps pending deliveries and clicks that may still count for an order. Transactions
 * are small, and a failed step does not stop the others.
 */
export async function purgeExpired(deps: Deps): Promise<void> {
  const now = nowIso(deps)
  const steps = [
    () => inBatches(deps, (trx) => deleteExpiredResponses(trx, now)),
    // Before deliveries, with one more day of retention, so that a redelivery in progress keeps its event.
    () => forEachShop(deps, (shop) => purgeEvents(deps, shop)),
    () => forEachShop(deps, (shop) => purgeDeliveries(deps, shop)),
    () => forEachShop(deps, (shop) => purgeJourney(deps, shop)),
    () => forEachShop(deps, (shop) => purgePendingNotices(deps, shop)),
    () => forEachShop(deps, async (shop) => shop.clockOffsetMs > 0 && purgeTestShop(deps, shop)),
    () => forEachShop(deps, async (shop) => isBeingDeleted(shop) && deleteTestShopRows(deps, shop.id)),
  ]
  for (const step of steps) await bestEffort(deps.log, 'retention_failed', step)
}

/** A test shop's deletion continues here if its request was interrupted. */
const isBeingDeleted = ({ isTest, deletionStartedAt }: ShopRow) => isTest === 1 && deletionStartedAt !== null

/** Runs work for every shop until the server stops. */
async function forEachShop(deps: Deps, work: (shop: ShopRow) => Promise<unknown>): Promise<void> {
  for (const shop of await listShops(deps.db.read)) {
    if (deps.stopping.aborted) return
    await work(shop)
  }
}
