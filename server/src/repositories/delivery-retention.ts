import { type RawBuilder, sql } from 'kysely'
import { encodeTime } from 'ulid'
import type { Trx } from '../db/database.ts'

const LOT = 500
const TIME_LENGTH = 10

/** Ids begin with the time they were made at, so that their key is an index by age too. */
const idAt = (prefix: 'dlv' | 'evt', ms: number) => `${prefix}_${encodeTime(ms, TIME_LENGTH)}`

const run = async (trx: Trx, statement: RawBuilder<unknown>): Promise<bigint> =>
  (await statement.execute(trx)).numAffectedRows ?? 0n

/** Deletes some deliveries of all shops that ended before an instant. Answers whether there may be more. */
export async function deleteEndedDeliveries(trx: Trx, before: number): Promise<boolean> {
  const deleted = await run(
    trx,
    sql`delete from deliveries where id in (
      select id from deliveries
      where id < ${idAt('dlv', before)} and status <> 'PENDING' and "finishedAt" < ${new Date(before).toISOString()}
      order by id limit ${LOT})`,
  )
  return deleted === BigInt(LOT)
}

/**
 * Deletes some events of all shops that are older than an instant and that no delivery names any more: neither those of
 * before `deliveriesBefore`, a little later, nor a redelivery. Answers whether there may be more.
 */
export async function deleteUnnamedEvents(trx: Trx, before: number, deliveriesBefore: number): Promise<boolean> {
  const deleted = await run(
    trx,
    sql`delete from "webhookEvents" where id in (
      select e.id from "webhookEvents" e
      where e.id < ${idAt('evt', before)}
        and e.id not in (select "eventId" from deliveries where id < ${idAt('dlv', deliveriesBefore)})
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
