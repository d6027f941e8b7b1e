import type { Trx } from '../db/database.ts'
import { DEFAULT_COOKIE_DAYS } from '../engine/link-evidence.ts'
import { findSessionClicks, type StoredClick, type Visit } from '../repositories/journey-clicks.ts'
import { findSessionEdges, findSessionWindows } from '../repositories/journey-touches.ts'

/** An explanation shows so many. */
const SHOWN = 100
const DAY_MS = 86_400_000

/**
 * The clicks of a session that an order may be credited for: the newest, and whatever their number also the first and
 * the last that count.
 */
export async function sessionClicks(trx: Trx, shopId: string, visit: Visit): Promise<StoredClick[]> {
  const newest = await findSessionClicks(trx, shopId, visit, SHOWN)
  if (newest.length < SHOWN) return newest
  const windows = (await findSessionWindows(trx, shopId, visit)).map(({ cookieDurationDays }) => {
    const days = cookieDurationDays ?? DEFAULT_COOKIE_DAYS
    return { cookieDurationDays, days, since: new Date(Date.parse(visit.orderAt) - days * DAY_MS).toISOString() }
  })
  const open = windows.filter(({ days }) => days > 0)
  const edges = await findSessionEdges(trx, shopId, visit, open)
  const known = new Set(newest.map(keyOf))
  return [...newest, ...new Map(edges.filter((one) => !known.has(keyOf(one))).map((one) => [keyOf(one), one])).values()]
}

const keyOf = ({ clickId, occurredAt, affiliateId }: StoredClick) => JSON.stringify([clickId, occurredAt, affiliateId])
