import { sql } from 'kysely'
import type { Reader } from '../../database/database.ts'
import { preparedByShape } from '../../database/prepared.ts'
import type { ProductRuleRow, ShopRow } from '../../database/tables.ts'
import { DEFAULT_CLICK_WINDOW_DAYS } from '../../engine/attribution.ts'
import type { Click, EngineSettings, Facts, Matches, Order } from '../../engine/facts.ts'
import { affiliatesWithPrograms, type FactRow, factColumns } from '../affiliates/fact-queries.ts'
import { findAffiliateByCodeOrSlug, findAffiliateByRef, matchedAliases } from '../affiliates/name-queries.ts'
import { findProductConnections, productIds } from '../affiliates/queries.ts'
import { type CustomerKeys, customerKeys, identify } from '../customers/binding.ts'
import { countOrders, findCustomers, type KnownCustomers } from '../customers/queries.ts'
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
import { findDuplicateOf, type IdentifiedOrder } from '../ledger/orders.ts'
import { withTerms } from '../ledger/terms-facts.ts'
import { listClickWindows, toGeoRule } from '../programs/queries.ts'

/** The facts of an order, and the customers whom it names. */
export interface GatheredFacts {
  facts: Facts
  keys: CustomerKeys
  known: KnownCustomers
}

/**
 * Reads everything that the engine needs to decide an order: what the order names, then the affiliates that only clicks,
 * products or the customer lead to, then what terms count.
 */
export async function gatherFacts(db: Reader, shop: ShopRow, incoming: IdentifiedOrder): Promise<GatheredFacts> {
  const { order } = incoming
  const keys = customerKeys(shop, order)
  const [known, evidence, duplicateOf] = await Promise.all([
    findCustomers(db, shop.id, keys),
    findEvidence(db, shop.id, order),
    findDuplicateOf(db, shop.id, incoming),
  ])
  const { byId, byEmail } = known
  const matches = {
    ...evidence.matches,
    customerId: byId?.affiliateId ?? null,
    customerEmail: byEmail?.affiliateId ?? null,
  }
  const { termed, ...terms } = await findAffiliatesWithPrograms(db, shop.id, { ...evidence, matches, order })
  const facts = {
    order,
    settings: settingsOf(shop),
    matches,
    ...terms,
    ...(duplicateOf !== undefined && { duplicateOf }),
  }
  if (termed.length === 0) return { facts, keys, known }
  const named = identify(known, keys)
  const customer = named && { ...(await countOrders(db, named, order.orderAt)), month: 0 }
  return { facts: await withTerms(db, shop, { ...facts, ...(customer && { customer }) }, termed), keys, known }
}

const settingsOf = (shop: ShopRow): EngineSettings => ({
  precedence: JSON.parse(shop.attributionPrecedence),
  clickTouch: shop.clickTouch,
  taxWithholdingBps: shop.taxWithholdingBps,
  currency: shop.currency,
})

/** The facts of an order that names no customer: what its evidence belongs to. */
export async function gatherEvidence(db: Reader, shop: ShopRow, order: Order): Promise<Facts> {
  const evidence = await findEvidence(db, shop.id, order)
  const matches = { ...evidence.matches, customerId: null, customerEmail: null }
  const { affiliates, programs } = await findAffiliatesWithPrograms(db, shop.id, { ...evidence, matches, order })
  return { order, settings: settingsOf(shop), matches, affiliates, programs }
}

/** What an order names. */
interface Evidence {
  /** What it belongs to, apart from the customer. */
  matches: Omit<Matches, 'customerId' | 'customerEmail'>
  /** The affiliates that it names. */
  named: FactRow[]
}

async function findEvidence(db: Reader, shopId: string, order: Order): Promise<Evidence> {
  const { couponCode, affiliateCode, clickId, sessionId, ref, orderAt } = order
  const clickOf = async (id: string) => {
    const click = await findClick(db, shopId, id, orderAt)
    return click ? toClick(click, id) : null
  }
  const sessionClicksOf = async (id: string) =>
    (await findRelevantClicks(db, shopId, { sessionId: id, orderAt })).map((row) => toClick(row, row.clickId))
  const [byCoupon, byCode, click, sessionClicks, byRef, products] = await Promise.all([
    couponCode ? findAffiliateByCodeOrSlug(db, shopId, couponCode) : undefined,
    affiliateCode ? findAffiliateByCodeOrSlug(db, shopId, affiliateCode) : undefined,
    clickId ? clickOf(clickId) : null,
    sessionId ? sessionClicksOf(sessionId) : [],
    ref ? findAffiliateByRef(db, shopId, ref) : undefined,
    findProductConnections(db, shopId, order.lines),
  ])
  const matches = {
    couponCode: byCoupon?.affiliateId ?? null,
    affiliateCode: byCode?.affiliateId ?? null,
    click,
    sessionClicks,
    ref: byRef?.affiliateId ?? null,
    products,
    ...matchedAliases({ couponCode: byCoupon?.alias, affiliateCode: byCode?.alias, ref: byRef?.alias }),
  }
  return { matches, named: [byCoupon, byCode, byRef].flatMap((affiliate) => affiliate?.row ?? []) }
}

const matchedAffiliateIds = ({ click, sessionClicks, products, aliases, ...named }: Matches): string[] => {
  const ids = [
    ...Object.values(named),
    click?.affiliateId,
    ...sessionClicks.map((sessionClick) => sessionClick.affiliateId),
    ...Object.values(products),
  ]
  return [...new Set(ids)].filter((id): id is string => typeof id === 'string').sort()
}

const toClick = (row: { affiliateId: string | null; occurredAt: string }, clickId: string): Click => ({
  clickId,
  affiliateId: row.affiliateId,
  clickAt: row.occurredAt,
})

/** A shop, and ids of affiliates, products and variants; their number determines the text of a query. */
interface Values {
  shopId: string
  [id: `affiliate${number}` | `product${number}`]: string
}

const idsOf = (values: Values, prefix: 'affiliate' | 'product') =>
  Object.entries(values).flatMap(([name, value]) => (name.startsWith(prefix) ? [value] : []))

const affiliatesById = preparedByShape<Values>()((db, values) =>
  sql<FactRow>`select ${factColumns} from ${affiliatesWithPrograms}
    where a."shopId" = ${values.shopId} and a.id in (${sql.join(idsOf(values, 'affiliate'))})`.compile(db),
)

/** The product rates for the order's lines only: no other rate affects the order. */
const ratesByProduct = preparedByShape<Values>()((db, values) =>
  db
    .selectFrom('productRules')
    .select(['programId', 'kind', 'value', 'commissionType', 'rate'])
    .where('shopId', '=', values.shopId)
    .where('programId', 'in', (eb) =>
      eb
        .selectFrom('affiliates')
        .select('campaignId')
        .where('shopId', '=', values.shopId)
        .where('id', 'in', idsOf(values, 'affiliate')),
    )
    .where('kind', 'in', ['product', 'variant'])
    .where('value', 'in', idsOf(values, 'product'))
    .orderBy('kind')
    .orderBy('value')
    .compile(),
)

interface AffiliateFacts extends Pick<Facts, 'affiliates' | 'programs'> {
  /** The programs whose terms have other versions than the first. */
  termed: string[]
}

/** The matched affiliates and their programs, with what these pay for the lines of an order. */
async function findAffiliatesWithPrograms(
  db: Reader,
  shopId: string,
  { matches, named, order }: Pick<Facts, 'matches' | 'order'> & Pick<Evidence, 'named'>,
): Promise<AffiliateFacts> {
  const ids = matchedAffiliateIds(matches)
  const known = new Map(named.map((row) => [row.id, row]))
  const [found, rates] = await Promise.all([
    findAffiliates(
      db,
      shopId,
      ids.filter((id) => !known.has(id)),
    ),
    findRates(db, shopId, ids, productIds(order.lines)),
  ])
  for (const row of found) known.set(row.id, row)
  const facts: AffiliateFacts = { affiliates: {}, programs: {}, termed: [] }
  for (const affiliateId of ids) {
    const row = known.get(affiliateId)
    if (!row) continue
    const { id, email, status, deletedAt, campaignId, programId, termsVersion, countries, ...program } = row
    facts.affiliates[id] = { id, email, status, archived: deletedAt !== null, programId: campaignId }
    if (programId === null) continue
    const { commissionType, rate, cookieDurationDays, autoApproveOrder, lifetimeCommission, ...places } = program
    if (termsVersion > 1 && !facts.termed.includes(programId)) facts.termed.push(programId)
    facts.programs[programId] = {
      id: programId,
      commissionType,
      rate,
      cookieDurationDays,
      autoApproveOrder: autoApproveOrder === 1,
      lifetimeCommission: lifetimeCommission === 1,
      productRules: rates.filter((rate) => rate.programId === programId).map(toProductRule),
      geoRule: countries === null ? null : toGeoRule({ countries, ...places }),
    }
  }
  return facts
}

async function findAffiliates(db: Reader, shopId: string, ids: string[]): Promise<FactRow[]> {
  if (ids.length === 0) return []
  const values = { shopId, ...numbered('affiliate', ids) }
  return affiliatesById(db, values)
}

async function findRates(db: Reader, shopId: string, affiliateIds: string[], products: string[]) {
  if (affiliateIds.length === 0 || products.length === 0) return []
  const values = { shopId, ...numbered('affiliate', affiliateIds), ...numbered('product', products) }
  return ratesByProduct(db, values)
}

const numbered = (prefix: 'affiliate' | 'product', ids: string[]): Omit<Values, 'shopId'> =>
  Object.fromEntries(ids.map((id, i) => [`${prefix}${i}`, id]))

const toProductRule = ({ kind, value, commissionType, rate }: Omit<ProductRuleRow, 'id' | 'shopId' | 'createdAt'>) => ({
  productId: kind === 'product' ? value : null,
  variantId: kind === 'variant' ? value : null,
  commissionType,
  rate,
})

/** How many clicks an explanation lists. */
const MAX_CLICKS = 100
const DAY_MS = 86_400_000

/**
 * The clicks of a session that an order may be credited for: the newest ones and, when there are more, the first and the
 * last valid click. The cost does not depend on the number of clicks.
 */
export async function findRelevantClicks(db: Reader, shopId: string, visit: OrderSession): Promise<StoredClick[]> {
  const newest = await findSessionClicks(db, shopId, visit, MAX_CLICKS)
  if (newest.length < MAX_CLICKS) return newest
  const days = [...(await listClickWindows(db, shopId)), DEFAULT_CLICK_WINDOW_DAYS]
  const windows = openWindows(visit.orderAt, days)
  const edges = windows.length > 0 ? await findValidEdges(db, shopId, visit, windows) : []
  return [...new Map([...newest, ...edges].map((click) => [clickKey(click), click])).values()]
}

/** The click windows at the time of an order, longest first. Zero days disable link evidence. */
function openWindows(orderAt: string, windowDays: number[]): ClickWindow[] {
  const open = [...new Set(windowDays)].filter((days) => days > 0).sort((a, b) => b - a)
  return open.map((days) => ({ days, since: new Date(Date.parse(orderAt) - days * DAY_MS).toISOString() }))
}

/**
 * The first and the last valid click. Usually they are among the outermost clicks of the longest window. Only when these
 * belong to affiliates with shorter windows or to no affiliate is each affiliate queried.
 */
async function findValidEdges(
  db: Reader,
  shopId: string,
  visit: OrderSession,
  windows: ClickWindow[],
): Promise<StoredClick[]> {
  const sinceByDays = new Map(windows.map(({ days, since }) => [days, since]))
  const isValid = ({ hasAffiliate, days, occurredAt }: ClickWithWindow) => {
    const since = sinceByDays.get(days)
    return hasAffiliate && since !== undefined && occurredAt >= since
  }
  const longestWindow = { ...visit, since: windows[0]!.since }
  const pages = await Promise.all(
    (['first', 'last'] as const).map((edge) => findEdgeClicks(db, shopId, longestWindow, { edge, limit: MAX_CLICKS })),
  )
  const edges = pages.map((page) => page.find(isValid))
  const isCertain = edges.every((edge, n) => edge || pages[n]!.length < MAX_CLICKS)
  if (isCertain) return edges.filter((edge) => edge !== undefined)
  const clicks = await findEdgeClicksByAffiliate(db, shopId, visit, windows)
  return clicks.filter((_, n) => n === 0 || n === clicks.length - 1)
}

const clickKey = ({ clickId, occurredAt, affiliateId }: StoredClick) =>
  JSON.stringify([clickId, occurredAt, affiliateId])
