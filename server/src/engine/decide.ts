import { type Attributed, attribute } from './attribution.ts'
import { amountOf, baseOf, inOneCurrency, rateGroups, type Scope } from './commission.ts'
import { restrictionOf } from './eligibility.ts'
import { affiliateOf, connectedLines, programOf } from './evidence.ts'
import type { Candidate, Decision, Facts, ProgramFact, RateGroup, RestrictionCode } from './facts.ts'
import { textOf } from './identity.ts'
import { type Goods, goodsOf } from './line-groups.ts'
import { bpsOf } from './money.ts'

/** Changes whenever the same facts could give another decision; recorded with every commission. */
export const ENGINE_VERSION = '2'

/**
 * Decides who earns how much on one order: the one money path behind conversions, store orders, dry runs and
 * explanations (section 4.9). Deterministic, free of side effects, and it never throws: a restriction is an answer.
 */
export function decide(facts: Facts): Decision {
  const goods = goodsOf(facts.order)
  const attributed = attribute(facts, goods)
  const affiliate = affiliateOf(facts, attributed.winner?.affiliateId ?? null)
  if (attributed.winner === null || affiliate === null) return undecided(attributed, goods)
  const program = programOf(facts, affiliate)
  const scope: Scope =
    attributed.winner.kind === 'CONNECTED_PRODUCT' ? connectedLines(facts, affiliate.id) : 'WHOLE_ORDER'
  const baseCents = baseOf(goods, scope)
  const { currency: shop = facts.order.currency } = facts.settings
  const { currency, groups } = inOneCurrency(program ? rateGroups(program, facts.order.lines, goods, scope) : [], {
    order: facts.order.currency,
    shop,
  })
  const restriction = restrictionOf({ order: facts.order, affiliate, program, baseCents, groups })
  return {
    ...undecided(attributed, goods),
    attribution: attributionOf(attributed.winner),
    ...programPart(program),
    baseCents,
    ...(facts.settings.currency !== undefined && { currency }),
    ...(program && restriction === null ? earned(facts, program, groups) : restricted(restriction)),
  }
}

/** The decision about an order that nobody is attributed to: no commission is written, only facts are kept. */
function undecided({ candidates, reasonCode }: Attributed, goods: Goods): Decision {
  return {
    engineVersion: ENGINE_VERSION,
    attribution: { affiliateId: null, method: null, confidence: 0, reasonCode },
    candidates,
    status: null,
    restrictionReasonCode: null,
    eligible: false,
    programId: null,
    commissionType: null,
    rateBps: 0,
    subtotalCents: goods.subtotal,
    baseCents: goods.base,
    amountCents: 0,
    taxWithheldCents: 0,
    groups: [],
    connectsCustomer: false,
  }
}

function attributionOf({ affiliateId, kind, confidence, reasonCode }: Candidate): Decision['attribution'] {
  return { affiliateId, method: kind, confidence, reasonCode }
}

function programPart(program: ProgramFact | null): Pick<Decision, 'programId' | 'commissionType' | 'rateBps'> {
  if (program === null) return { programId: null, commissionType: null, rateBps: 0 }
  const { id, commissionType, rate } = program
  return { programId: id, commissionType, rateBps: commissionType === 'PERCENT_OF_SALE' ? rate : 0 }
}

function earned({ order, settings }: Facts, program: ProgramFact, groups: RateGroup[]): Partial<Decision> {
  const amountCents = amountOf(groups)
  const isKnown = textOf(order.customerId) !== null || textOf(order.customerEmail) !== null
  return {
    status: program.autoApproveOrder ? 'APPROVED' : 'PENDING',
    eligible: true,
    amountCents,
    taxWithheldCents: bpsOf(amountCents, settings.taxWithholdingBps),
    groups,
    connectsCustomer: program.lifetimeCommission && isKnown,
  }
}

/** A restricted row keeps base and rate but holds no group, so nothing can ever be paid or refunded from it. */
function restricted(restrictionReasonCode: RestrictionCode | null): Partial<Decision> {
  return { status: 'REJECTED', restrictionReasonCode }
}
