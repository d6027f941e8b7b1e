import type { Reader } from '../../database/database.ts'
import type { WebhookEventRow } from '../../database/tables.ts'

/** How many events one call reads to find those with the wanted names. */
const MAX_READ = 1000

/** The newest event's ID, or null. */
export async function findLastEvent(db: Reader, shopId: string): Promise<string | null> {
  const events = db.selectFrom('webhookEvents').select('id').where('shopId', '=', shopId)
  return (await events.orderBy('id', 'desc').limit(1).executeTakeFirst())?.id ?? null
}

interface FeedPage {
  rows: Pick<WebhookEventRow, 'id' | 'body'>[]
  /** The id after which the next page starts; undefined when it starts where this one did. */
  next: string | undefined
  hasMore: boolean
}

/**
 * The events with one of the names after an id, oldest first. Ids ascend in the order of commits, so an event that is committed
 * later is never before one that was read. Reads a limited number of events, so a page can be short although there are more.
 */
export async function listEventsAfter(
  db: Reader,
  shopId: string,
  { after, names, limit }: { after: string; names: readonly string[]; limit: number },
): Promise<FeedPage> {
  const events = db.selectFrom('webhookEvents').where('shopId', '=', shopId).where('id', '>', after)
  const last = await events
    .select('id')
    .orderBy('id')
    .limit(1)
    .offset(MAX_READ - 1)
    .executeTakeFirst()
  let range = events.select(['id', 'body']).where('event', 'in', names)
  if (last) range = range.where('id', '<=', last.id)
  const rows = await range.orderBy('id').limit(limit).execute()
  if (rows.length === limit) return { rows, next: rows.at(-1)?.id, hasMore: last !== undefined || (await hasAfter()) }
  return { rows, next: last?.id ?? rows.at(-1)?.id, hasMore: last !== undefined }

  async function hasAfter(): Promise<boolean> {
    const more = await range
      .where('id', '>', rows.at(-1)?.id ?? '')
      .select('id')
      .limit(1)
      .executeTakeFirst()
    return more !== undefined
  }
}
