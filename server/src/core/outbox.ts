import { sql } from 'kysely'
import type { AuditChain, AuditHead, Reader, Transaction } from '../database/database.ts'
import { forEachInSlices } from '../database/event-loop.ts'
import { prepared } from '../database/prepared.ts'
import { insertRow } from '../database/rows.ts'
import type { DeliveryRow, SubscriptionRow, WebhookEventRow } from '../database/tables.ts'
import { type MutationContext, nowIso } from './context.ts'
import { isExtended } from './event-names.ts'
import { idAfter } from './ids.ts'

/** An event's type and `data`, as subscribers receive them. */
export interface WebhookEvent {
  event: string
  data: unknown
  /** Whether order does not matter among a change's many events, so that none waits for another. */
  isIndependent?: boolean
}

/** A change's events. */
export interface WebhookEvents {
  events: WebhookEvent[]
  /** Loaded only if a subscription includes extended events. */
  extendedEvents?: (() => Promise<WebhookEvent[]>) | undefined
  /** The subscriptions as read in the transaction. Read again if missing. */
  receivers?: SubscriptionFilter[]
}

/** Dependencies for recording an event. */
type EventContext = Pick<MutationContext, 'newId' | 'now' | 'system' | 'shop' | 'traceparent'>

/**
 * Records events, with one delivery per matching subscription. The body is stored here, so a later delivery or redelivery
 * sends the state as of this change. Extended events are recorded only while a subscription asks for them. Returns whether there is a delivery to send.
 */
export async function enqueue(
  ctx: EventContext,
  { trx, chain }: { trx: Transaction; chain: AuditChain },
  { events, extendedEvents: findExtended, receivers }: WebhookEvents,
): Promise<boolean> {
  if (events.length === 0 && !findExtended) return false
  const all = receivers ?? (await listSubscriptionFilters(trx, ctx.shop.id))
  const isAsked = all.some(({ extendedEvents }) => extendedEvents === 1)
  // The feed has what a disabled subscription misses.
  const filters = all.filter(({ disabledAt }) => disabledAt === null)
  const recorded = isAsked ? [...events, ...((await findExtended?.()) ?? [])] : events.filter(isPlain)
  if (recorded.length === 0) return false
  await chain.append((last) => recordEvents(ctx, trx, { events: recorded, receivers: filters, last }))
  return recorded.some(({ event }) => filters.some((filter) => accepts(filter, event)))
}

const isPlain = ({ event }: WebhookEvent) => !isExtended(event)

/** Inserts events after the shop's last one, with their deliveries. Returns the new head. */
async function recordEvents(
  ctx: EventContext,
  trx: Transaction,
  { events, receivers, last }: { events: WebhookEvent[]; receivers: SubscriptionFilter[]; last: AuditHead },
): Promise<AuditHead> {
  const createdAt = nowIso(ctx)
  const shopId = ctx.shop.id
  const latest = new Map<string, string>()
  let { eventId } = last
  await forEachInSlices(trx, events, async ({ event, data, isIndependent }) => {
    eventId = idAfter(eventId, ctx.newId('evt'))
    const body = JSON.stringify({
      event,
      timestamp: createdAt,
      shop_id: shopId,
      ...(ctx.shop.isTest === 1 && { test: true }),
      data,
    })
    await insertWebhookEvent(trx, shopId, { id: eventId, event, body, traceparent: ctx.traceparent, createdAt })
    for (const filter of receivers) {
      if (!accepts(filter, event)) continue
      const { id: subscriptionId } = filter
      const id = ctx.newId('dlv')
      const follows = (!isIndependent && latest.get(subscriptionId)) || null
      const row = { id, eventId, subscriptionId, webhookId: id, follows, createdAt }
      await insertRow(trx, 'deliveries', newDelivery(shopId, row))
      latest.set(subscriptionId, id)
    }
  })
  return { ...last, eventId }
}

/** Whether a subscription receives an event. */
const accepts = ({ events, extendedEvents }: Pick<SubscriptionFilter, 'events' | 'extendedEvents'>, event: string) =>
  (extendedEvents === 1 || !isExtended(event)) && matches(events, event)

/**
 * Whether a JSON list of event names contains the event; an empty list matches every event. The text is searched, not
 * parsed: it can be long, and this runs in every change. Event names need no escaping, so only the exact name matches.
 */
const matches = (names: string, event: string): boolean => names === '[]' || names.includes(`"${event}"`)

type NewDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows' | 'createdAt'>

const newDelivery = (shopId: string, row: NewDelivery) => ({ shopId, status: 'PENDING' as const, attempts: 0, ...row })

export async function insertDeliveries(trx: Transaction, shopId: string, rows: NewDelivery[]): Promise<void> {
  await Promise.all(rows.map((row) => insertRow(trx, 'deliveries', newDelivery(shopId, row))))
}

/** The number of pending and retrying deliveries, and when the oldest pending one was created. */
export async function findOutboxDepth(
  db: Reader,
): Promise<{ pending: number; oldest: string | null; retrying: number; disabled: number }> {
  const { rows } = await sql<{ pending: number; oldest: string | null; retrying: number; disabled: number }>`
    select count(*) as pending, min("createdAt") as oldest,
      (select count(*) from deliveries where "status" = 'RETRYING') as retrying,
      (select count(*) from subscriptions where "disabledAt" is not null) as disabled
    from deliveries where "status" = 'PENDING'`.execute(db)
  return rows[0] ?? { pending: 0, oldest: null, retrying: 0, disabled: 0 }
}

type SubscriptionFilter = Pick<SubscriptionRow, 'id' | 'events' | 'extendedEvents' | 'disabledAt'>

const findFilters = prepared<{ shopId: string }>()((db, { shopId }) =>
  db
    .selectFrom('subscriptions')
    .select(['id', 'events', 'extendedEvents', 'disabledAt'])
    .where('shopId', '=', shopId)
    .compile(),
)

/** The IDs and event filters of the shop's subscriptions, in no particular order. */
export const listSubscriptionFilters = (db: Reader, shopId: string): Promise<SubscriptionFilter[]> =>
  findFilters(db, { shopId })

type NewWebhookEvent = Omit<WebhookEventRow, 'shopId' | 'traceparent' | 'erasedAt'> & {
  traceparent?: string | null | undefined
}

export const insertWebhookEvent = (trx: Transaction, shopId: string, row: NewWebhookEvent): Promise<void> =>
  insertRow(trx, 'webhookEvents', { ...row, shopId })
