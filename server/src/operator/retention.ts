import { listShops } from '../accounts/queries.ts'
import { type Deps, nowIso } from '../core/context.ts'
import { deleteExpiredResponses } from '../core/idempotency.ts'
import { idBoundary } from '../core/ids.ts'
import { bestEffort } from '../core/log.ts'
import type { Transaction } from '../database/database.ts'
import { deleteJourneyBefore } from '../journey/queries.ts'
import { longestClickWindow } from '../programs/queries.ts'
import {
  deleteExpiredStreams,
  deleteFinishedDeliveries,
  deleteUnreferencedEvents,
  hasRowsBefore,
  type IdRange,
} from '../webhooks/delivery-queries.ts'

const DAY_MS = 86_400_000
const INTERVAL_MS = 3_600_000
/** How long finished deliveries stay in the log and can be redelivered, and how long events stay in the feed at least. */
const DELIVERY_DAYS = 30

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
 * Deletes expired `Idempotency-Key` responses, finished deliveries, and journey entries past the configured retention.
 * Keeps pending deliveries and clicks that may still count for an order. Transactions are small, and a failed step does
 * not prevent the others.
 */
export async function purgeExpired(deps: Deps): Promise<void> {
  const now = nowIso(deps)
  const steps = [
    () => inBatches(deps, (trx) => deleteExpiredResponses(trx, now)),
    () => inBatches(deps, (trx) => deleteExpiredStreams(trx, now)),
    // Before deliveries, with one more day of retention, so that a redelivery in progress keeps its event.
    () => purgeEvents(deps),
    () => purgeDeliveries(deps),
    () => purgeJourney(deps),
  ]
  for (const step of steps) await bestEffort(deps.log, 'retention_failed', step)
}

/** Runs one transaction per batch until nothing is left or the server stops. */
async function inBatches({ db, stopping }: Deps, work: (trx: Transaction) => Promise<boolean>): Promise<void> {
  while (!stopping.aborted && (await db.transact(work)));
}

/** Deletes rows with ids below `before`, shop by shop. */
async function purgeOlder(
  { db, stopping }: Deps,
  { table, before }: { table: 'deliveries' | 'webhookEvents'; before: string },
  work: (trx: Transaction, range: IdRange) => Promise<string | undefined>,
): Promise<void> {
  for (const { id: shopId } of await listShops(db.read)) {
    if (stopping.aborted) return
    if (!(await hasRowsBefore(db.read, table, { shopId, before }))) continue
    for (let next: string | undefined = ''; next !== undefined && !stopping.aborted; ) {
      const after: string = next
      next = await db.transact((trx) => work(trx, { shopId, after, before }))
    }
  }
}

const deliveryCutoff = ({ now }: Deps) => now() - DELIVERY_DAYS * DAY_MS

const purgeEvents = (deps: Deps): Promise<void> =>
  purgeOlder(
    deps,
    { table: 'webhookEvents', before: idBoundary('evt', deliveryCutoff(deps) - DAY_MS) },
    deleteUnreferencedEvents,
  )

async function purgeDeliveries(deps: Deps): Promise<void> {
  const before = deliveryCutoff(deps)
  const finishedBefore = new Date(before).toISOString()
  await purgeOlder(deps, { table: 'deliveries', before: idBoundary('dlv', before) }, (trx, range) =>
    deleteFinishedDeliveries(trx, range, finishedBefore),
  )
}

async function purgeJourney(deps: Deps): Promise<void> {
  const { db, config } = deps
  if (config.journeyRetentionDays === undefined) return
  const days = Math.max(config.journeyRetentionDays, await longestClickWindow(db.read))
  const before = new Date(deps.now() - days * DAY_MS).toISOString()
  await inBatches(deps, (trx) => deleteJourneyBefore(trx, before))
}
