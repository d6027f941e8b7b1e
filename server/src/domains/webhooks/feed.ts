import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { KeyContext } from '../../core/context.ts'
import { emittedEvents, extendedEvents } from '../../core/event-names.ts'
import { findLastEvent, listEventsAfter } from './feed-queries.ts'

const NAMES = ['test', ...emittedEvents] as const
const EXTENDED_NAMES = [...NAMES, ...extendedEvents] as const

type EventName = (typeof EXTENDED_NAMES)[number]
type ResourceOf<Name> = Name extends `${infer Prefix}.${string}` ? Prefix : never
type Resource = ResourceOf<EventName>

/** The scope that a resource's events require in addition to `webhooks:read`. None for `test`. */
const SCOPES: Record<Resource, string> = {
  affiliate: 'affiliates:read',
  commission: 'commissions:read',
  customer: 'analytics:read',
  payout: 'payouts:read',
}

/** Lists events after a position that the key may read, oldest first. There are none after `latest`. */
export async function list(
  ctx: KeyContext,
  query: Query<'listWebhookEvents'>,
): Promise<components['schemas']['WebhookEventList']> {
  if (query.after === 'latest') return { data: [], next: await findLastEvent(ctx.db.read, ctx.shop.id), hasMore: false }
  const mayRead = (name: EventName) => name === 'test' || ctx.scopes.includes(SCOPES[name.split('.')[0] as Resource])
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
