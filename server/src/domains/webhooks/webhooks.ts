import { concurrentChange, conflict, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, clockOf, type Deps, nowIso, systemClock } from '../../core/context.ts'
import { availableEvents, emittedEvents, extendedEvents } from '../../core/event-names.ts'
import { replayStoredResponse } from '../../core/idempotency.ts'
import { mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import { deleteRows, insertRow, updateRows } from '../../database/rows.ts'
import type { Flag, SubscriptionRow } from '../../database/tables.ts'
import { findShop } from '../accounts/queries.ts'
import { createResolve, hasPublicAddresses, isPrivateUrl, type Resolve, readTarget } from './delivery/public-url.ts'
import type { Unreachable } from './delivery/retry.ts'
import { deletePending } from './delivery-queries.ts'
import * as subscriptions from './queries.ts'

type Subscription = components['schemas']['WebhookSubscription']
/** Tests replace DNS. */
type WebhookContext = Context & { resolve?: Resolve }

/** Every change in a shop reads all its subscriptions, so their number and text length are limited. */
export const MAX_SUBSCRIPTIONS = 100
const MAX_EVENTS_LENGTH = 1024 * 1024

const resolveBySystem = createResolve()

/** Lists the shop's subscriptions, newest first, and the names of events. */
export async function list(ctx: Context): Promise<components['schemas']['WebhookSubscriptionList']> {
  const rows = await subscriptions.listSubscriptions(ctx.db.read, ctx.shop.id)
  return {
    data: rows.map(toSubscription),
    available_events: [...availableEvents],
    emitted_events: [...emittedEvents],
    extended_events: [...extendedEvents],
  }
}

type SubscriptionInput = Omit<Body<'createWebhook'>, 'hookUrl' | 'target_url'>

/**
 * Creates a subscription. Event names are not validated, so that a subscriber can be ready before an event exists.
 *
 * @throws ApiError 400 `invalid_body` without a URL, 400 `webhook_url_refused`, 409 `concurrent_change` or
 * `webhook_limit_reached`.
 */
export async function subscribe(ctx: WebhookContext, body: SubscriptionInput): Promise<Subscription> {
  const replay = await replayStoredResponse<Subscription>(ctx)
  if (replay) return replay
  const url = await checkUrl(ctx, body.url)
  return mutate(ctx, async (trx) => {
    if (!(await subscriptions.incrementVersionIfUnchanged(trx, ctx.shop.id, ctx.shop.webhooksVersion)))
      throw concurrentChange()
    const events = JSON.stringify(body.events ?? [])
    const { count } = await requireRoomForNames(ctx, trx, { events })
    if (count >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
    const id = ctx.newId('whs')
    const at = nowIso(ctx)
    const row = {
      ...subscriptions.PLAIN_SUBSCRIPTION,
      id,
      shopId: ctx.shop.id,
      url,
      events,
      source: body.source ?? 'api',
      secret: body.secret ? ctx.vault.seal(body.secret, id) : null,
      retryPolicy: body.retryPolicy ?? 'none',
      extendedEvents: toFlag(body.extendedEvents ?? false),
      createdAt: at,
      updatedAt: at,
    }
    await insertRow(trx, 'subscriptions', row)
    const result = toSubscription(row)
    // Event names and source are free text that may hold personal data, so the audit leaves them out.
    const { hasSecret, retryPolicy } = result
    const data = { names: result.events.length, hasSecret, retryPolicy, extendedEvents: result.extendedEvents }
    return { result, audit: { action: 'webhook.created', subjectId: id, data } }
  })
}

/**
 * Deletes a subscription and its pending deliveries.
 *
 * @throws ApiError 404 `webhook_not_found`, 409 `concurrent_change`.
 */
export async function unsubscribe(ctx: Context, id: string): Promise<components['schemas']['ActionReply']> {
  const row = await subscriptions.findSubscription(ctx.db.read, ctx.shop.id, id)
  if (!row) throw webhookNotFound()
  const reply = await mutate(ctx, async (trx) => {
    if (!(await subscriptions.incrementVersionIfUnchanged(trx, ctx.shop.id, ctx.shop.webhooksVersion)))
      throw concurrentChange()
    await deleteRows(trx, 'subscriptions', { shopId: ctx.shop.id, id })
    await deletePending(trx, ctx.shop.id, id)
    return {
      result: { ok: true as const, message: 'Webhook subscription removed.', id },
      audit: { action: 'webhook.deleted', subjectId: id },
    }
  })
  // Makes the dispatcher drop deliveries that it has claimed but not sent.
  ctx.wakeDispatcher()
  return reply
}

/**
 * Like {@link sendTest}, for the API, where `url` is required and validated. Nothing is sent to `url` itself.
 *
 * @throws ApiError 400 `invalid_body` without a URL, 400 `webhook_url_refused`.
 */
export async function sendTestFor(ctx: WebhookContext, url: string | null | undefined) {
  const replay = await replayStoredResponse<components['schemas']['ActionReply']>(ctx)
  if (replay) return replay
  await checkUrl(ctx, url)
  return sendTest(ctx)
}

/** Sends a `test` event to the subscriptions that accept it. */
export function sendTest(ctx: Context): Promise<components['schemas']['ActionReply']> {
  return mutate(ctx, async () => ({
    result: { ok: true as const, message: 'Test event sent to the subscriptions that accept it.' },
    audit: { action: 'webhook.test_sent', subjectId: null },
    events: [{ event: 'test', data: { test: true, message: 'This is a test event.' } }],
  }))
}

/** @throws ApiError 400 `invalid_body` without a URL, `webhook_url_refused` for one that is not public. */
async function checkUrl(ctx: WebhookContext, text: string | null | undefined): Promise<string> {
  const url = text?.trim()
  if (!url) throw invalidField('invalid_body', 'url', 'is required.')
  const target = readTarget(url, ctx.config.webhookAllow)
  if (!target) throw isPrivateUrl(url) ? webhookUrlPrivate() : webhookUrlRefused()
  if (!(await hasPublicAddresses(target, ctx.resolve ?? resolveBySystem))) throw webhookUrlPrivate()
  return url
}

/**
 * Counts the shop's subscriptions, after checking that these event names fit for this subscription or a new one.
 *
 * @throws ApiError 409 `webhook_limit_reached` when the event names of all subscriptions together are too long.
 */
async function requireRoomForNames(ctx: Context, trx: Transaction, { id, events }: { id?: string; events: string }) {
  const measured = await subscriptions.measureSubscriptions(trx, ctx.shop.id, id)
  if (measured.eventsLength + events.length > MAX_EVENTS_LENGTH) throw tooManyNames()
  return measured
}

const tooManySubscriptions = () =>
  conflict(
    'webhook_limit_reached',
    `Your shop has ${MAX_SUBSCRIPTIONS} webhook subscriptions, which is the limit. Remove one and retry.`,
  )

const tooManyNames = () =>
  conflict(
    'webhook_limit_reached',
    'The event names of your subscriptions exceed 1 MiB in total. Remove some and retry.',
  )

const webhookUrlRefused = () =>
  invalidField(
    'webhook_url_refused',
    'url',
    'must be a public https:// address. Use a URL that is reachable from the Internet.',
  )

const webhookUrlPrivate = () =>
  invalidField(
    'webhook_url_refused',
    'url',
    'leads to a private address. To receive events on your machine, run `referral webhooks listen`. To send to a private network, set REFERRAL_WEBHOOK_ALLOW on the server.',
  )

/** @throws ApiError 409 `webhook_disabled` when a subscription is disabled. */
export function requireEnabled({ disabledAt }: Pick<SubscriptionRow, 'disabledAt'>): void {
  if (disabledAt !== null)
    throw conflict('webhook_disabled', 'This webhook subscription is disabled. Enable it and retry.')
}

const ENABLED = { failingSince: null, disabledAt: null, disabledReason: null }
const toFlag = (value: boolean): Flag => (value ? 1 : 0)

export const webhookNotFound = () =>
  notFound('webhook_not_found', 'No webhook subscription with this id exists in your shop.')

type ShownSubscription = Omit<SubscriptionRow, 'shopId' | 'previousSecret' | 'previousSecretUntil' | 'maxInFlight'>

/** A subscription as in openapi.yaml. */
const toSubscription = ({ secret, ...row }: ShownSubscription): Subscription => ({
  id: row.id,
  url: row.url,
  events: JSON.parse(row.events),
  source: row.source,
  hasSecret: secret !== null,
  retryPolicy: row.retryPolicy,
  extendedEvents: row.extendedEvents === 1,
  status: row.disabledAt === null ? 'enabled' : 'disabled',
  disabledAt: row.disabledAt,
  disabledReason: row.disabledReason,
  failingSince: row.failingSince,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

type SubscriptionChanges = Partial<
  Pick<
    SubscriptionRow,
    | 'url'
    | 'events'
    | 'secret'
    | 'previousSecret'
    | 'previousSecretUntil'
    | 'retryPolicy'
    | 'extendedEvents'
    | 'failingSince'
    | 'disabledAt'
    | 'disabledReason'
  >
>

/** How long deliveries are also signed with the previous secret. */
const PREVIOUS_SECRET_MS = 86_400_000

/**
 * Changes the sent fields. Deliveries are also signed with the previous secret for one day.
 *
 * @throws ApiError 400 `webhook_url_refused`, 404 `webhook_not_found`, 409 `concurrent_change` or
 * `webhook_limit_reached`.
 */
export async function update(
  ctx: Context,
  id: string,
  body: Body<'updateWebhook'>,
): Promise<components['schemas']['WebhookSubscription']> {
  const before = await subscriptions.findSubscription(ctx.db.read, ctx.shop.id, id)
  if (!before) throw webhookNotFound()
  const url = body.url === undefined ? undefined : await checkUrl(ctx, body.url)
  const changes = changedOnly(before, {
    ...(url && { url }),
    ...(body.events && { events: JSON.stringify(body.events) }),
    ...secretChange(ctx, before, body.secret),
    ...(body.retryPolicy && { retryPolicy: body.retryPolicy }),
    // Without retries, failures are not counted.
    ...(body.retryPolicy === 'none' && { failingSince: null }),
    ...(body.extendedEvents !== undefined && { extendedEvents: toFlag(body.extendedEvents) }),
    ...(body.status === 'enabled' && ENABLED),
  })
  return mutate(ctx, async (trx) => {
    if (Object.keys(changes).length === 0) return { result: toSubscription(before), audit: null }
    if (!(await subscriptions.incrementVersionIfUnchanged(trx, ctx.shop.id, ctx.shop.webhooksVersion)))
      throw concurrentChange()
    if (changes.events) await requireRoomForNames(ctx, trx, { id, events: changes.events })
    const after = { ...before, ...changes, updatedAt: nowIso(ctx) }
    const key = { shopId: ctx.shop.id, id }
    await updateRows(trx, 'subscriptions', key, { ...changes, updatedAt: after.updatedAt })
    const result = toSubscription(after)
    const data = { fields: changedFields(changes), names: result.events.length, hasSecret: result.hasSecret }
    return { result, audit: { action: 'webhook.updated', subjectId: id, data } }
  })
}

/** The changed fields, named as in the API. */
const changedFields = (changes: SubscriptionChanges): string[] => {
  const { previousSecret, previousSecretUntil, failingSince, disabledAt, disabledReason, ...named } = changes
  return [...Object.keys(named), ...(disabledAt === null ? ['status'] : [])]
}

/** Sending the current secret changes nothing. Otherwise, the current secret becomes the previous one. */
function secretChange(ctx: Context, before: SubscriptionRow, secret: string | null | undefined): SubscriptionChanges {
  if (secret === undefined) return {}
  if (secret === null) return { secret: null, previousSecret: null, previousSecretUntil: null }
  if (before.secret !== null && ctx.vault.open(before.secret, before.id) === secret) return {}
  return {
    secret: ctx.vault.seal(secret, before.id),
    previousSecret: before.secret,
    previousSecretUntil: before.secret && new Date(systemClock(ctx).now() + PREVIOUS_SECRET_MS).toISOString(),
  }
}

/** Until when deliveries are also signed with the previous secret, or null. */
export async function findPreviousSecretEnd(ctx: Context, id: string): Promise<string | null> {
  const until = (await subscriptions.findSubscription(ctx.db.read, ctx.shop.id, id))?.previousSecretUntil ?? null
  return until !== null && until > nowIso(systemClock(ctx)) ? until : null
}

const changedOnly = (before: SubscriptionRow, changes: SubscriptionChanges): SubscriptionChanges =>
  Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => value !== before[name as keyof SubscriptionChanges]),
  )

/**
 * Disables a subscription whose receiver is gone or has been failing for too long, and records why. Does nothing if the
 * subscription was changed since the failure.
 */
export async function disable(deps: Deps, { shopId, id, reason }: Unreachable): Promise<void> {
  const shop = await findShop(deps.db.read, shopId)
  if (!shop) return
  const ctx = { ...deps, ...clockOf(deps, shop), shop, actor: 'server', requestId: deps.newId('req') }
  await mutate(ctx, async (trx) => {
    if (!(await subscriptions.disableEnabled(trx, { shopId, id, reason, at: nowIso(ctx) })))
      return { result: undefined, audit: null }
    await subscriptions.incrementVersion(trx, shopId)
    return { result: undefined, audit: { action: 'webhook.disabled', subjectId: id, data: { reason } } }
  })
  deps.log.warn({ shop: shopId, subscription: id, reason }, 'webhook disabled')
}
