import { sql } from 'kysely'
import type { Reader, Transaction } from '../database/access.ts'
import { prepared, preparedWrite } from '../database/prepared.ts'
import type { DeliveryRow, StreamDeliveryRow, StreamRow, SubscriptionRow, WebhookEventRow } from '../database/tables.ts'

export type NewDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows' | 'createdAt'>

const insertDelivery = preparedWrite<NewDelivery & { shopId: string }>()((trx, row) => {
  const { id, shopId, eventId, subscriptionId, webhookId, follows, createdAt } = row
  const values = { id, shopId, eventId, subscriptionId, webhookId, follows, createdAt, status: 'PENDING' as const }
  return trx.insertInto('deliveries').values(values).compile()
})

export async function insertDeliveries(trx: Transaction, shopId: string, rows: NewDelivery[]): Promise<void> {
  await Promise.all(rows.map((row) => insertDelivery(trx, { shopId, ...row })))
}

/** What waits to be sent, and since when. */
export async function findOutboxDepth(db: Reader): Promise<{ pending: number; oldest: string | null }> {
  const { rows } = await sql<{ pending: number; oldest: string | null }>`
    select count(*) as pending, min("createdAt") as oldest from deliveries where "status" = 'PENDING'`.execute(db)
  return rows[0] ?? { pending: 0, oldest: null }
}

const filtersOf = prepared<{ shopId: string }>()((db, { shopId }) =>
  db.selectFrom('subscriptions').select(['id', 'events']).where('shopId', '=', shopId).compile(),
)

/** Who may want an event: the ids and filters of the shop's subscriptions, in no order. */
export const listFilters = (db: Reader, shopId: string): Promise<Pick<SubscriptionRow, 'id' | 'events'>[]> =>
  filtersOf(db, { shopId })

const living = prepared<{ shopId: string; now: string }>()((db, { shopId, now }) =>
  db.selectFrom('streams').select(['id', 'events']).where('shopId', '=', shopId).where('expiresAt', '>', now).compile(),
)

/** Who listens to the shop's events now, or did a short while ago. */
export const listStreams = (db: Reader, shopId: string, now: string): Promise<Pick<StreamRow, 'id' | 'events'>[]> =>
  living(db, { shopId, now })

/** Appends to what streams have to be sent, in the order given. */
export async function insertStreamDeliveries(
  trx: Transaction,
  shopId: string,
  rows: Omit<StreamDeliveryRow, 'shopId' | 'seq'>[],
): Promise<void> {
  for (const row of rows) {
    const seq = (await findLastSeq(trx, shopId, row.streamId)) + 1
    await trx
      .insertInto('streamDeliveries')
      .values({ shopId, ...row, seq })
      .execute()
  }
}

/** The number of the newest delivery of a stream; 0 when there is none. */
export async function findLastSeq(db: Reader, shopId: string, streamId: string): Promise<number> {
  const row = await db
    .selectFrom('streamDeliveries')
    .select('seq')
    .where('shopId', '=', shopId)
    .where('streamId', '=', streamId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.seq ?? 0
}

const insertOne = preparedWrite<WebhookEventRow>()((trx, { id, shopId, event, body, createdAt }) =>
  trx.insertInto('webhookEvents').values({ id, shopId, event, body, createdAt }).compile(),
)

export async function insertWebhookEvent(
  trx: Transaction,
  shopId: string,
  row: Omit<WebhookEventRow, 'shopId'>,
): Promise<void> {
  await insertOne(trx, { shopId, ...row })
}
