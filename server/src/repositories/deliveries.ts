import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { DeliveryRow } from '../db/tables.ts'
import { chunks } from './chunks.ts'

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

export async function insertDeliveries(trx: Trx, shopId: string, rows: NewDelivery[]): Promise<void> {
  for (const part of chunks(rows)) {
    const values = part.map((row) => ({ shopId, status: 'PENDING' as const, ...row }))
    await trx.insertInto('deliveries').values(values).execute()
  }
}

/** The subscriptions after one that something waits for, by id. Looks at one row for each, however many wait. */
export async function listWaitedFor(db: Trx, after: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive waiting(id) as (
      select min("subscriptionId") from deliveries where "status" = 'PENDING' and "subscriptionId" > ${after}
      union all
      select (select min("subscriptionId") from deliveries where "status" = 'PENDING' and "subscriptionId" > waiting.id)
      from waiting where waiting.id is not null
    )
    select id from waiting where id is not null limit ${sql.lit(limit)}`.execute(db)
  return rows.map(({ id }) => id)
}

/** What waits for a subscription, the oldest first. */
export const listWaiting = (db: Trx, subscriptionId: string, limit: number): Promise<WaitingDelivery[]> =>
  db
    .selectFrom('deliveries')
    .select(['id', 'eventId', 'subscriptionId', 'webhookId', 'follows'])
    .where(isWaiting)
    .where('subscriptionId', '=', subscriptionId)
    .orderBy('id')
    .limit(limit)
    .execute()

/** Writes how deliveries ended; one that has ended already stays as it is. */
export async function updateFinished(trx: Trx, finished: FinishedDelivery[]): Promise<void> {
  for (const part of chunks(finished)) {
    const rows = part.map(
      ({ id, status, code, httpStatus, durationMs, finishedAt }) =>
        sql`(${id}, ${status}, ${code}, cast(${httpStatus} as integer), cast(${durationMs} as integer), ${finishedAt})`,
    )
    await sql`
      update deliveries set "status" = done.column2, "code" = done.column3, "httpStatus" = done.column4,
        "durationMs" = done.column5, "finishedAt" = done.column6
      from (values ${sql.join(rows)}) as done
      where deliveries.id = done.column1 and deliveries."status" = 'PENDING'`.execute(trx)
  }
}

/** Forgets what waits for a subscription. */
export async function deleteWaiting(trx: Trx, subscriptionId: string): Promise<void> {
  await trx.deleteFrom('deliveries').where(isWaiting).where('subscriptionId', '=', subscriptionId).execute()
}
