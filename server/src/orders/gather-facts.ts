import { findConnectedAffiliate, findProductConnections } from '../affiliates/connection-queries.ts'
import { findAffiliateByCode, findAffiliateBySlug, findAffiliatesById } from '../affiliates/queries.ts'
import type { Reader } from '../database/access.ts'
import type { AffiliateRow, ProgramRow, ShopRow } from '../database/tables.ts'
import { codeKey } from '../engine/discount-code.ts'
import { DEFAULT_COOKIE_DAYS } from '../engine/evidence.ts'
import type { AffiliateFact, Click, Facts, Matches, Order, OrderLine, ProgramFact } from '../engine/facts.ts'
import { emailKey } from '../engine/identity.ts'
import {
  type ClickWindow,
  type ClickWithWindow,
  findClick,
  findEdgeClicks,
  findEdgeClicksByAffiliate,
  findSessionClicks,
  type OrderSession,
  type StoredClick,
} from '../journey/queries.ts'
import { findPrograms, listCookieDays } from '../programs/queries.ts'
import { findGeoRules, findProductRules } from './queries.ts'

/** Everything the engine needs to decide one order. Reads only; missing things are facts too. */
export async function gatherFacts(db: Reader, shop: ShopRow, order: Order): Promise<Facts> {
  const matches = await gatherMatches(db, shop.id, order)
  const affiliates = await findAffiliatesById(db, shop.id, matchedAffiliateIds(matches))
  const programIds = [...new Set(affiliates.map((row) => row.campaignId))].filter((id) => id !== null)
  const programs = await findPrograms(db, shop.id, programIds)
  return {
    order,
    settings: {
      precedence: JSON.parse(shop.attributionPrecedence),
      clickTouch: shop.clickTouch,
      taxWithholdingBps: shop.taxWithholdingBps,
      currency: shop.currency,
    },
    matches,
    affiliates: byId(affiliates.map(toAffiliateFact)),
    programs: byId(await Promise.all(programs.map((row) => toProgramFact(db, row, order.lines)))),
  }
}

async function gatherMatches(db: Reader, shopId: string, order: Order): Promise<Matches> {
  const idOf = (row: AffiliateRow | undefined) => row?.id ?? null
  const click = order.clickId ? await findClick(db, shopId, order.clickId, order.orderAt) : undefined
  return {
    couponCode: order.couponCode ? idOf(await findAffiliateByCodeOrSlug(db, shopId, order.couponCode)) : null,
    affiliateCode: order.affiliateCode ? idOf(await findAffiliateByCodeOrSlug(db, shopId, order.affiliateCode)) : null,
    click: click ? toClick(click, order.clickId ?? click.clickId) : null,
    sessionClicks: order.sessionId
      ? (await findRelevantClicks(db, shopId, { sessionId: order.sessionId, orderAt: order.orderAt })).map((row) =>
          toClick(row, row.clickId),
        )
      : [],
    ref: order.ref ? idOf(await findAffiliateByRef(db, shopId, order.ref)) : null,
    customerId: order.customerId ? await findConnectedAffiliate(db, shopId, 'customerId', order.customerId) : null,
    customerEmail: order.customerEmail
      ? await findConnectedAffiliate(db, shopId, 'customerEmail', emailKey(order.customerEmail))
      : null,
    products: await findProductConnections(db, shopId, order.lines),
  }
}

/** A code names an affiliate as discount code, else as slug. */
export async function findAffiliateByCodeOrSlug(
  db: Reader,
  shopId: string,
  code: string,
): Promise<AffiliateRow | undefined> {
  const key = codeKey(code)
  return (await findAffiliateByCode(db, shopId, key)) ?? (await findAffiliateBySlug(db, shopId, key))
}

/** A link names an affiliate by slug, else by id. */
export async function findAffiliateByRef(db: Reader, shopId: string, ref: string): Promise<AffiliateRow | undefined> {
  const bySlug = await findAffiliateBySlug(db, shopId, codeKey(ref))
  return bySlug ?? (await findAffiliatesById(db, shopId, [ref.trim()]))[0]
}

const matchedAffiliateIds = ({ click, sessionClicks, products, ...named }: Matches): string[] => {
  const ids = [
    ...Object.values(named),
    click?.affiliateId,
    ...sessionClicks.map((one) => one.affiliateId),
    ...Object.values(products),
  ]
  return [...new Set(ids)].filter((id): id is string => typeof id === 'string').sort()
}

const toClick = (row: { affiliateId: string | null; occurredAt: string }, clickId: string): Click => ({
  clickId,
  affiliateId: row.affiliateId,
  clickAt: row.occurredAt,
})

const toAffiliateFact = (row: AffiliateRow): AffiliateFact => ({
  id: row.id,
  email: row.email,
  status: row.status,
  archived: row.deletedAt !== null,
  programId: row.campaignId,
})

async function toProgramFact(db: Reader, row: ProgramRow, lines: OrderLine[]): Promise<ProgramFact> {
  return {
    id: row.id,
    commissionType: row.commissionType,
    rate: row.defaultCommissionBps,
    cookieDurationDays: row.cookieDurationDays,
    autoApproveOrder: row.autoApproveOrder === 1,
    lifetimeCommission: row.lifetimeCommission === 1,
    productRules: await findProductRules(db, { shopId: row.shopId, programId: row.id }, lines),
    geoRule: await findGeoRules(db, row.shopId, row.id),
  }
}

const byId = <Fact extends { id: string }>(facts: Fact[]): Record<string, Fact> =>
  Object.fromEntries(facts.map((fact) => [fact.id, fact]))

/** An explanation shows so many. */
const MAX_CLICKS = 100
const DAY_MS = 86_400_000

/**
 * The clicks of a session that an order may be credited for: the newest, and of more also the first and the last that
 * count. Costs the same for a hundred clicks and for a hundred thousand.
 */
export async function findRelevantClicks(db: Reader, shopId: string, visit: OrderSession): Promise<StoredClick[]> {
  const newest = await findSessionClicks(db, shopId, visit, MAX_CLICKS)
  if (newest.length < MAX_CLICKS) return newest
  const days = [...(await listCookieDays(db, shopId)), DEFAULT_COOKIE_DAYS]
  const windows = openWindows(visit.orderAt, days)
  const edges = windows.length > 0 ? await findValidEdges(db, shopId, visit, windows) : []
  return [...new Map([...newest, ...edges].map((click) => [clickKey(click), click])).values()]
}

/** The longest first. Zero days switch link evidence off. */
function openWindows(orderAt: string, cookieDays: number[]): ClickWindow[] {
  const open = [...new Set(cookieDays)].filter((days) => days > 0).sort((a, b) => b - a)
  return open.map((days) => ({ days, since: new Date(Date.parse(orderAt) - days * DAY_MS).toISOString() }))
}

/**
 * The first and the last click that count. Nearly always they are among the first and the last of the longest window;
 * only when all of these are of affiliates with a shorter one, or of nobody, is each affiliate looked at.
 */
async function findValidEdges(
  db: Reader,
  shopId: string,
  visit: OrderSession,
  windows: ClickWindow[],
): Promise<StoredClick[]> {
  const sinces = new Map(windows.map(({ days, since }) => [days, since]))
  const isValid = ({ hasAffiliate: isNamed, days, occurredAt }: ClickWithWindow) => {
    const since = sinces.get(days)
    return isNamed && since !== undefined && occurredAt >= since
  }
  const stretch = { ...visit, since: windows[0]!.since }
  const pages = await Promise.all(
    (['first', 'last'] as const).map((edge) => findEdgeClicks(db, shopId, stretch, { edge, limit: MAX_CLICKS })),
  )
  const edges = pages.map((page) => page.find(isValid))
  const isCertain = edges.every((edge, n) => edge || pages[n]!.length < MAX_CLICKS)
  if (!isCertain) return outermost(await findEdgeClicksByAffiliate(db, shopId, visit, windows))
  return edges.filter((edge) => edge !== undefined)
}

const outermost = (clicks: StoredClick[]) => clicks.filter((_, n) => n === 0 || n === clicks.length - 1)

const clickKey = ({ clickId, occurredAt, affiliateId }: StoredClick) =>
  JSON.stringify([clickId, occurredAt, affiliateId])
