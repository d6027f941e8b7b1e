import { conflict, notFound } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import type { Query } from '../contract/spec.ts'
import { type Context, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { insertDeliveries } from '../core/outbox.ts'
import { isDeepPage, mapPage } from '../core/pagination.ts'
import { readList } from '../core/report.ts'
import { deliveryList, findDelivery, isFiltered, type LoggedDelivery } from './delivery-queries.ts'
import { findSubscription } from './queries.ts'

type Delivery = components['schemas']['Delivery']

/** Lists the webhook deliveries, newest first. */
export async function list(ctx: Context, query: Query<'listDeliveries'>) {
  return mapPage(await readList(ctx, deliveryList, query, isFiltered(query) || isDeepPage(query)), toDelivery)
}

/**
 * Queues a finished delivery again, with the same payload and `webhook-id`.
 *
 * @throws ApiError 404 `delivery_not_found` or `webhook_not_found`, 409 `delivery_not_finished`.
 */
export async function redeliver(ctx: Context, id: string): Promise<Delivery> {
  const row = await mutate(ctx, async (trx) => {
    const before = await findDelivery(trx, ctx.shop.id, id)
    if (!before) throw notFound('delivery_not_found', 'No delivery with this id exists in your shop.')
    if (before.finishedAt === null)
      throw conflict('delivery_not_finished', 'This delivery is still pending. Wait until it has finished.')
    const { event, eventId, subscriptionId, webhookId } = before
    if (!(await findSubscription(trx, ctx.shop.id, subscriptionId))) {
      throw notFound('webhook_not_found', 'The webhook subscription of this delivery was deleted.')
    }
    const again = { id: ctx.newId('dlv'), eventId, subscriptionId, webhookId, follows: null, createdAt: nowIso(ctx) }
    await insertDeliveries(trx, ctx.shop.id, [again])
    const result: LoggedDelivery = { ...again, ...UNSENT, event, shopId: ctx.shop.id }
    return { result, audit: { action: 'delivery.redelivered', subjectId: id, data: { event, deliveryId: again.id } } }
  })
  ctx.wakeDispatcher()
  return toDelivery(row)
}

const UNSENT = { status: 'PENDING' as const, code: null, httpStatus: null, durationMs: null, finishedAt: null }

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
  createdAt: row.createdAt,
  finishedAt: row.finishedAt,
})
