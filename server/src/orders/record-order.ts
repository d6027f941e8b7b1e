import { connectCustomer } from '../affiliates/connections.ts'
import { findAffiliateByCodeOrSlug, findAffiliateByRef, matchedAliases } from '../affiliates/name-queries.ts'
import { findAffiliatesById, findConnectedAffiliate, findProductConnections } from '../affiliates/queries.ts'
import { auditedAmounts, statusEvents } from '../commissions/event-queries.ts'
import { insertCommission, toCommission } from '../commissions/queries.ts'
import { type Context, nowIso } from '../core/context.ts'
import type { Mutation } from '../core/mutate.ts'
import type { Reader, Transaction } from '../database/database.ts'
import type { AffiliateRow, CommissionRow, OrderRow, ProgramRow, ShopRow } from '../database/tables.ts'
import type { Touches } from '../database/touches.ts'
import { DEFAULT_CLICK_WINDOW_DAYS } from '../engine/attribution.ts'
import { goodsOf } from '../engine/commission.ts'
import { decide } from '../engine/decide.ts'
import type { AffiliateFact, Click, Decision, Facts, Matches, Order, OrderLine, ProgramFact } from '../engine/facts.ts'
import { emailKey } from '../engine/normalize.ts'
import { serializeFacts } from '../engine/stored-facts.ts'
import {
  type ClickWindow,
  type ClickWithWindow,
  findClick,
  findEdgeClicks,
  findEdgeClicksByAffiliate,
  findSessionClicks,
  insertJourneyEntry,
  type OrderSession,
  replaceJourneyEntry,
  type StoredClick,
} from '../journey/queries.ts'
import { findGeoRules, findProductRules, findPrograms, listClickWindows } from '../programs/queries.ts'
import { findOrder, hasSameAmounts, upsertOrder } from './queries.ts'

/** An order from any source, before it is decided. */
export interface IncomingOrder {
  order: Order
  /** Unique in the shop, prefixed with the source: `api:1001`. */
  orderId: string
  orderName: string | null
  trackingMethod: 'API' | 'STORE_ORDER'
}

export interface RecordedOrder {
  commissionId: string | null
  decision: Decision
  /** The order was recorded before, and nothing was changed; `differs` when it had other amounts. */
  alreadyRecorded: boolean
  differs?: boolean
}

/** What recording an order reads and writes besides settings: the order, its click, its session and its customer. */
export function touchesOf({ order, orderId }: Pick<IncomingOrder, 'order' | 'orderId'>): Touches {
  const { clickId, sessionId, customerId, customerEmail } = order
  return [
    `order:${orderId}`,
    ...(clickId ? [clickTouch(clickId)] : []),
    ...(sessionId ? [sessionTouch(sessionId)] : []),
    ...(customerId ? [`customerId:${customerId}`] : []),
    ...(customerEmail ? [`customerEmail:${emailKey(customerEmail)}`] : []),
  ]
}

export const clickTouch = (clickId: string): string => `click:${clickId}`
export const sessionTouch = (sessionId: string): string => `session:${sessionId}`

/** What recording an order reads first. */
export interface FoundOrder {
  existing: OrderRow | undefined
  evidence: Evidence
}

/** Asks for everything at once, which costs one round trip on PostgreSQL. */
export async function findOrderAndEvidence(
  db: Reader,
  shopId: string,
  { order, orderId }: Pick<IncomingOrder, 'order' | 'orderId'>,
): Promise<FoundOrder> {
  const [existing, evidence] = await Promise.all([findOrder(db, shopId, orderId), gatherEvidence(db, shopId, order)])
  return { existing, evidence }
}

/**
 * Records an order from any source: gathers facts, decides, and stores the decision once. A credited order keeps its first
 * decision; an order that nobody was credited for is decided again with a later report.
 *
 * @param ctx `ctx.shop` must be the row as read in `trx`
 * @param found as read in `trx`
 */
export async function recordOrder(
  ctx: Context,
  trx: Transaction,
  incoming: IncomingOrder,
  found?: FoundOrder,
): Promise<Mutation<RecordedOrder>> {
  const { existing, evidence } = found ?? (await findOrderAndEvidence(trx, ctx.shop.id, incoming))
  if (existing?.commissionId) {
    const decision = JSON.parse(existing.decision)
    const recorded = { commissionId: existing.commissionId, decision, alreadyRecorded: true }
    return { result: { ...recorded, differs: !hasSameAmounts(existing, incoming.order) }, audit: null }
  }
  const facts = await gatherFacts(trx, ctx.shop, incoming.order, evidence)
  const decision = decide(facts)
  const row = decision.status === null ? null : newCommission(ctx, incoming, decision)
  if (row) await insertCommission(trx, ctx.shop.id, row)
  await storeOrder(ctx, trx, {
    incoming,
    facts,
    decision,
    commissionId: row?.id ?? null,
    isKnown: existing !== undefined,
  })
  const result = { commissionId: row?.id ?? null, decision, alreadyRecorded: false }
  if (!row)
    return {
      result,
      audit: {
        action: 'order.unattributed',
        subjectId: incoming.orderId,
        data: { reasonCode: decision.attribution.reasonCode },
      },
    }
  if (decision.connectsCustomer && hasNoConnection(facts))
    await connectCustomer(ctx, trx, { ...incoming, affiliateId: row.affiliateId })
  const stored = { ...row, shopId: ctx.shop.id }
  const data = { ...toCommission(stored), attribution: decision.attribution }
  return {
    result,
    audit: {
      action: 'commission.created',
      subjectId: row.id,
      data: auditedAmounts(row),
    },
    events: [{ event: 'commission.created', data }, ...statusEvents(stored, null)],
  }
}

function newCommission(
  ctx: Context,
  { order, orderId, orderName, trackingMethod }: IncomingOrder,
  decision: Decision,
): Omit<CommissionRow, 'shopId'> {
  const createdAt = nowIso(ctx)
  return {
    id: ctx.newId('com'),
    affiliateId: decision.attribution.affiliateId!,
    programId: decision.programId,
    externalOrderId: order.externalOrderId,
    orderId,
    orderName,
    currency: decision.currency ?? order.currency,
    orderCurrency: order.currency,
    commissionType: decision.commissionType,
    commissionBaseCents: decision.baseCents,
    remainingBaseCents: decision.baseCents,
    commissionRateBps: decision.rateBps,
    commissionAmountCents: decision.amountCents,
    taxWithheldCents: decision.taxWithheldCents,
    orderSubtotalCents: decision.subtotalCents,
    orderDiscountCents: order.discountCents,
    orderShippingCents: order.shippingCents,
    orderTaxCents: order.taxCents,
    trackingMethod,
    attributionMethod: decision.attribution.method,
    attributionReasonCode: decision.attribution.reasonCode,
    restrictionReasonCode: decision.restrictionReasonCode,
    orderStatus: decision.status!,
    payoutBatchId: null,
    debtId: null,
    happenedAt: order.orderAt,
    paidAt: null,
    createdAt,
    updatedAt: createdAt,
    version: 1,
  }
}

interface DecidedOrder {
  incoming: IncomingOrder
  facts: Facts
  decision: Decision
  commissionId: string | null
  /** The order was reported before, and nobody was credited. */
  isKnown: boolean
}

/** Stores facts and decision together, and adds the order to the customer's journey. */
async function storeOrder(ctx: Context, trx: Transaction, decided: DecidedOrder): Promise<void> {
  const { incoming, facts, decision, commissionId, isKnown } = decided
  const { order, orderId, orderName } = incoming
  const createdAt = nowIso(ctx)
  await upsertOrder(trx, ctx.shop.id, {
    orderId,
    commissionId,
    orderAt: order.orderAt,
    orderName,
    orderCurrency: order.currency,
    goodsCents: goodsOf(order).base,
    facts: serializeFacts(facts),
    decision: JSON.stringify(decision),
    createdAt,
    updatedAt: createdAt,
  })
  const writeEntry = isKnown ? replaceJourneyEntry : insertJourneyEntry
  await writeEntry(trx, ctx.shop.id, {
    ...NO_TOUCH_COLUMNS,
    id: ctx.newId('jrn'),
    type: 'conversion',
    occurredAt: order.orderAt,
    sessionId: order.sessionId,
    affiliateId: decision.attribution.affiliateId,
    programId: decision.programId,
    clickId: order.clickId,
    ref: order.ref,
    customerId: order.customerId,
    customerEmail: order.customerEmail,
    customerEmailKey: order.customerEmail && emailKey(order.customerEmail),
    country: order.shipping?.country ?? null,
    externalOrderId: order.externalOrderId,
    orderId,
    commissionId,
    createdAt,
  })
}

const NO_TOUCH_COLUMNS = {
  url: null,
  landingPage: null,
  referrerUrl: null,
  utmSource: null,
  utmMedium: null,
  utmCampaign: null,
  utmTerm: null,
  utmContent: null,
  device: null,
}

/** A customer connected by one identifier is not connected to another affiliate by a second one. */
const hasNoConnection = ({ matches }: Facts) => matches.customerId === null && matches.customerEmail === null

/** What an order matches, and the affiliates that were read to find out. */
interface Evidence {
  matches: Matches
  affiliates: AffiliateRow[]
}

/** Reads everything that the engine needs to decide an order. */
export async function gatherFacts(db: Reader, shop: ShopRow, order: Order, evidence?: Evidence): Promise<Facts> {
  const { matches, affiliates: known } = evidence ?? (await gatherEvidence(db, shop.id, order))
  const ids = matchedAffiliateIds(matches)
  const others = ids.filter((id) => !known.some((row) => row.id === id))
  const found = [...known, ...(await findAffiliatesById(db, shop.id, others))]
  const affiliates = ids.flatMap((id) => found.find((row) => row.id === id) ?? [])
  const programIds = [...new Set(affiliates.map((row) => row.campaignId))].filter((id) => id !== null)
  // Asks for the rules of the programs together with their rows.
  const [programs, ...rules] = await Promise.all([
    findPrograms(db, shop.id, programIds),
    ...programIds.map((id) => gatherRules(db, shop.id, id, order.lines)),
  ])
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
    programs: byId(programs.map((row) => toProgramFact(row, rules[programIds.indexOf(row.id)]!))),
  }
}

/** Asks for everything at once, which costs one round trip on PostgreSQL. */
async function gatherEvidence(db: Reader, shopId: string, order: Order): Promise<Evidence> {
  const { couponCode, affiliateCode, clickId, sessionId, ref, customerId, customerEmail, orderAt } = order
  const clickOf = async (id: string) => {
    const click = await findClick(db, shopId, id, orderAt)
    return click ? toClick(click, id) : null
  }
  const sessionClicksOf = async (id: string) =>
    (await findRelevantClicks(db, shopId, { sessionId: id, orderAt })).map((row) => toClick(row, row.clickId))
  const [byCoupon, byCode, click, sessionClicks, byRef, byCustomerId, byCustomerEmail, products] = await Promise.all([
    couponCode ? findAffiliateByCodeOrSlug(db, shopId, couponCode) : undefined,
    affiliateCode ? findAffiliateByCodeOrSlug(db, shopId, affiliateCode) : undefined,
    clickId ? clickOf(clickId) : null,
    sessionId ? sessionClicksOf(sessionId) : [],
    ref ? findAffiliateByRef(db, shopId, ref) : undefined,
    customerId ? findConnectedAffiliate(db, shopId, 'customerId', customerId) : null,
    customerEmail ? findConnectedAffiliate(db, shopId, 'customerEmail', emailKey(customerEmail)) : null,
    findProductConnections(db, shopId, order.lines),
  ])
  const matches = {
    couponCode: byCoupon?.affiliate.id ?? null,
    affiliateCode: byCode?.affiliate.id ?? null,
    click,
    sessionClicks,
    ref: byRef?.affiliate.id ?? null,
    customerId: byCustomerId,
    customerEmail: byCustomerEmail,
    products,
    ...matchedAliases({ couponCode: byCoupon?.alias, affiliateCode: byCode?.alias, ref: byRef?.alias }),
  }
  return { matches, affiliates: [byCoupon, byCode, byRef].flatMap((match) => match?.affiliate ?? []) }
}

const matchedAffiliateIds = ({ click, sessionClicks, products, aliases, ...named }: Matches): string[] => {
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

type ProgramRules = Pick<ProgramFact, 'productRules' | 'geoRule'>

async function gatherRules(db: Reader, shopId: string, programId: string, lines: OrderLine[]): Promise<ProgramRules> {
  const [productRules, geoRule] = await Promise.all([
    findProductRules(db, shopId, programId, lines),
    findGeoRules(db, shopId, programId),
  ])
  return { productRules, geoRule }
}

const toProgramFact = (row: ProgramRow, rules: ProgramRules): ProgramFact => ({
  id: row.id,
  commissionType: row.commissionType,
  rate: row.defaultCommissionBps,
  cookieDurationDays: row.cookieDurationDays,
  autoApproveOrder: row.autoApproveOrder === 1,
  lifetimeCommission: row.lifetimeCommission === 1,
  ...rules,
})

const byId = <Fact extends { id: string }>(facts: Fact[]): Record<string, Fact> =>
  Object.fromEntries(facts.map((fact) => [fact.id, fact]))

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
