import type { Goods } from './commission.ts'
import type {
  AffiliateFact,
  AliasedSource,
  Candidate,
  Click,
  EvidenceKind,
  Facts,
  MatchCode,
  Matches,
  MissCode,
  OrderLine,
  ProgramFact,
  ReasonCode,
} from './facts.ts'
import { trimToNull } from './normalize.ts'

/** All evidence of an order, and the winner. `reasonCode` is the winner's, or the reason why there is none. */
export interface AttributionResult {
  candidates: Candidate[]
  winner: Candidate | null
  reasonCode: ReasonCode
}

/**
 * Collects all four kinds of evidence, so that an explanation can show the losers. The first valid candidate wins, in the
 * shop's precedence of kinds and then in order of collection.
 */
export function attribute(facts: Facts, goods: Goods): AttributionResult {
  const candidates = [
    ...lookupEvidence(facts, 'COUPON', 'couponCode', 'COUPON_MATCH'),
    ...lookupEvidence(facts, 'COUPON', 'affiliateCode', 'AFFILIATE_CODE_MATCH'),
    ...linkEvidence(facts),
    ...lookupEvidence(facts, 'CONNECTED_CUSTOMER', 'customerId', 'CONNECTED_CUSTOMER_ID_MATCH'),
    ...lookupEvidence(facts, 'CONNECTED_CUSTOMER', 'customerEmail', 'CONNECTED_CUSTOMER_EMAIL_MATCH'),
    ...productEvidence(facts, goods),
  ]
  const ranked = facts.settings.precedence.flatMap((kind) => candidates.filter((entry) => entry.kind === kind))
  const winner = ranked.find(canWin) ?? null
  if (winner) winner.won = true
  return { candidates, winner, reasonCode: winner?.reasonCode ?? ranked[0]?.reasonCode ?? 'NO_EVIDENCE' }
}

type NamedSource = keyof Matches & ('couponCode' | 'affiliateCode' | 'customerId' | 'customerEmail')

/** Evidence that was looked up when the facts were gathered. */
function lookupEvidence(facts: Facts, kind: EvidenceKind, source: NamedSource, code: MatchCode): Candidate[] {
  const value = trimToNull(facts.order[source])
  if (value === null) return []
  const from = { kind, source, value }
  const affiliate = affiliateOf(facts, facts.matches[source])
  return [affiliate === null ? miss(from, 'NO_MATCH') : { ...hit(from, affiliate.id, code), ...aliasOf(facts, source) }]
}

function aliasOf({ matches }: Facts, source: keyof Matches): Pick<Candidate, 'alias'> {
  const alias = matches.aliases?.[source as AliasedSource]
  return alias === undefined ? {} : { alias }
}

/** Precedence presets by name. Each lists all four kinds of evidence. */
export const PRECEDENCE_PRESETS = {
  default: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
  'link-first': ['DIRECT_LINK', 'COUPON', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
  'customer-first': ['CONNECTED_CUSTOMER', 'COUPON', 'DIRECT_LINK', 'CONNECTED_PRODUCT'],
} as const satisfies Record<string, readonly EvidenceKind[]>

/** The confidence of a match, 0 to 1. */
export const CONFIDENCE: Record<MatchCode, number> = {
  COUPON_MATCH: 1,
  AFFILIATE_CODE_MATCH: 1,
  CLICK_MATCH: 0.95,
  CONNECTED_CUSTOMER_ID_MATCH: 0.9,
  CONNECTED_CUSTOMER_EMAIL_MATCH: 0.85,
  REF_MATCH: 0.8,
  CONNECTED_PRODUCT_MATCH: 0.7,
}

/** Where a piece of evidence came from. */
export interface Source {
  kind: EvidenceKind
  source: string
  value: string
}

/** Evidence that names an affiliate. */
function hit(from: Source, affiliateId: string, reasonCode: MatchCode): Candidate {
  return { ...from, affiliateId, confidence: CONFIDENCE[reasonCode], reasonCode, won: false }
}

/** Evidence that cannot win; `affiliateId` is the affiliate it would have named. */
export function miss(from: Source, reasonCode: MissCode, affiliateId: string | null = null): Candidate {
  return { ...from, affiliateId, confidence: 0, reasonCode, won: false }
}

/** True when the evidence can win. */
export function canWin(candidate: Candidate): boolean {
  return candidate.confidence > 0
}

/** The affiliate with this id; null without an id or when its data was deleted. */
export function affiliateOf(facts: Facts, id: string | null): AffiliateFact | null {
  return id !== null && Object.hasOwn(facts.affiliates, id) ? facts.affiliates[id]! : null
}

/** The program of an affiliate; null when it has none or the data was deleted. */
export function programOf(facts: Facts, affiliate: AffiliateFact): ProgramFact | null {
  const id = affiliate.programId
  return id !== null && Object.hasOwn(facts.programs, id) ? facts.programs[id]! : null
}

const DAY_MS = 86_400_000
/** Clocks of storefront and server differ, so a click may appear this much later than its order. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000
/** The click window of new programs and of affiliates without a program. */
export const DEFAULT_CLICK_WINDOW_DAYS = 30

/** DIRECT_LINK evidence in order: `clickId`, `ref`, then the session's clicks, the preferred one first. */
function linkEvidence(facts: Facts): Candidate[] {
  return [...clickEvidence(facts), ...refEvidence(facts), ...sessionEvidence(facts)]
}

function clickEvidence(facts: Facts): Candidate[] {
  const value = trimToNull(facts.order.clickId)
  if (value === null) return []
  const from: Source = { kind: 'DIRECT_LINK', source: 'clickId', value }
  return [facts.matches.click ? evaluateClick(facts, from, facts.matches.click) : miss(from, 'CLICK_NOT_FOUND')]
}

function refEvidence(facts: Facts): Candidate[] {
  const value = trimToNull(facts.order.ref)
  if (value === null) return []
  const from: Source = { kind: 'DIRECT_LINK', source: 'ref', value }
  const affiliate = affiliateOf(facts, facts.matches.ref)
  if (affiliate === null) return [miss(from, 'NO_MATCH')]
  const isAccepted = clickWindowDays(facts, affiliate) > 0
  const candidate = isAccepted ? hit(from, affiliate.id, 'REF_MATCH') : miss(from, 'NO_MATCH', affiliate.id)
  return [{ ...candidate, ...aliasOf(facts, 'ref') }]
}

function sessionEvidence(facts: Facts): Candidate[] {
  const session = trimToNull(facts.order.sessionId)
  if (session === null) return []
  const clicks = facts.matches.sessionClicks.toSorted(byTime)
  if (facts.settings.clickTouch === 'LAST') clicks.reverse()
  if (clicks.length === 0) return [miss({ kind: 'DIRECT_LINK', source: 'sessionId', value: session }, 'NO_MATCH')]
  return clicks.map((click) =>
    evaluateClick(facts, { kind: 'DIRECT_LINK', source: 'sessionId', value: click.clickId }, click),
  )
}

function byTime(a: Click, b: Click): number {
  return Date.parse(a.clickAt) - Date.parse(b.clickAt) || (a.clickId < b.clickId ? -1 : 1)
}

function evaluateClick(facts: Facts, from: Source, click: Click): Candidate {
  const affiliate = affiliateOf(facts, click.affiliateId)
  if (affiliate === null) return miss(from, 'NO_MATCH')
  const missCode = clickWindowMiss(facts.order.orderAt, click.clickAt, clickWindowDays(facts, affiliate))
  return missCode ? miss(from, missCode, affiliate.id) : hit(from, affiliate.id, 'CLICK_MATCH')
}

/** A click counts from `days` before the order, inclusive; 0 days disable link evidence. */
function clickWindowMiss(orderAt: string, clickAt: string, days: number): MissCode | null {
  const age = Date.parse(orderAt) - Date.parse(clickAt)
  if (days <= 0 || !(age <= days * DAY_MS)) return 'CLICK_EXPIRED'
  return age < -CLOCK_TOLERANCE_MS ? 'CLICK_AFTER_ORDER' : null
}

/** Without a program the documented default applies; the missing program becomes a restriction later. */
function clickWindowDays(facts: Facts, affiliate: AffiliateFact): number {
  return programOf(facts, affiliate)?.cookieDurationDays ?? DEFAULT_CLICK_WINDOW_DAYS
}

/** The product or variant that connects an order line to an affiliate. */
interface Connection {
  source: 'variantId' | 'productId'
  value: string
  affiliateId: string | null
}

/**
 * Evidence CONNECTED_PRODUCT, one entry per distinct product or variant: first those of the affiliate with the highest
 * matched line total (ties go to the lowest affiliate id), last those without a connection.
 */
function productEvidence(facts: Facts, goods: Goods): Candidate[] {
  const connections = facts.order.lines.map((line) => connectionOf(facts, line))
  const totals = new Map<string, number>()
  connections.forEach((connection, index) => {
    const id = connection?.affiliateId
    if (id) totals.set(id, (totals.get(id) ?? 0) + goods.gross[index]!)
  })
  const distinct = new Map(
    connections.flatMap((connection) => (connection ? [[`${connection.source}:${connection.value}`, connection]] : [])),
  )
  return [...distinct.values()].sort((a, b) => byTotal(totals, a.affiliateId, b.affiliateId)).map(candidateOf)
}

/** Indexes of the lines connected to an affiliate, the only ones that CONNECTED_PRODUCT pays for. */
export function connectedLines(facts: Facts, affiliateId: string): number[] {
  return facts.order.lines.flatMap((line, index) =>
    connectionOf(facts, line)?.affiliateId === affiliateId ? [index] : [],
  )
}

/** The variant's connection takes precedence over the product's; ids are compared exactly. */
function connectionOf(facts: Facts, line: OrderLine): Connection | null {
  const variant = line.variantId ? connectionTo(facts, 'variantId', line.variantId) : null
  const product = line.productId ? connectionTo(facts, 'productId', line.productId) : null
  return variant?.affiliateId ? variant : product?.affiliateId ? product : (variant ?? product)
}

function connectionTo(facts: Facts, source: Connection['source'], value: string): Connection {
  const id = facts.matches.products[`${source === 'variantId' ? 'variant' : 'product'}:${value}`]
  return { source, value, affiliateId: affiliateOf(facts, id ?? null)?.id ?? null }
}

function byTotal(totals: Map<string, number>, a: string | null, b: string | null): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return totals.get(b)! - totals.get(a)! || (a < b ? -1 : 1)
}

function candidateOf({ source, value, affiliateId }: Connection): Candidate {
  const from = { kind: 'CONNECTED_PRODUCT', source, value } as const
  return affiliateId === null ? miss(from, 'NO_MATCH') : hit(from, affiliateId, 'CONNECTED_PRODUCT_MATCH')
}
