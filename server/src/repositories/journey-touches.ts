import type { Trx } from '../db/database.ts'
import { latestFor, type StoredClick, toStoredClick, type Visit } from './journey-clicks.ts'

/** From when on a click counts, for the affiliates whose programs have this window; null for those without a program. */
export interface Since {
  cookieDurationDays: number | null
  since: string
}

/** The clicks of a session up to an order that name somebody of the shop. */
const named = (db: Trx, shopId: string, { sessionId, orderAt }: Visit) =>
  db
    .selectFrom('journey')
    .innerJoin('affiliates', 'affiliates.id', 'journey.affiliateId')
    .leftJoin('programs', 'programs.id', 'affiliates.campaignId')
    .where('journey.shopId', '=', shopId)
    .where('journey.type', '=', 'click')
    .where('journey.sessionId', '=', sessionId)
    .where('journey.occurredAt', '<=', latestFor(orderAt))

/** The windows of the programs whose affiliates a session clicked on. */
export const findSessionWindows = (db: Trx, shopId: string, visit: Visit) =>
  named(db, shopId, visit).select('programs.cookieDurationDays').distinct().execute()

/** The first and the last click of a session that are not too old for their affiliate's program. */
export async function findSessionEdges(
  db: Trx,
  shopId: string,
  visit: Visit,
  windows: Since[],
): Promise<StoredClick[]> {
  if (windows.length === 0) return []
  const valid = named(db, shopId, visit)
    .select(['journey.id', 'journey.clickId', 'journey.affiliateId', 'journey.occurredAt'])
    .where((eb) =>
      eb.or(
        windows.map(({ cookieDurationDays: days, since }) =>
          eb.and([
            days === null ? eb('programs.id', 'is', null) : eb('programs.cookieDurationDays', '=', days),
            eb('journey.occurredAt', '>=', since),
          ]),
        ),
      ),
    )
  const edge = (direction: 'asc' | 'desc') =>
    valid.orderBy('journey.occurredAt', direction).orderBy('journey.id', direction).limit(1).executeTakeFirst()
  const edges = [await edge('asc'), await edge('desc')]
  return edges.flatMap((row) => (row ? [toStoredClick(row)] : []))
}
