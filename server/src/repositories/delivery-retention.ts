import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../db/database.ts'

const LOT = 500

/** Ids after one and before another; they are walked through in lots, so that no transaction looks at many rows. */
export interface Stretch {
  after: string
  before: string
}

const run = async (trx: Trx, statement: RawBuilder<unknown>): Promise<bigint> =>
  (await statement.execute(trx)).numAffectedRows ?? 0n

/** The last id of the first lot of a stretch; nothing when the lot holds all the rest. */
async function endOfLot(trx: Trx, table: string, { after, before }: Stretch): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where id > ${after} and id < ${before} order by id limit 1 offset ${LOT - 1}`.execute(
    trx,
  )
  return rows[0]?.id
}

/** Deletes deliveries of all shops that ended before an instant, in a lot of the stretch. Answers where the next begins. */
export async function deleteEndedDeliveries(
  trx: Trx,
  stretch: Stretch,
  endedBefore: string,
): Promise<string | undefined> {
  const end = await endOfLot(trx, 'deliveries', stretch)
  await run(
    trx,
    sql`delete from deliveries where id > ${stretch.after} and id <= ${end ?? stretch.before}
      and status <> 'PENDING' and "finishedAt" < ${endedBefore}`,
  )
  return end
}

/** Deletes events of all shops that no delivery names, in a lot of the stretch. Answers where the next begins. */
export async function deleteUnnamedEvents(trx: Trx, stretch: Stretch): Promise<string | undefined> {
  const end = await endOfLot(trx, 'webhookEvents', stretch)
  // The limit has each event looked up by itself: PostgreSQL would rather read all deliveries once for each lot.
  await run(
    trx,
    sql`delete from "webhookEvents" where id > ${stretch.after} and id <= ${end ?? stretch.before}
      and (select 1 from deliveries d where d."eventId" = "webhookEvents".id limit 1) is null`,
  )
  return end
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
