import { encodeTime } from 'ulid'
import { type Deps, nowIso } from '../context.ts'
import { deleteEndedDeliveries, deleteExpiredStreams, deleteUnnamedEvents } from '../repositories/delivery-retention.ts'
import { deleteExpiredKeys } from '../repositories/idempotency-keys.ts'
import { deleteJourneyBefore } from '../repositories/journey-clicks.ts'
import { longestCookieDays } from '../repositories/programs.ts'
import { bestEffort } from './best-effort.ts'

const DAY_MS = 86_400_000
const EVERY_MS = 3_600_000
const ID_TIME_LENGTH = 10
/** How long the log tells of a delivery that has ended, and how long it can be made again. */
const DELIVERY_DAYS = 30

/** Removes what has had its time, now and every hour. Answers how to stop. */
export function startHousekeeping(deps: Deps): () => void {
  const work = () => void bestEffort(deps.log, 'housekeeping_failed', () => keepHouse(deps))
  work()
  const timer = setInterval(work, EVERY_MS).unref()
  return () => clearInterval(timer)
}

/**
 * Drops expired `Idempotency-Key` replies, deliveries that ended long ago, and journey entries beyond the configured
 * retention; never a delivery that waits, nor a click that may still count for an order. In small transactions, so that
 * nobody waits long.
 */
export async function keepHouse(deps: Deps): Promise<void> {
  const { db } = deps
  const now = nowIso(deps)
  while (await db.transact((trx) => deleteExpiredKeys(trx, now)));
  while (await db.transact((trx) => deleteExpiredStreams(trx, now)));
  await dropOldDeliveries(deps)
  await dropOldJourney(deps)
}

/** Ids begin with the time they were made at, so that their key is an index by age too. */
const idAt = (prefix: 'dlv' | 'evt', ms: number) => `${prefix}_${encodeTime(ms, ID_TIME_LENGTH)}`

async function dropOldDeliveries({ db, now }: Deps): Promise<void> {
  const before = now() - DELIVERY_DAYS * DAY_MS
  const delivery = idAt('dlv', before)
  const event = idAt('evt', before - DAY_MS)
  // First, and a day later than deliveries: a redelivery that is being written keeps its event.
  while (await db.transact((trx) => deleteUnnamedEvents(trx, event, delivery)));
  const endedBefore = new Date(before).toISOString()
  while (await db.transact((trx) => deleteEndedDeliveries(trx, delivery, endedBefore)));
}

async function dropOldJourney(deps: Deps): Promise<void> {
  const { db, config } = deps
  if (config.journeyRetentionDays === undefined) return
  const days = Math.max(config.journeyRetentionDays, await longestCookieDays(db.read))
  const before = new Date(deps.now() - days * DAY_MS).toISOString()
  while (await db.transact((trx) => deleteJourneyBefore(trx, before)));
}
