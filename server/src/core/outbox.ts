import { sql } from 'kysely'
import type { Reader, Transaction } from '../database/database.ts'
import { prepared, preparedWrite } from '../database/prepared.ts'
import type { DeliveryRow, StreamDeliveryRow, StreamRow, SubscriptionRow, WebhookEventRow } from '../database/tables.ts'
import { type MutationContext, nowIso } from './context.ts'

/** An event as subscribers receive it: its type and `data`. */
export interface WebhookEvent {
  event: string
  data: unknown
}

/** The event filters of a shop's subscriptions and open streams. */
export interface Receivers {
  filters: Pick<SubscriptionRow, 'id' | 'events'>[]
  streams: Pick<StreamRow, 'id' | 'events'>[]
}

export async function listReceivers(ctx: MutationContext, db: Reader): Promise<Receivers> {
  const [filters, streams] = await Promise.all([
    listSubscriptionFilters(db, ctx.shop.id),
    listOpenStreams(db, ctx.shop.id, nowIso(ctx)),
  ])
  return { filters, streams }
}

/**
 * Writes one delivery per matching subscription and per matching open stream. The body is stored here, so a later delivery
 * or redelivery sends the state as of this change. Returns whether there is a delivery to send.
 */
export async function enqueue(
  ctx: MutationContext,
  trx: Transaction,
  events: WebhookEvent[],
  receivers?: Receivers,
): Promise<boolean> {
  if (events.length === 0) return false
  const createdAt = nowIso(ctx)
  const { filters, streams } = receivers ?? (await listReceivers(ctx, trx))
  const deliveries: NewDelivery[] = []
  const streamed: Omit<StreamDeliveryRow, 'shopId' | 'seq'>[] = []
  const latest = new Map<string, string>()
  for (const { event, data } of events) {
    const subscribers = filters.filter((filter) => matches(filter.events, event))
    const listeners = streams.filter((stream) => matches(stream.events, event))
    if (subscribers.length + listeners.length === 0) continue
    const eventId = ctx.newId('evt')
    const body = JSON.stringify({ event, timestamp: createdAt, shop_id: ctx.shop.id, data })
    await insertWebhookEvent(trx, ctx.shop.id, { id: eventId, event, body, createdAt })
    for (const { id: subscriptionId } of subscribers) {
      const id = ctx.newId('dlv')
      const follows = latest.get(subscriptionId) ?? null
      deliveries.push({ id, eventId, subscriptionId, webhookId: id, follows, createdAt })
      latest.set(subscriptionId, id)
    }
    streamed.push(...listeners.map((stream) => ({ id: ctx.newId('dlv'), streamId: stream.id, eventId })))
  }
  await insertDeliveries(trx, ctx.shop.id, deliveries)
  await insertStreamDeliveries(trx, ctx.shop.id, streamed)
  return deliveries.length > 0
}

/**
 * Whether a JSON list of event names contains the event; an empty list matches every event. The text is searched, not
 * parsed: it can be long, and this runs in every change. Event names need no escaping, so only the exact name matches.
 */
const matches = (names: string, event: string): boolean => names === '[]' || names.includes(`"${event}"`)

export type NewDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows' | 'createdAt'>

const insertDelivery = preparedWrite<NewDelivery & { shopId: string }>()((trx, row) => {
  const { id, shopId, eventId, subscriptionId, webhookId, follows, createdAt } = row
  const values = { id, shopId, eventId, subscriptionId, webhookId, follows, createdAt, status: 'PENDING' as const }
  return trx.insertInto('deliveries').values(values).compile()
})

export async function insertDeliveries(trx: Transaction, shopId: string, rows: NewDelivery[]): Promise<void> {
  await Promise.all(rows.map((row) => insertDelivery(trx, { shopId, ...row })))
}

/** The number of pending deliveries, and when the oldest was created. */
export async function findOutboxDepth(db: Reader): Promise<{ pending: number; oldest: string | null }> {
  const { rows } = await sql<{ pending: number; oldest: string | null }>`
    select count(*) as pending, min("createdAt") as oldest from deliveries where "status" = 'PENDING'`.execute(db)
  return rows[0] ?? { pending: 0, oldest: null }
}

const findFilters = prepared<{ shopId: string }>()((db, { shopId }) =>
  db.selectFrom('subscriptions').select(['id', 'events']).where('shopId', '=', shopId).compile(),
)

/** The ids and event filters of the shop's subscriptions, in no particular order. */
export const listSubscriptionFilters = (
  db: Reader,
  shopId: string,
): Promise<Pick<SubscriptionRow, 'id' | 'events'>[]> => findFilters(db, { shopId })

const findStreams = prepared<{ shopId: string; now: string }>()((db, { shopId, now }) =>
  db.selectFrom('streams').select(['id', 'events']).where('shopId', '=', shopId).where('expiresAt', '>', now).compile(),
)

/** The streams that have not expired: connected now, or disconnected recently. */
export const listOpenStreams = (db: Reader, shopId: string, now: string): Promise<Pick<StreamRow, 'id' | 'events'>[]> =>
  findStreams(db, { shopId, now })

const insertStreamDelivery = preparedWrite<Omit<StreamDeliveryRow, 'seq'>>()((trx, row) =>
  // One statement, so that changes which run side by side get different numbers.
  sql`insert into "streamDeliveries" ("shopId", id, "streamId", "eventId", seq)
    select cast(${row.shopId} as text), cast(${row.id} as text), cast(${row.streamId} as text), cast(${row.eventId} as text),
      coalesce(max(seq), 0) + 1
    from "streamDeliveries" where "shopId" = ${row.shopId} and "streamId" = ${row.streamId}`.compile(trx),
)

/** Appends to the queues of streams, in the given order. */
export async function insertStreamDeliveries(
  trx: Transaction,
  shopId: string,
  rows: Omit<StreamDeliveryRow, 'shopId' | 'seq'>[],
): Promise<void> {
  await Promise.all(rows.map((row) => insertStreamDelivery(trx, { shopId, ...row })))
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

const insertEvent = preparedWrite<WebhookEventRow>()((trx, { id, shopId, event, body, createdAt }) =>
  trx.insertInto('webhookEvents').values({ id, shopId, event, body, createdAt }).compile(),
)

export async function insertWebhookEvent(
  trx: Transaction,
  shopId: string,
  row: Omit<WebhookEventRow, 'shopId'>,
): Promise<void> {
  await insertEvent(trx, { shopId, ...row })
}
