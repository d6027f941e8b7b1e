import type { components } from '../contract/schema.d.ts'
import type { Query } from '../contract/spec.ts'
import type { KeyContext } from '../core/context.ts'
import { emittedEvents, extendedEvents } from '../core/event-names.ts'
import { listEventsAfter } from './feed-queries.ts'

/** The scope that the events of a resource require in addition to `webhooks:read`. */
const SCOPES: Record<string, string> = {
  affiliate: 'affiliates:read',
  commission: 'commissions:read',
  payout: 'payouts:read',
}

const NAMES = ['test', ...emittedEvents]
const EXTENDED_NAMES = [...NAMES, ...extendedEvents]

/** Lists the events after a position, oldest first, that the key may read. */
export async function list(
  ctx: KeyContext,
  query: Query<'listWebhookEvents'>,
): Promise<components['schemas']['WebhookEventList']> {
  const mayRead = (name: string) => {
    const scope = SCOPES[name.split('.')[0] ?? '']
    return scope === undefined || ctx.scopes.includes(scope)
  }
  const names = (query.extendedEvents ? EXTENDED_NAMES : NAMES).filter(mayRead)
  const { rows, next, hasMore } = await listEventsAfter(ctx.db.read, ctx.shop.id, {
    after: query.after ?? '',
    names,
    limit: query.limit,
  })
  const data = rows.map(({ id, body }) => ({ id, ...JSON.parse(body) }))
  // Without an event, the caller continues where it started.
  return { data, next: next ?? query.after ?? null, hasMore }
}
