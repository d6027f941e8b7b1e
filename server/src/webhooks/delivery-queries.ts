import { type RawBuilder, sql } from 'kysely'
import { type PageQuery, pageOf } from '../core/pagination.ts'
import { countRows } from '../core/row-counts.ts'
import type { Reader, Transaction } from '../database/access.ts'
import { prepared, preparedWrite } from '../database/prepared.ts'
import { defineReport } from '../database/report-worker.ts'
import type { DeliveryRow } from '../database/tables.ts'

/** A delivery that waits. */
export type PendingDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows'>

/** How a delivery ended. */
export interface FinishedDelivery {
  id: string
  status: 'SENT' | 'FAILED'
  code: string
  httpStatus: number | null
  durationMs: number
  finishedAt: string
}

// A literal, not a value: a partial index is only used when its condition stands in the query.
const isPending = sql<boolean>`"status" = 'PENDING'`

/** A shop that something waits for, with the first and the last of its subscriptions that it waits for. */
export interface ShopWithPending {
  id: string
  first: string
  last: string
}

/** The shops after one that something waits for, by id. Looks at few rows for each, however many wait. */
export const listShopsWithPending = prepared<{ after: string; limit: number }>()((db, { after, limit }) =>
  sql<ShopWithPending>`
    with recursive waiting(id) as (
      select min("shopId") from deliveries where "status" = 'PENDING' and "shopId" > ${after}
      union all
      select (select min("shopId") from deliveries where "status" = 'PENDING' and "shopId" > waiting.id)
      from waiting where waiting.id is not null
    )
    select id,
      (select min("subscriptionId") from deliveries where "status" = 'PENDING' and "shopId" = waiting.id) as "first",
      (select max("subscriptionId") from deliveries where "status" = 'PENDING' and "shopId" = waiting.id) as "last"
    from waiting where id is not null limit ${limit}`.compile(db),
)

/** The subscriptions of a shop after one that something waits for, in the same way. */
export const listSubscriptionsWithPending = prepared<{ shopId: string; after: string; limit: number }>()(
  (db, { shopId, after, limit }) =>
    sql<{ id: string }>`
    with recursive waiting(id) as (
      select min("subscriptionId") from deliveries
      where "status" = 'PENDING' and "shopId" = ${shopId} and "subscriptionId" > ${after}
      union all
      select (
        select min("subscriptionId") from deliveries
        where "status" = 'PENDING' and "shopId" = ${shopId} and "subscriptionId" > waiting.id
      )
      from waiting where waiting.id is not null
    )
    select id from waiting where id is not null limit ${limit}`.compile(db),
)

/** What waits for a subscription, the oldest first. */
export const listPending = prepared<{ shopId: string; subscriptionId: string; limit: number }>()(
  (db, { shopId, subscriptionId, limit }) =>
    db
      .selectFrom('deliveries')
      .select(['id', 'eventId', 'subscriptionId', 'webhookId', 'follows'])
      .where(isPending)
      .where('shopId', '=', shopId)
      .where('subscriptionId', '=', subscriptionId)
      .orderBy('id')
      .limit(limit)
      .compile(),
)

const recordResult = preparedWrite<FinishedDelivery>()((trx, ended) => {
  const { id, status, code, httpStatus, durationMs, finishedAt } = ended
  const changes = { status, code, httpStatus, durationMs, finishedAt }
  return trx.updateTable('deliveries').set(changes).where('id', '=', id).where(isPending).compile()
})

/** Writes how deliveries ended; one that has ended already stays as it is. */
export async function recordResults(trx: Transaction, finished: FinishedDelivery[]): Promise<void> {
  await Promise.all(finished.map((ended) => recordResult(trx, ended)))
}

/** Forgets what waits for a subscription. */
export async function deletePending(trx: Transaction, shopId: string, subscriptionId: string): Promise<void> {
  await trx
    .deleteFrom('deliveries')
    .where(isPending)
    .where('shopId', '=', shopId)
    .where('subscriptionId', '=', subscriptionId)
    .execute()
}

interface DeliveryFilter extends PageQuery {
  subscriptionId?: string
  event?: string
  status?: DeliveryRow['status']
}

/** A delivery with the name of its event. */
export type LoggedDelivery = DeliveryRow & { event: string }

const deliveries = (db: Reader, shopId: string) =>
  db
    .selectFrom('deliveries')
    .innerJoin('webhookEvents', 'webhookEvents.id', 'deliveries.eventId')
    .selectAll('deliveries')
    .select('webhookEvents.event')
    .where('deliveries.shopId', '=', shopId)

/** A filtered list is counted row by row. */
export const isFiltered = ({ subscriptionId, event, status }: DeliveryFilter): boolean =>
  Boolean(subscriptionId || event || status)

/** Newest first. */
async function listDeliveries(db: Reader, shopId: string, query: DeliveryFilter) {
  let list = deliveries(db, shopId).orderBy('deliveries.id', 'desc')
  if (query.subscriptionId) list = list.where('deliveries.subscriptionId', '=', query.subscriptionId)
  if (query.event) list = list.where('webhookEvents.event', '=', query.event)
  if (query.status) list = list.where('deliveries.status', '=', query.status)
  // Counting them one by one needs their events only where those are asked for.
  return pageOf(list, query, query.event ? {} : { total: await countDeliveries(db, shopId, query) })
}

async function countDeliveries(db: Reader, shopId: string, query: DeliveryFilter): Promise<number> {
  if (!query.subscriptionId && !query.status) return countRows(db, shopId, { list: 'deliveries' })
  let list = db.selectFrom('deliveries').where('shopId', '=', shopId)
  if (query.subscriptionId) list = list.where('subscriptionId', '=', query.subscriptionId)
  if (query.status) list = list.where('status', '=', query.status)
  const { total } = await list.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return total
}

export const findDelivery = (db: Reader, shopId: string, id: string): Promise<LoggedDelivery | undefined> =>
  deliveries(db, shopId).where('deliveries.id', '=', id).executeTakeFirst()

const BATCH_SIZE = 500

/** Ids after one and before another; they are walked through in lots, so that no transaction looks at many rows. */
export interface IdRange {
  after: string
  before: string
}

const executeDelete = async (trx: Transaction, statement: RawBuilder<unknown>): Promise<bigint> =>
  (await statement.execute(trx)).numAffectedRows ?? 0n

/** The last id of the first lot of a stretch; nothing when the lot holds all the rest. */
async function endOfBatch(trx: Transaction, table: string, { after, before }: IdRange): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where id > ${after} and id < ${before} order by id limit 1 offset ${BATCH_SIZE - 1}`.execute(
    trx,
  )
  return rows[0]?.id
}

/** Deletes deliveries of all shops that ended before an instant, in a lot of the stretch. Answers where the next begins. */
export async function deleteFinishedDeliveries(
  trx: Transaction,
  stretch: IdRange,
  endedBefore: string,
): Promise<string | undefined> {
  const end = await endOfBatch(trx, 'deliveries', stretch)
  await executeDelete(
    trx,
    sql`delete from deliveries where id > ${stretch.after} and id <= ${end ?? stretch.before}
      and status <> 'PENDING' and "finishedAt" < ${endedBefore}`,
  )
  return end
}

/** Deletes events of all shops that no delivery names, in a lot of the stretch. Answers where the next begins. */
export async function deleteUnreferencedEvents(trx: Transaction, stretch: IdRange): Promise<string | undefined> {
  const end = await endOfBatch(trx, 'webhookEvents', stretch)
  // The limit has each event looked up by itself: PostgreSQL would rather read all deliveries once for each lot.
  await executeDelete(
    trx,
    sql`delete from "webhookEvents" where id > ${stretch.after} and id <= ${end ?? stretch.before}
      and (select 1 from deliveries d where d."eventId" = "webhookEvents".id limit 1) is null`,
  )
  return end
}

/** Deletes some of what was kept for listeners that are gone, in the end themselves. Answers whether there may be more. */
export async function deleteExpiredStreams(trx: Transaction, now: string): Promise<boolean> {
  const gone = sql`select id from streams where "expiresAt" <= ${now}`
  const deleted = await executeDelete(
    trx,
    sql`delete from "streamDeliveries" where id in (
      select id from "streamDeliveries" where "streamId" in (${gone}) limit ${BATCH_SIZE})`,
  )
  if (deleted === BigInt(BATCH_SIZE)) return true
  await executeDelete(trx, sql`delete from streams where id in (${gone})`)
  return false
}

/** What is sent for an event. */
export const findEventBody = prepared<{ id: string }>()((db, { id }) =>
  db.selectFrom('webhookEvents').select(['id', 'event', 'body']).where('id', '=', id).compile(),
)

export const deliveryList = defineReport(
  import.meta.url,
  'deliveryList',
  (db, input: { shopId: string; query: DeliveryFilter }) => listDeliveries(db, input.shopId, input.query),
)
