import { type RawBuilder, sql } from 'kysely'
import { defineList, isDeep, rowsOf } from '../../core/lists.ts'
import { countOf, type PageQuery, pageOf } from '../../core/pagination.ts'
import { countRows, withoutIndex } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { isSqlite } from '../../database/event-loop.ts'
import { preparedByShape } from '../../database/prepared.ts'
import { updateRows } from '../../database/rows.ts'
import type { DeliveryRow, WebhookEventRow } from '../../database/tables.ts'

/** The result of an attempt. */
export interface FinishedDelivery {
  shopId: string
  id: string
  status: 'SENT' | 'FAILED' | 'RETRYING'
  code: string
  httpStatus: number | null
  durationMs: number
  attempts: number
  nextAttemptAt: string | null
  finishedAt: string | null
}

// A literal instead of a parameter: a partial index is only used when its condition is part of the query.
const isPending = sql<boolean>`"status" = 'PENDING'`

/** Records deliveries' results. A delivery that has a result keeps it. */
export async function recordResults(trx: Transaction, finished: FinishedDelivery[]): Promise<void> {
  await Promise.all(
    finished.map(({ shopId, id, ...result }) => {
      const changes = { ...result, claimedBy: null, claimedUntil: null }
      return updateRows(trx, 'deliveries', { shopId, id, status: 'PENDING' }, changes)
    }),
  )
}

/** Deliveries that become due in one transaction, so that other shops wait for milliseconds only. */
export const DUE_BATCH_SIZE = 200

const isRetrying = sql<boolean>`"status" = 'RETRYING'`

/** Deletes the pending and retrying deliveries of a subscription. */
export async function deletePending(trx: Transaction, shopId: string, subscriptionId: string): Promise<void> {
  for (const condition of [isPending, isRetrying]) {
    await trx
      .deleteFrom('deliveries')
      .where(condition)
      .where('shopId', '=', shopId)
      .where('subscriptionId', '=', subscriptionId)
      .execute()
  }
}

/** Marks a RETRYING delivery as PENDING before it is due. One that another process made PENDING stays so. */
export async function retryNow(trx: Transaction, shopId: string, id: string): Promise<void> {
  const changes = { status: 'PENDING', nextAttemptAt: null } as const
  await updateRows(trx, 'deliveries', { shopId, id, status: 'RETRYING' }, changes)
}

const dueRetries = preparedByShape<{ now: string; shopId?: string | undefined }>()((trx, { now, shopId }) => {
  const due = trx
    .selectFrom('deliveries')
    .select(['shopId', 'id'])
    .where(isRetrying)
    .$if(shopId !== undefined, (query) => query.where('shopId', '=', shopId ?? ''))
    .where('nextAttemptAt', '<=', now)
    .orderBy('nextAttemptAt')
    .limit(sql.lit(DUE_BATCH_SIZE))
  // Several processes do this at the same time.
  return (isSqlite(trx) ? due : due.forUpdate().skipLocked()).compile()
})

/**
 * Marks RETRYING deliveries that are due by `now` as PENDING, oldest first, at most DUE_BATCH_SIZE: of one shop by its clock, or of all
 * shops by the clock of the server, which no clock is behind. Returns how many there were.
 */
export async function makeDuePending(trx: Transaction, now: string, shopId?: string): Promise<number> {
  const rows = await dueRetries(trx, { now, shopId })
  for (const [shopId, due] of Map.groupBy(rows, (row) => row.shopId)) {
    await trx
      .updateTable('deliveries')
      .set({ status: 'PENDING', nextAttemptAt: null })
      .where('shopId', '=', shopId)
      .where(
        'id',
        'in',
        due.map(({ id }) => id),
      )
      .execute()
  }
  return rows.length
}

const firstRetries = (db: Reader) =>
  db
    .selectFrom('shops')
    .select(['id', 'clockOffsetMs'])
    .select((shop) =>
      shop
        .selectFrom('deliveries')
        .select((row) => row.fn.min<string | null>('nextAttemptAt').as('first'))
        .whereRef('deliveries.shopId', '=', 'shops.id')
        .where(isRetrying)
        .as('first'),
    )
    .where(sql<boolean>`"clockOffsetMs" > 0`)
    .execute()

/** The test shops in which deliveries are due by an advanced clock, those that are due for the longest first. */
export async function listShopsWithAdvancedRetries(
  db: Reader,
  now: number,
  limit: number,
): Promise<{ id: string; clockOffsetMs: number }[]> {
  const shops = (await firstRetries(db)).map(({ first, ...shop }) => ({
    ...shop,
    dueAt: first === null ? Number.POSITIVE_INFINITY : Date.parse(first) - shop.clockOffsetMs,
  }))
  const due = shops.filter(({ dueAt }) => dueAt <= now).sort((a, b) => a.dueAt - b.dueAt)
  return due.slice(0, limit)
}

export interface DeliveryFilter extends PageQuery {
  subscriptionId?: string
  event?: string
  status?: DeliveryRow['status']
}

/** A delivery with the name of its event. */
export type LoggedDelivery = DeliveryRow & Pick<WebhookEventRow, 'event' | 'erasedAt'>

const deliveries = (db: Reader, shopId: string) =>
  db
    .selectFrom('deliveries')
    .innerJoin('webhookEvents', (join) =>
      join.onRef('webhookEvents.shopId', '=', 'deliveries.shopId').onRef('webhookEvents.id', '=', 'deliveries.eventId'),
    )
    .selectAll('deliveries')
    .select(['webhookEvents.event', 'webhookEvents.erasedAt'])
    .where('deliveries.shopId', '=', shopId)

/** Newest first. */
async function listDeliveries(db: Reader, shopId: string, query: DeliveryFilter) {
  let list = deliveries(db, shopId).orderBy('deliveries.id', 'desc')
  if (query.subscriptionId) list = list.where('deliveries.subscriptionId', '=', query.subscriptionId)
  if (query.event) list = list.where('webhookEvents.event', '=', query.event)
  if (query.status) list = list.where('deliveries.status', '=', query.status)
  // Counting needs the join with events only for a filter by event.
  return pageOf(list, query, query.event ? {} : { total: await countDeliveries(db, shopId, query) })
}

async function countDeliveries(db: Reader, shopId: string, query: DeliveryFilter): Promise<number> {
  if (!query.subscriptionId && !query.status) return countRows(db, shopId, { list: 'deliveries' })
  let list = db.selectFrom('deliveries').where('shopId', '=', shopId)
  if (query.subscriptionId) list = list.where('subscriptionId', '=', query.subscriptionId)
  if (query.status) list = list.where('status', '=', query.status)
  return countOf(list)
}

/** The rows of a filtered list are counted one by one. */
export const deliveryList = defineList(import.meta.url, 'deliveryList', {
  read: listDeliveries,
  cost: (query: DeliveryFilter) =>
    query.subscriptionId || query.event || query.status || isDeep(query) ? rowsOf({ list: 'deliveries' }) : undefined,
})

export const findDelivery = (db: Reader, shopId: string, id: string): Promise<LoggedDelivery | undefined> =>
  deliveries(db, shopId).where('deliveries.id', '=', id).executeTakeFirst()

/** The deliveries of an event, newest first. */
export const listDeliveriesOfEvent = (
  db: Reader,
  shopId: string,
  { eventId, limit }: { eventId: string; limit: number },
): Promise<LoggedDelivery[]> =>
  deliveries(db, shopId)
    .where('deliveries.eventId', '=', eventId)
    .orderBy(withoutIndex(db, 'deliveries.id'), 'desc')
    .limit(limit)
    .execute()

const BATCH_SIZE = 500

/** Ids of a shop after one and before another. They are deleted in batches, so that no transaction reads many rows. */
export interface IdRange {
  shopId: string
  after: string
  before: string
}

/** Whether a shop has rows whose id is before one. */
export async function hasRowsBefore(
  db: Reader,
  table: 'deliveries' | 'webhookEvents',
  { shopId, before }: Pick<IdRange, 'shopId' | 'before'>,
): Promise<boolean> {
  const rows = db.selectFrom(table).select('id').where('shopId', '=', shopId).where('id', '<', before)
  return (await rows.limit(1).executeTakeFirst()) !== undefined
}

const executeDelete = async (trx: Transaction, statement: RawBuilder<unknown>): Promise<bigint> =>
  (await statement.execute(trx)).numAffectedRows ?? 0n

/** The last id of the first batch of a range; undefined when the batch holds the whole range. */
async function endOfBatch(
  trx: Transaction,
  table: string,
  { shopId, after, before }: IdRange,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where "shopId" = ${shopId} and id > ${after} and id < ${before}
    order by id limit 1 offset ${BATCH_SIZE - 1}`.execute(trx)
  return rows[0]?.id
}

/** Deletes the deliveries in the first batch of a range that finished before an instant. Returns where the next begins. */
export async function deleteFinishedDeliveries(
  trx: Transaction,
  range: IdRange,
  finishedBefore: string,
): Promise<string | undefined> {
  const { shopId, after, before } = range
  const end = await endOfBatch(trx, 'deliveries', range)
  await executeDelete(
    trx,
    sql`delete from deliveries where "shopId" = ${shopId} and id > ${after} and id <= ${end ?? before}
      and status in ('SENT', 'FAILED') and "finishedAt" < ${finishedBefore}`,
  )
  return end
}

/** Deletes the events in the first batch of a range that no delivery references. Returns where the next begins. */
export async function deleteUnreferencedEvents(trx: Transaction, range: IdRange): Promise<string | undefined> {
  const { shopId, after, before } = range
  const end = await endOfBatch(trx, 'webhookEvents', range)
  // The limit makes PostgreSQL look up each event instead of reading all deliveries once per batch.
  await executeDelete(
    trx,
    sql`delete from "webhookEvents" where "shopId" = ${shopId} and id > ${after} and id <= ${end ?? before}
      and (
        select 1 from deliveries d where d."shopId" = "webhookEvents"."shopId" and d."eventId" = "webhookEvents".id limit 1
      ) is null`,
  )
  return end
}
