import { conflict, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import { insertDeliveries } from '../../core/outbox.ts'
import { mapPage } from '../../core/pagination.ts'
import { checkPeriod, parseBodyInstant } from '../../core/time.ts'
import { findRow } from '../../database/rows.ts'
import { deliveryList, findDelivery, type LoggedDelivery, listDeliveriesOfEvent, retryNow } from './delivery-queries.ts'
import { findSubscription } from './queries.ts'
import { listStillRedeliverable, redeliverableReport } from './redelivery-queries.ts'
import { requireEnabled, webhookNotFound } from './webhooks.ts'

type Delivery = components['schemas']['Delivery']

/** Lists the webhook deliveries, newest first. */
export const list = defineReader(deliveryList, async (ctx: Context, query: Query<'listDeliveries'>) =>
  mapPage(await readFrom(ctx, deliveryList, query), toDelivery),
)

/** Finds a delivery by its id, or the newest deliveries of an event by the id of the event. */
export async function findById({ db, shop }: Context, id: string, limit: number): Promise<Delivery[]> {
  const delivery = id.startsWith('dlv_') ? await findDelivery(db.read, shop.id, id) : undefined
  const rows = id.startsWith('evt_') ? await listDeliveriesOfEvent(db.read, shop.id, { eventId: id, limit }) : []
  return [...(delivery ? [delivery] : []), ...rows].map(toDelivery)
}

/** A delivery with its payload, and its event's other deliveries, newest first. */
interface DeliveryDetails {
  delivery: Delivery
  /** The exact text of the request body. */
  payload: string
  /** Whether a person was erased from the payload, so that it can no longer be sent. */
  isErased: boolean
  others: Delivery[]
}

const MAX_OTHERS = 20

/**
 * Reads a delivery with its payload.
 *
 * @throws ApiError 404 `delivery_not_found`.
 */
export async function read({ db, shop }: Context, id: string): Promise<DeliveryDetails> {
  const row = await findDelivery(db.read, shop.id, id)
  const event = row && (await findRow(db.read, 'webhookEvents', { shopId: shop.id, id: row.eventId }))
  if (!row || !event) throw deliveryNotFound()
  const all = await listDeliveriesOfEvent(db.read, shop.id, { eventId: row.eventId, limit: MAX_OTHERS + 1 })
  const others = all.filter((other) => other.id !== id).slice(0, MAX_OTHERS)
  const isErased = row.erasedAt !== null
  return { delivery: toDelivery(row), payload: event.body, isErased, others: others.map(toDelivery) }
}

const deliveryNotFound = () => notFound('delivery_not_found', 'No delivery with this id exists in your shop.')

/**
 * Queues a finished delivery again, with the same payload and `webhook-id`, or makes the next attempt of a retrying one now.
 *
 * @throws ApiError 404 `delivery_not_found` or `webhook_not_found`, 409 `delivery_not_finished`, `delivery_erased` or
 *   `webhook_disabled`.
 */
export async function redeliver(ctx: Context, id: string): Promise<Delivery> {
  const row = await mutate(ctx, async (trx) => {
    const before = await findDelivery(trx, ctx.shop.id, id)
    if (!before) throw deliveryNotFound()
    if (before.status === 'PENDING')
      throw conflict('delivery_not_finished', 'This delivery is still pending. Wait until it has finished.')
    if (before.erasedAt !== null)
      throw conflict('delivery_erased', 'A person was erased from this event, so it can no longer be sent as it was.')
    const { event, eventId, subscriptionId, webhookId } = before
    const subscription = await findSubscription(trx, ctx.shop.id, subscriptionId)
    if (!subscription) throw notFound('webhook_not_found', 'The webhook subscription of this delivery was deleted.')
    requireEnabled(subscription)
    if (before.status === 'RETRYING') {
      await retryNow(trx, ctx.shop.id, id)
      const result: LoggedDelivery = { ...before, status: 'PENDING', nextAttemptAt: null }
      return { result, audit: { action: 'delivery.redelivered', subjectId: id, data: { event, deliveryId: id } } }
    }
    const again = { id: ctx.newId('dlv'), eventId, subscriptionId, webhookId, follows: null, createdAt: nowIso(ctx) }
    await insertDeliveries(trx, ctx.shop.id, [again])
    const result: LoggedDelivery = { ...again, ...UNSENT, event, erasedAt: null, shopId: ctx.shop.id }
    return { result, audit: { action: 'delivery.redelivered', subjectId: id, data: { event, deliveryId: again.id } } }
  })
  ctx.wakeDispatcher()
  return toDelivery(row)
}

/** More would delay other changes for too long; the response contains how many are left. */
const MAX_REDELIVERED = 500

/**
 * Queues the latest deliveries of a period again that have a status, oldest first; with `dryRun` only counts them.
 *
 * @throws ApiError 400 `invalid_body` or `period_invalid`, 404 `webhook_not_found`, 409 `webhook_disabled`.
 */
export async function redeliverMany(
  ctx: Context,
  subscriptionId: string,
  body: Body<'redeliverMany'>,
): Promise<components['schemas']['RedeliveryReply']['data']> {
  const { from, to = nowIso(ctx) } = checkPeriod(parseBodyInstant('from', body.from), parseBodyInstant('to', body.to))
  const subscription = await findSubscription(ctx.db.read, ctx.shop.id, subscriptionId)
  if (!subscription) throw webhookNotFound()
  requireEnabled(subscription)
  const { status, event, dryRun } = body
  const query = { subscriptionId, from, to, status: status ?? ('FAILED' as const), event, limit: MAX_REDELIVERED }
  const { rows, total } = await readFrom(ctx, redeliverableReport, query)
  if (dryRun) return { dryRun: true, queued: 0, remaining: total }
  const queued = await mutate(ctx, async (trx) => {
    const current = await findSubscription(trx, ctx.shop.id, subscriptionId)
    if (!current) throw webhookNotFound()
    requireEnabled(current)
    const createdAt = nowIso(ctx)
    const again = await listStillRedeliverable(trx, ctx.shop.id, rows)
    await insertDeliveries(
      trx,
      ctx.shop.id,
      again.map(({ eventId, webhookId }) => ({
        id: ctx.newId('dlv'),
        eventId,
        subscriptionId,
        webhookId,
        follows: null,
        createdAt,
      })),
    )
    const data = { from, to, status: query.status, queued: again.length }
    return { result: again.length, audit: { action: 'deliveries.redelivered', subjectId: subscriptionId, data } }
  })
  ctx.wakeDispatcher()
  return { dryRun: false, queued, remaining: total - rows.length }
}

const UNSENT = {
  status: 'PENDING' as const,
  code: null,
  httpStatus: null,
  durationMs: null,
  attempts: 0,
  nextAttemptAt: null,
  finishedAt: null,
  claimedBy: null,
  claimedUntil: null,
}

const toDelivery = (row: LoggedDelivery): Delivery => ({
  id: row.id,
  event: row.event,
  eventId: row.eventId,
  subscriptionId: row.subscriptionId,
  webhookId: row.webhookId,
  status: row.status,
  code: row.code,
  httpStatus: row.httpStatus,
  durationMs: row.durationMs,
  attempts: row.attempts,
  nextAttemptAt: row.nextAttemptAt,
  createdAt: row.createdAt,
  finishedAt: row.finishedAt,
})
