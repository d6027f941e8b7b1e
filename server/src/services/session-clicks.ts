import type { Trx } from '../db/database.ts'
import { DEFAULT_COOKIE_DAYS } from '../engine/link-evidence.ts'
import type { StoredClick } from '../repositories/journey-clicks.ts'
import {
  findAffiliateEdges,
  findEdgeClicks,
  findSessionClicks,
  type Visit,
  type Window,
  type WindowedClick,
} from '../repositories/journey-sessions.ts'
import { listCookieDays } from '../repositories/programs.ts'

/** An explanation shows so many. */
const SHOWN = 100
const DAY_MS = 86_400_000

/**
 * The clicks of a session that an order may be credited for: the newest, and of more also the first and the last that
 * count. Costs the same for a hundred clicks and for a hundred thousand.
 */
export async function sessionClicks(trx: Trx, shopId: string, visit: Visit): Promise<StoredClick[]> {
  const newest = await findSessionClicks(trx, shopId, visit, SHOWN)
  if (newest.length < SHOWN) return newest
  const days = [...(await listCookieDays(trx, shopId)), DEFAULT_COOKIE_DAYS]
  const windows = windowsAt(visit.orderAt, days)
  const edges = windows.length > 0 ? await validEdges(trx, shopId, visit, windows) : []
  return [...new Map([...newest, ...edges].map((click) => [keyOf(click), click])).values()]
}

/** The longest first. Zero days switch link evidence off. */
function windowsAt(orderAt: string, cookieDays: number[]): Window[] {
  const open = [...new Set(cookieDays)].filter((days) => days > 0).sort((a, b) => b - a)
  return open.map((days) => ({ days, since: new Date(Date.parse(orderAt) - days * DAY_MS).toISOString() }))
}

/**
 * The first and the last click that count. Nearly always they are among the first and the last of the longest window;
 * only when all of these are of affiliates with a shorter one, or of nobody, is each affiliate looked at.
 */
async function validEdges(trx: Trx, shopId: string, visit: Visit, windows: Window[]): Promise<StoredClick[]> {
  const sinces = new Map(windows.map(({ days, since }) => [days, since]))
  const isValid = ({ isNamed, days, occurredAt }: WindowedClick) => {
    const since = sinces.get(days)
    return isNamed && since !== undefined && occurredAt >= since
  }
  const stretch = { ...visit, since: windows[0]!.since }
  const pages = await Promise.all(
    (['first', 'last'] as const).map((edge) => findEdgeClicks(trx, shopId, stretch, { edge, limit: SHOWN })),
  )
  const edges = pages.map((page) => page.find(isValid))
  const isCertain = edges.every((edge, n) => edge || pages[n]!.length < SHOWN)
  if (!isCertain) return outermost(await findAffiliateEdges(trx, shopId, visit, windows))
  return edges.filter((edge) => edge !== undefined)
}

const outermost = (clicks: StoredClick[]) => clicks.filter((_, n) => n === 0 || n === clicks.length - 1)

const keyOf = ({ clickId, occurredAt, affiliateId }: StoredClick) => JSON.stringify([clickId, occurredAt, affiliateId])
