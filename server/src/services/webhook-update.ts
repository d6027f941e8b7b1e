import { type Context, nowIso } from '../context.ts'
import type { SubscriptionRow } from '../db/tables.ts'
import { concurrentChange } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import type { Body } from '../http/spec.ts'
import * as subscriptions from '../repositories/subscriptions.ts'
import { openSecret, sealSecret } from '../webhooks/secrets.ts'
import { mutate } from './mutate.ts'
import { checkUrl, refuseTooManyNames, toSubscription, urlRefused, webhookNotFound } from './webhooks.ts'

type Changes = Partial<Pick<SubscriptionRow, 'url' | 'events' | 'secret' | 'previousSecret' | 'previousSecretUntil'>>

/** How long deliveries are signed with the secret before, too. */
const OVERLAP_MS = 86_400_000

/**
 * Changes a subscription. The secret before it stays good for a day (section 6.3).
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
  const target = body.url === undefined ? undefined : await checkUrl(ctx, body.url)
  const changes = changed(before, {
    ...(target && { url: target.url }),
    ...(body.events && { events: JSON.stringify(body.events) }),
    ...secretChange(ctx, before, body.secret),
  })
  return mutate(ctx, async (trx) => {
    if (target?.isRefused) throw urlRefused()
    if (Object.keys(changes).length === 0) return { result: toSubscription(before), audit: null }
    if (!(await subscriptions.claimSubscriptions(trx, ctx.shop.id, ctx.shop.webhooksVersion))) throw concurrentChange()
    if (changes.events) await refuseTooManyNames(ctx, trx, { id, events: changes.events })
    const after = { ...before, ...changes, updatedAt: nowIso(ctx) }
    await subscriptions.updateSubscription(trx, ctx.shop.id, id, { ...changes, updatedAt: after.updatedAt })
    const result = toSubscription(after)
    const fields = Object.keys(changes).filter((name) => !name.startsWith('previous'))
    const data = { fields, names: result.events.length, hasSecret: result.hasSecret }
    return { result, audit: { action: 'webhook.updated', subjectId: id, data } }
  })
}

/** The same secret again is no change; another one leaves the old one behind, sealed as it was. */
function secretChange(ctx: Context, before: SubscriptionRow, secret: string | null | undefined): Changes {
  if (secret === undefined) return {}
  if (secret === null) return { secret: null, previousSecret: null, previousSecretUntil: null }
  if (before.secret !== null && openSecret(ctx.vault, before.id, before.secret) === secret) return {}
  return {
    secret: sealSecret(ctx.vault, before.id, secret),
    previousSecret: before.secret,
    previousSecretUntil: before.secret && new Date(ctx.now() + OVERLAP_MS).toISOString(),
  }
}

const changed = (before: SubscriptionRow, sent: Changes): Changes =>
  Object.fromEntries(Object.entries(sent).filter(([name, value]) => value !== before[name as keyof Changes]))
