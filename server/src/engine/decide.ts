import { type AttributionResult, affiliateOf, attribute, connectedLines, programOf } from './attribution.ts'
import { baseOf, type Goods, goodsOf, rateGroups, resolveCurrency, type Scope, totalAmount } from './commission.ts'
import type {
  AffiliateFact,
  Candidate,
  Decision,
  Facts,
  GeoRule,
  Order,
  Place,
  ProgramFact,
  RateGroup,
  RestrictionCode,
} from './facts.ts'
import { basisPointsOf } from './money.ts'
import { mailboxKeys, namesCustomer } from './normalize.ts'
import { type MatchedTerms, matchTerms } from './terms.ts'

/** Incremented when the same facts could give another decision; recorded with every commission. */
export const ENGINE_VERSION = '4'

/**
 * Decides which affiliate earns how much on an order. Conversions, store orders, dry runs and explanations all use it.
 * Deterministic, without side effects, and never throws: a restriction is a decision.
 */
export function decide(facts: Facts): Decision {
  const goods = goodsOf(facts.order)
  const attributed = attribute(facts, goods)
  const affiliate = affiliateOf(facts, attributed.winner?.affiliateId ?? null)
  if (attributed.winner === null || affiliate === null) return unattributed(attributed, goods)
  const program = programOf(facts, affiliate)
  const scope: Scope =
    attributed.winner.kind === 'CONNECTED_PRODUCT' ? connectedLines(facts, affiliate.id) : 'WHOLE_ORDER'
  const baseCents = baseOf(goods, scope)
  const { currency: shop = facts.order.currency } = facts.settings
  const terms = program && matchTerms(facts, program, { affiliate, subtotalCents: goods.subtotal })
  const effectiveProgram = program && { ...program, ...terms?.rate }
  const { currency, groups } = resolveCurrency(
    effectiveProgram ? rateGroups(effectiveProgram, facts.order.lines, goods, scope) : [],
    {
      order: facts.order.currency,
      shop,
    },
  )
  const restriction = restrictionOf({ order: facts.order, affiliate, program, terms, baseCents, groups })
  return {
    ...unattributed(attributed, goods),
    attribution: attributionOf(attributed.winner),
    ...programFields(effectiveProgram),
    baseCents,
    ...(facts.settings.currency !== undefined && { currency }),
    ...(program && restriction === null
      ? earnedFields(facts, { program, terms, groups })
      : restrictedFields(restriction)),
    ...(terms && { terms: terms.decided }),
  }
}

/** The decision for an order without an affiliate: no commission is written, only the facts are stored. */
function unattributed({ candidates, reasonCode }: AttributionResult, goods: Goods): Decision {
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

function programFields(program: ProgramFact | null): Pick<Decision, 'programId' | 'commissionType' | 'rateBps'> {
  if (program === null) return { programId: null, commissionType: null, rateBps: 0 }
  const { id, commissionType, rate } = program
  return { programId: id, commissionType, rateBps: commissionType === 'PERCENT_OF_SALE' ? rate : 0 }
}

function earnedFields(
  { order, settings, duplicateOf }: Facts,
  { program, terms, groups }: { program: ProgramFact; terms: MatchedTerms | null; groups: RateGroup[] },
): Partial<Decision> {
  const amountCents = Math.min(totalAmount(groups), terms?.maxCommissionCents ?? Number.POSITIVE_INFINITY)
  return {
    status: program.autoApproveOrder && duplicateOf === undefined ? 'APPROVED' : 'PENDING',
    ...(duplicateOf !== undefined && { restrictionReasonCode: 'POSSIBLE_DUPLICATE' }),
    eligible: true,
    amountCents,
    taxWithheldCents: basisPointsOf(amountCents, settings.taxWithholdingBps),
    groups,
    connectsCustomer: program.lifetimeCommission && namesCustomer(order),
  }
}

/** A restricted commission keeps base and rate but has no groups, so nothing can be paid or refunded from it. */
function restrictedFields(restrictionReasonCode: RestrictionCode | null): Partial<Decision> {
  return { status: 'REJECTED', restrictionReasonCode }
}

/** Inputs that determine whether the winner earns on an order. */
interface EligibilityInput {
  order: Order
  affiliate: AffiliateFact
  program: ProgramFact | null
  terms?: MatchedTerms | null
  baseCents: number
  groups: RateGroup[]
}

/**
 * Returns the first restriction on the winner, in a fixed order, or null. A restricted order is not attributed to the next
 * evidence instead.
 */
function restrictionOf(input: EligibilityInput): RestrictionCode | null {
  const { order, affiliate, program } = input
  if (affiliate.archived) return 'AFFILIATE_ARCHIVED'
  if (affiliate.status === 'REJECTED') return 'AFFILIATE_REJECTED'
  if (affiliate.status === 'PENDING') return 'AFFILIATE_NOT_APPROVED'
  if (program === null) return 'PROGRAM_MISSING'
  const buyer = [order.customerEmail, ...(order.otherEmails ?? [])]
  if (buyer.some((email) => isSelfReferral(email, affiliate.email))) return 'SELF_REFERRAL'
  return (
    geoRestriction(program.geoRule, order.shipping) ?? (input.terms?.paysNothing ? 'TERMS_NOT_MET' : zeroBase(input))
  )
}

/** Whether a buyer's address is of the affiliate's mailbox. */
export function isSelfReferral(buyer: string | null, affiliate: string): boolean {
  const affiliateMailboxes = mailboxKeys(affiliate)
  return mailboxKeys(buyer ?? '').some((mailbox) => affiliateMailboxes.includes(mailbox))
}

/** Flat rates do not depend on the base, so only percentages require one. */
function zeroBase({ baseCents, groups }: EligibilityInput): RestrictionCode | null {
  const onlyPercent = groups.every((group) => group.commissionType === 'PERCENT_OF_SALE')
  return baseCents === 0 && onlyPercent ? 'ZERO_BASE' : null
}

/**
 * Compares an order's shipping address with a program's geo rule. Every non-empty list must match, trimmed and
 * case-insensitive. A missing field takes precedence over a mismatch. Returns null when the order is eligible.
 */
function geoRestriction(rule: GeoRule | null, place: Place | null): 'GEO_UNKNOWN' | 'GEO_NOT_ELIGIBLE' | null {
  if (rule === null) return null
  const checks = geoChecks(rule, place)
  if (checks.some(isBlank)) return 'GEO_UNKNOWN'
  const allowed = checks.every(({ list, field, matches }) =>
    list.some((entry) => matches(comparable(field), comparable(entry))),
  )
  return allowed ? null : 'GEO_NOT_ELIGIBLE'
}

/** The fields of an address that a geo rule checks. */
export const geoChecks = (rule: GeoRule, place: Place | null) =>
  [
    { name: 'country', list: rule.countries, field: place?.country, matches: equal },
    { name: 'state', list: rule.states, field: place?.state, matches: equal },
    { name: 'city', list: rule.cities, field: place?.city, matches: equal },
    { name: 'postal code', list: rule.postalPrefixes, field: place?.postalCode, matches: startsWith },
  ].filter(({ list }) => list.length > 0)

export const isBlank = ({ field }: { field: string | null | undefined }): boolean => comparable(field) === ''

function comparable(text: string | null | undefined): string {
  return (text ?? '').trim().toLowerCase()
}

function equal(field: string, entry: string): boolean {
  return field === entry
}

function startsWith(field: string, prefix: string): boolean {
  return field.startsWith(prefix)
}
