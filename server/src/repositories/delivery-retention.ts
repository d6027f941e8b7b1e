import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../db/database.ts'

const LOT = 500

const run = async (trx: Trx, statement: RawBuilder<unknown>): Promise<bigint> =>
  (await statement.execute(trx)).numAffectedRows ?? 0n

/**
 * Deletes some deliveries of all shops that were made before one with that id and ended before an instant. Answers
 * whether there may be more.
 */
export async function deleteEndedDeliveries(trx: Trx, id: string, endedBefore: string): Promise<boolean> {
  const deleted = await run(
    trx,
    sql`delete from deliveries where id in (
      select id from deliveries
      where id < ${id} and status <> 'PENDING' and "finishedAt" < ${endedBefore}
      order by id limit ${LOT})`,
  )
  return deleted === BigInt(LOT)
}

/**
 * Deletes some events of all shops that were made before one with that id, and that nothing names any more: no
 * redelivery, and no delivery before `deliveryId`, which must be later than all their first ones. Answers whether there
 * may be more.
 */
export async function deleteUnnamedEvents(trx: Trx, id: string, deliveryId: string): Promise<boolean> {
  const deleted = await run(
    trx,
    sql`delete from "webhookEvents" where id in (
      select e.id from "webhookEvents" e
      where e.id < ${id}
        and e.id not in (select "eventId" from deliveries where id < ${deliveryId})
        and not exists (select 1 from deliveries d where d."eventId" = e.id and d."webhookId" <> d.id)
      order by e.id limit ${LOT})`,
  )
  return deleted === BigInt(LOT)
}

/** Deletes some of what was kept for listeners that are gone, in the end themselves. Answers whether there may be more. */
export async function deleteExpiredStreams(trx: Trx, now: string): Promise<boolean> {
  const gone = sql`select id from streams where "expiresAt" <= ${now}`
  const deleted = await run(
    trx,
    sql`delete from "streamDeliveries" where id in (
      select id from "streamDeliveries" where "streamId" in (${gone}) limit ${LOT})`,
  )
  if (deleted === BigInt(LOT)) return true
  await run(trx, sql`delete from streams where id in (${gone})`)
  return false
}
