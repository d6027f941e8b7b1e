import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { DeliveryRow } from '../db/tables.ts'
import { prepared } from './prepared.ts'

export type NewDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows' | 'createdAt'>

/** A delivery that waits. */
export type WaitingDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows'>

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
const isWaiting = sql<boolean>`"status" = 'PENDING'`

const insertDelivery = prepared<NewDelivery & { shopId: string }>()((trx, row) => {
  const { id, shopId, eventId, subscriptionId, webhookId, follows, createdAt } = row
  const values = { id, shopId, eventId, subscriptionId, webhookId, follows, createdAt, status: 'PENDING' as const }
  return trx.insertInto('deliveries').values(values).compile()
})

export async function insertDeliveries(trx: Trx, shopId: string, rows: NewDelivery[]): Promise<void> {
  await Promise.all(rows.map((row) => insertDelivery(trx, { shopId, ...row })))
}

/** A shop that something waits for, with the first and the last of its subscriptions that it waits for. */
export interface WaitingShop {
  id: string
  first: string
  last: string
}

/** The shops after one that something waits for, by id. Looks at few rows for each, however many wait. */
export const listShopsWaitedFor = prepared<{ after: string; limit: number }>()((db, { after, limit }) =>
  sql<WaitingShop>`
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
export const listWaitedFor = prepared<{ shopId: string; after: string; limit: number }>()(
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

/** What waits to be sent, and since when. */
export async function findOutboxDepth(db: Trx): Promise<{ pending: number; oldest: string | null }> {
  const { rows } = await sql<{ pending: number; oldest: string | null }>`
    select count(*) as pending, min("createdAt") as oldest from deliveries where "status" = 'PENDING'`.execute(db)
  return rows[0] ?? { pending: 0, oldest: null }
}

/** What waits for a subscription, the oldest first. */
export const listWaiting = prepared<{ shopId: string; subscriptionId: string; limit: number }>()(
  (db, { shopId, subscriptionId, limit }) =>
    db
      .selectFrom('deliveries')
      .select(['id', 'eventId', 'subscriptionId', 'webhookId', 'follows'])
      .where(isWaiting)
      .where('shopId', '=', shopId)
      .where('subscriptionId', '=', subscriptionId)
      .orderBy('id')
      .limit(limit)
      .compile(),
)

const updateOne = prepared<FinishedDelivery>()((trx, ended) => {
  const { id, status, code, httpStatus, durationMs, finishedAt } = ended
  const changes = { status, code, httpStatus, durationMs, finishedAt }
  return trx.updateTable('deliveries').set(changes).where('id', '=', id).where(isWaiting).compile()
})

/** Writes how deliveries ended; one that has ended already stays as it is. */
export async function updateFinished(trx: Trx, finished: FinishedDelivery[]): Promise<void> {
  await Promise.all(finished.map((ended) => updateOne(trx, ended)))
}

/** Forgets what waits for a subscription. */
export async function deleteWaiting(trx: Trx, shopId: string, subscriptionId: string): Promise<void> {
  await trx
    .deleteFrom('deliveries')
    .where(isWaiting)
    .where('shopId', '=', shopId)
    .where('subscriptionId', '=', subscriptionId)
    .execute()
}
