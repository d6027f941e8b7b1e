import { createHash } from 'node:crypto'
import { conflict, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { money } from '../../core/currencies.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import type { CommissionRow, OrderNoticeRow, OrderRow, RefundRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import { affiliateOf, canWin, programOf } from '../../engine/attribution.ts'
import { goodsOf, totalAmount } from '../../engine/commission.ts'
import { decide, ENGINE_VERSION } from '../../engine/decide.ts'
import type { Candidate, Decision, EvidenceKind, Facts, MissCode, RateGroup } from '../../engine/facts.ts'
import { canceledRefundOf, cancellationIdOf } from '../../engine/normalize.ts'
import { namesUnknownItem } from '../../engine/refund.ts'
import { restrictionTexts } from '../../engine/restriction-texts.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import { explainTerms } from '../../engine/terms-texts.ts'
import { findAffiliateBySlug } from '../affiliates/queries.ts'
import { findCommissionByOrder, listRefunds, toCommission, toDecision } from '../ledger/commissions.ts'
import { listOrderNotices } from '../ledger/order-notices.ts'
import { findOrder, findOrderIds } from '../ledger/orders.ts'
import { toRefund } from './event-queries.ts'
import { toRefundSnapshot } from './refunded-goods.ts'

type Explanation = components['schemas']['Explanation']
type OrderExplanation = components['schemas']['OrderExplanation']

/**
 * Explains the commission of an order from its stored facts, and the changes since it was recorded.
 *
 * @throws ApiError 404 `order_not_found` for an order that was never reported.
 */
export async function explain(ctx: Context, id: string): Promise<Explanation> {
  const [orderId] = await findOrderIds(ctx.db.read, ctx.shop.id, id)
  const { row, facts, decision } = await readOrder(ctx, orderId)
  return {
    ...(await explainDecision(ctx, row, { facts, decision })),
    order: { ...facts.order },
    decision: toDecision(decision, facts.order.currency),
  }
}

/**
 * {@link explain} without what identifies the customer.
 *
 * @throws ApiError 404 `order_not_found`, or 409 `order_ambiguous` for the id or name of several orders.
 */
export async function explainToKey(ctx: Context, id: string): Promise<OrderExplanation> {
  const orderIds = await findOrderIds(ctx.db.read, ctx.shop.id, id)
  const [orderId] = orderIds
  if (orderIds.length > 1)
    throw conflict(
      'order_ambiguous',
      `Several orders match: ${orderIds.join(', ')}. Send the stored id of one of them.`,
    )
  const { row, facts, decision } = await readOrder(ctx, orderId)
  const candidates = decision.candidates.map((candidate) => ({
    ...candidate,
    // Some shops send an address as a code or a click ID.
    value: candidate.value.includes('@') ? ANONYMOUS.customerEmail! : (ANONYMOUS[candidate.source] ?? candidate.value),
  }))
  return explainDecision(ctx, row, { facts, decision: { ...decision, candidates } })
}

/** What replaces the evidence that identifies a customer. */
const ANONYMOUS: Record<string, string> = { customerId: '(customer ID)', customerEmail: '(email address)' }

async function readOrder(ctx: Context, orderId: string | undefined) {
  const row = orderId === undefined ? undefined : await findOrder(ctx.db.read, ctx.shop.id, orderId)
  if (!row) throw notFound('order_not_found', 'No order with this id was reported to your shop.')
  const decision: Decision = JSON.parse(row.decision)
  return { row, facts: parseFacts(row.facts), decision }
}

async function explainDecision(
  ctx: Context,
  row: OrderRow,
  { facts, decision }: { facts: Facts; decision: Decision },
): Promise<OrderExplanation> {
  const commission = row.commissionId ? await findCommissionByOrder(ctx.db.read, ctx.shop.id, row.orderId) : undefined
  const refunds = commission ? await listRefunds(ctx.db.read, ctx.shop.id, commission.id) : []
  const shownRefunds: Explanation['refunds'] = []
  const snapshot = toRefundSnapshot(facts, decision)
  const withUnknownItem = new Set<RefundRow>()
  // Each can have a thousand line items.
  await forEachInSlices(ctx.db.read, refunds, async (refund) => {
    const shown = toRefund(refund)
    shownRefunds.push(shown)
    if (namesUnknownItem(snapshot, shown.lineItems)) withUnknownItem.add(refund)
  })
  return {
    orderId: row.orderId,
    externalOrderId: facts.order.externalOrderId,
    ...outcomeOf(facts, decision),
    summary: summaryOf(decision, facts) + changeText(decision, commission, refunds),
    receivedAt: row.createdAt,
    precedence: facts.settings.precedence,
    clickTouch: facts.settings.clickTouch,
    evidence: evidenceOf(facts, decision, await findSlugNamesakes(ctx, row, decision)),
    ...creditedOf(facts, decision),
    terms: termsOf(facts, decision),
    arithmetic: arithmeticOf(facts, decision, { refunds, withUnknownItem, commission }),
    replay: replay(row),
    commission: commission ? toCommission(commission) : null,
    refunds: shownRefunds,
    notices: (await listOrderNotices(ctx.db.read, ctx.shop.id, row.orderId)).flatMap(({ kind, ...notice }) =>
      kind === 'evidence' ? [] : toNotice({ ...notice, kind }, { commission, refunds }),
    ),
  }
}

interface AppliedTo {
  commission: CommissionRow | undefined
  refunds: RefundRow[]
}

const CANCELED: CommissionRow['orderStatus'][] = ['CANCELED', 'REVERSED', 'REFUNDED']

function toNotice(
  { kind, noticeId, body, createdAt }: OrderNoticeRow & { kind: keyof typeof NOTICE_TYPES },
  { commission, refunds }: AppliedTo,
): Explanation['notices'][number] {
  // Notices of a store have the names of the store.
  const { note = null, reason = note, created_at, occurredAt = created_at }: NoticeBody = JSON.parse(body)
  const ids = kind === 'refund' ? [noticeId, cancellationIdOf(noticeId)] : [cancellationIdOf(noticeId)]
  return {
    type: NOTICE_TYPES[kind],
    externalRefundId: noticeId || null,
    reason,
    occurredAt: occurredAt ?? createdAt,
    applied:
      kind === 'canceled'
        ? commission !== undefined && CANCELED.includes(commission.orderStatus)
        : refunds.some(({ externalRefundId }) => ids.includes(externalRefundId)),
    receivedAt: createdAt,
  }
}

interface NoticeBody {
  reason?: string | null
  note?: string | null
  occurredAt?: string | null
  created_at?: string | null
}

const NOTICE_TYPES = { canceled: 'cancellation', canceledRefund: 'refund_cancellation', refund: 'refund' } as const

/** Other affiliates whose slug equals a code of the order. Slugs never change, so this also holds for past orders. */
async function findSlugNamesakes(
  ctx: Context,
  { createdAt }: OrderRow,
  { candidates }: Decision,
): Promise<SlugNamesakes> {
  const namesakes = new Map<string, string>()
  for (const { kind, value, affiliateId } of candidates) {
    if (kind !== 'COUPON' || affiliateId === null) continue
    const other = await findAffiliateBySlug(ctx.db.read, ctx.shop.id, codeKey(value))
    if (other && other.id !== affiliateId && other.createdAt <= createdAt) namesakes.set(value, other.id)
  }
  return namesakes
}

/** Decides the stored facts again. The result must be identical except for the engine's version. */
export function replay(row: Pick<OrderRow, 'facts' | 'decision'>): Explanation['replay'] {
  const decision = decide(parseFacts(row.facts))
  const again = JSON.stringify(decision)
  const recorded: Decision = JSON.parse(row.decision)
  return {
    identical: JSON.stringify({ ...decision, engineVersion: recorded.engineVersion }) === row.decision,
    engineVersion: ENGINE_VERSION,
    recordedEngineVersion: recorded.engineVersion,
    decisionHash: createHash('sha256').update(again).digest('hex'),
  }
}

function outcomeOf(facts: Facts, decision: Decision): Pick<Explanation, 'outcome' | 'restriction'> {
  const { attribution, restrictionReasonCode: code } = decision
  if (attribution.affiliateId === null) return { outcome: 'NOBODY', restriction: null }
  const restriction = code && { code, because: restrictionTexts(code, { facts, decision }).merchant }
  return { outcome: decision.eligible ? 'CREDITED' : 'RESTRICTED', restriction }
}

/** The credited affiliate and program, as they were when the order was decided. */
function creditedOf(facts: Facts, decision: Decision): Pick<Explanation, 'affiliate' | 'program'> {
  const affiliate = affiliateOf(facts, decision.attribution.affiliateId)
  if (!affiliate) return { affiliate: null, program: null }
  const { id, status, archived, programId } = affiliate
  const program = programOf(facts, affiliate)
  return {
    affiliate: { id, status, archived, programId },
    program: program && {
      id: program.id,
      commissionType: program.commissionType,
      rate: program.rate,
      cookieDurationDays: program.cookieDurationDays,
      autoApproveOrder: program.autoApproveOrder,
      lifetimeCommission: program.lifetimeCommission,
    },
  }
}

/** Why the terms of the program paid what they did; empty for version 1. */
function termsOf(facts: Facts, { attribution, subtotalCents }: Decision): string[] {
  const affiliate = affiliateOf(facts, attribution.affiliateId)
  const program = affiliate && programOf(facts, affiliate)
  return affiliate && program ? explainTerms(facts, program, { affiliate, subtotalCents, money }) : []
}

type Line = components['schemas']['ArithmeticLine']

const arithmeticLine =
  (currency: string) =>
  (step: Line['step'], text: string, cents: number): Line => ({ step, text, cents, currency })

/**
 * The calculation of an order's commission and its refunds, line by line. Goods are in cents of the order's currency;
 * everything from the rates on is in cents of the commission's currency.
 */
function arithmeticOf(
  facts: Facts,
  decision: Decision,
  { refunds, withUnknownItem, commission }: AppliedTo & { withUnknownItem: ReadonlySet<RefundRow> },
): Line[] {
  const { subtotalCents, baseCents, amountCents, taxWithheldCents } = decision
  const goods = goodsOf(facts.order)
  const line = arithmeticLine(facts.order.currency)
  const commissionCurrency = decision.currency ?? facts.order.currency
  const earned = arithmeticLine(commissionCurrency)
  const lines = [line('subtotal', subtotalText(facts), subtotalCents)]
  if (goods.base !== subtotalCents) lines.push(line('discount', 'Discount on goods', goods.base - subtotalCents))
  if (goods.base !== baseCents) {
    lines.push(line('outside', 'Lines that are not connected to the affiliate', baseCents - goods.base))
  }
  lines.push(line('base', 'Commissionable amount, excluding shipping and tax', baseCents))
  lines.push(
    ...decision.groups.map((group) => earned('group', groupText(group, facts, commissionCurrency), group.amountCents)),
  )
  if (decision.status === null) return lines
  const uncapped = totalAmount(decision.groups)
  if (amountCents < uncapped)
    lines.push(earned('cap', "The most that the rule of the program's terms pays for an order", amountCents - uncapped))
  const { restrictionReasonCode: code } = decision
  if (code && !decision.eligible) lines.push(earned('restricted', code, 0))
  const bps = facts.settings.taxWithholdingBps
  lines.push(
    earned('commission', 'The commission', amountCents),
    earned('tax', `Withheld: ${percentText(amountCents, bps, commissionCurrency)}`, taxWithheldCents),
    ...refunds.map((refund) =>
      earned('refund', refundText(refund, facts.order.currency, withUnknownItem.has(refund)), refund.commissionCents),
    ),
  )
  const left = leftOf(decision, refunds)
  const canceled = commission && CANCELLATION_TEXTS[commission.orderStatus]
  if (!canceled) return [...lines, earned('now', 'Commission after refunds', left)]
  if (left !== 0) lines.push(earned('canceled', `The ${canceled}`, -left))
  return [...lines, earned('now', 'Commission that remains', 0)]
}

const leftOf = ({ amountCents }: Decision, refunds: RefundRow[]): number =>
  refunds.reduce((total, refund) => total + refund.commissionCents, amountCents)

/** Why nothing of a commission remains, by its status. */
const CANCELLATION_TEXTS: { [Name in CommissionRow['orderStatus']]?: string } = {
  CANCELED: 'order was canceled',
  REJECTED: 'commission was rejected',
  REVERSED: 'paid commission was reversed',
}

/** What refunds and cancellations changed since the decision, for the end of the summary. */
function changeText(decision: Decision, commission: CommissionRow | undefined, refunds: RefundRow[]): string {
  if (!commission || !decision.eligible) return ''
  const { orderStatus, currency } = commission
  const canceled = CANCELLATION_TEXTS[orderStatus]
  if (canceled) return ` The ${canceled}: ${money(0, currency)} remain.`
  const left = leftOf(decision, refunds)
  return left === decision.amountCents ? '' : ` After refunds, ${money(left, currency)} remain.`
}

function subtotalText({ order: { amountCents, lines, currency } }: Facts): string {
  if (amountCents !== null) return 'Goods before discount, shipping and tax, as they were reported'
  const terms = lines
    .slice(0, 10)
    .map(({ quantity, priceCents }) => `${quantity} × ${money(priceCents ?? 0, currency)}`)
  return `Goods before discount, shipping and tax: ${terms.join(' + ')}${lines.length > 10 ? ' + …' : ''}`
}

/** A part of an amount, such as `90.00 USD × 16%`. */
function percentText(cents: number, bps: number, currency: string): string {
  const isRounded = (BigInt(cents) * BigInt(bps)) % 10_000n > 0n
  return `${money(cents, currency)} × ${bps / 100}%${isRounded ? ', rounded' : ''}`
}

function groupText(group: RateGroup, { order, settings }: Facts, currency: string): string {
  const { commissionType, rate, baseCents, quantity, unpaidReasonCode } = group
  if (unpaidReasonCode) {
    return `The flat rate of ${money(rate, settings.currency ?? order.currency)} cannot be added to percentages of an order in ${order.currency}, so it earns nothing`
  }
  if (commissionType === 'PERCENT_OF_SALE') return percentText(baseCents, rate, order.currency)
  return commissionType === 'FLAT_PER_ORDER'
    ? `${money(rate, currency)} for the order`
    : `${money(rate, currency)} × ${quantity} pieces`
}

function refundText({ externalRefundId, goodsCents }: RefundRow, currency: string, hasUnknownItem: boolean): string {
  const canceled = canceledRefundOf(externalRefundId)
  if (canceled !== undefined) return `Refund ${canceled} was canceled: ${money(-goodsCents, currency)} of goods`
  const unknown = hasUnknownItem ? '; it names a line item that the order does not have' : ''
  return `Refund ${externalRefundId} of ${money(goodsCents, currency)} of goods${unknown}`
}

type Schemas = components['schemas']

const MISS_TEXTS: Record<Exclude<MissCode, 'NO_MATCH'>, string> = {
  NO_EVIDENCE: 'The order contains no evidence.',
  CLICK_NOT_FOUND: 'No such click is stored.',
  CLICK_EXPIRED: 'The click is older than the click window of the program.',
  CLICK_AFTER_ORDER: 'The click came after the order.',
}

/** What the evidence of each source is, in words. */
const SOURCE_NAMES: Record<string, string> = {
  couponCode: 'code',
  affiliateCode: 'code',
  clickId: 'click',
  ref: 'link',
  sessionId: 'session',
  customerId: 'customer',
  customerEmail: 'customer',
  variantId: 'variant',
  productId: 'product',
}

const sourceText = ({ source, value }: Candidate): string => `${SOURCE_NAMES[source] ?? source} ${value}`

/** The email address of an affiliate is no evidence: only a connection makes somebody a customer of an affiliate. */
function noMatchText({ kind, source }: Candidate, subject: string, facts: Facts): string {
  if (kind === 'COUPON' || source === 'ref') return `${subject} belongs to no affiliate of your shop.`
  if (kind !== 'DIRECT_LINK') return `${subject} is not connected to an affiliate.`
  const isEmptySession = source === 'sessionId' && facts.matches.sessionClicks.length === 0
  return isEmptySession ? `${subject} has no clicks.` : `${subject} belongs to no affiliate of your shop.`
}

const KIND_NAMES: Record<EvidenceKind, string> = {
  COUPON: 'coupon',
  DIRECT_LINK: 'link',
  CONNECTED_CUSTOMER: 'connected customer',
  CONNECTED_PRODUCT: 'connected product',
}

/** Affiliate IDs by the code that equals their slug, if the code belongs to another affiliate. */
type SlugNamesakes = ReadonlyMap<string, string>

/** All four kinds of evidence in the shop's order, each with its candidates and their outcomes. */
export function evidenceOf(facts: Facts, decision: Decision, namesakes: SlugNamesakes): Schemas['ExplainedEvidence'][] {
  const winner = decision.candidates.find(({ won }) => won)
  return facts.settings.precedence.map((kind, index) => {
    const kindCandidates = decision.candidates.filter((candidate) => candidate.kind === kind)
    const candidates = kindCandidates.map((candidate) => {
      const { outcome, because } = outcomeOfCandidate(candidate, winner, facts)
      const slugAffiliateId = (kind === 'COUPON' && namesakes.get(candidate.value)) || null
      const alias = candidate.alias ?? null
      const text = because + aliasText(candidate) + namesakeText(slugAffiliateId)
      return { ...candidate, alias, outcome, because: text, slugAffiliateId }
    })
    return { kind, rank: index + 1, because: kindReason(kindCandidates, index, facts, winner), candidates }
  })
}

const aliasText = ({ alias, kind }: Candidate) =>
  alias === undefined ? '' : ` ${alias} is an additional ${kind === 'COUPON' ? 'code' : 'link name'} of the affiliate.`

const namesakeText = (slugAffiliateId: string | null) =>
  slugAffiliateId ? ` It is also the slug of affiliate ${slugAffiliateId}; codes come before slugs.` : ''

/** The decision in one sentence. */
export function summaryOf(decision: Decision, facts: Facts): string {
  const { currency } = facts.order
  const winner = decision.candidates.find(({ won }) => won)
  if (!winner) return `Nobody was credited. ${nobodyReason(decision, facts)}`
  const who = `The ${KIND_NAMES[winner.kind]} ${winner.value} won`
  const code = decision.restrictionReasonCode
  const because = code ? ` ${restrictionTexts(code, { facts, decision }).merchant}` : ''
  if (!decision.eligible) return `${who}, but earns nothing.${because}`
  const earned = money(decision.amountCents, decision.currency ?? currency)
  return `${who} and earns ${earned} on ${money(decision.baseCents, currency)} of goods.${because}`
}

/** Why the evidence that comes first credits nobody. */
function nobodyReason({ candidates }: Decision, facts: Facts): string {
  const ranked = facts.settings.precedence.flatMap((kind) => candidates.filter((candidate) => candidate.kind === kind))
  const [first] = ranked
  return first ? missReason(first, facts, `The ${sourceText(first)}`) : MISS_TEXTS.NO_EVIDENCE
}

function kindReason(
  candidates: Candidate[],
  index: number,
  { settings }: Facts,
  winner: Candidate | undefined,
): string {
  if (candidates.length === 0) return 'The order contains no such evidence.'
  if (candidates.some(({ won }) => won)) return 'This is the first kind with valid evidence, so it won.'
  const precedence = winner && `the ${KIND_NAMES[winner.kind]} takes precedence in your shop.`
  if (candidates.some(canWin)) return `It is valid, but ${precedence ?? 'another kind takes precedence in your shop.'}`
  if (winner && settings.precedence.indexOf(winner.kind) < index)
    return `None of it is valid. It was not needed: ${precedence}`
  const isLast = index === settings.precedence.length - 1
  return isLast ? 'None of it is valid.' : 'None of it is valid, so the next kind was evaluated.'
}

type CandidateOutcome = Pick<Schemas['ExplainedCandidate'], 'outcome' | 'because'>

function outcomeOfCandidate(candidate: Candidate, winner: Candidate | undefined, facts: Facts): CandidateOutcome {
  if (candidate.won) return { outcome: 'WON', because: 'It identifies an affiliate and no earlier evidence is valid.' }
  if (!canWin(candidate)) {
    const subject = `This ${SOURCE_NAMES[candidate.source] ?? candidate.source}`
    return { outcome: 'DID_NOT_COUNT', because: missReason(candidate, facts, subject) }
  }
  if (winner?.kind === candidate.kind) {
    return {
      outcome: 'LATER_IN_KIND',
      because: `It is valid, but the ${sourceText(winner)} of the same kind comes first.`,
    }
  }
  return {
    outcome: 'OUTRANKED',
    because: `It is valid, but the ${winner ? KIND_NAMES[winner.kind] : 'other'} takes precedence in your shop.`,
  }
}

/** @param subject the evidence at the start of a sentence */
function missReason(candidate: Candidate, facts: Facts, subject: string): string {
  const affiliate = affiliateOf(facts, candidate.affiliateId)
  const days = affiliate && programOf(facts, affiliate)?.cookieDurationDays
  if (candidate.kind === 'DIRECT_LINK' && days === 0)
    return 'The program does not accept link evidence: its click window is 0 days.'
  if (candidate.reasonCode === 'CLICK_EXPIRED' && typeof days === 'number') {
    return `The click is older than the program's click window of ${days} days.`
  }
  const code = candidate.reasonCode as MissCode
  return code === 'NO_MATCH' ? noMatchText(candidate, subject, facts) : MISS_TEXTS[code]
}
