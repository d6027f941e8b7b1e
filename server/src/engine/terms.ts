import type {
  AffiliateFact,
  CustomerFact,
  DecidedTerms,
  Facts,
  Order,
  ProgramFact,
  Rate,
  TermsCondition,
  TermsFact,
  TermsRange,
  TermsRule,
} from './facts.ts'

/** What a program's terms say about an order. */
export interface MatchedTerms {
  decided: DecidedTerms
  /** The matching rule's rate. Null for the program's rate. */
  rate: Rate | null
  /** Whether the matching rule earns nothing. */
  paysNothing: boolean
  maxCommissionCents: number | undefined
}

/** The values that conditions compare. */
interface RuleInput {
  affiliate: AffiliateFact
  subtotalCents: number
}

/** Decides by the version in force and its first matching rule. Null without terms. */
export function matchTerms(facts: Facts, program: ProgramFact, winner: RuleInput): MatchedTerms | null {
  const terms = termsInForce(facts, program)
  if (!terms) return null
  const index = terms.rules.findIndex((rule) => unmetCondition(facts, terms, { rule, ...winner }) === null)
  const rule = terms.rules[index]
  const decided = {
    version: terms.version,
    rule: rule ? index : null,
    availableAt: availableAt(facts.order.orderAt, terms.holdDays),
  }
  const isInShopCurrency = facts.order.currency === terms.currency
  return {
    decided,
    rate: rule && rule.rate !== null ? { commissionType: terms.commissionType, rate: rule.rate } : null,
    paysNothing: rule?.rate === null,
    maxCommissionCents: isInShopCurrency ? rule?.maxCommissionCents : undefined,
  }
}

interface OrderOfCustomer {
  order: Pick<Order, 'orderAt'>
  customer?: Pick<CustomerFact, 'firstOrderAt'> | undefined
}

/** The version at the customer's first credited order, if customers keep it; otherwise the version at this order. */
export function termsInForce(
  { order, customer }: OrderOfCustomer,
  { terms = [] }: Pick<ProgramFact, 'terms'>,
): TermsFact | undefined {
  const versionAt = (at: string) => terms.findLast(({ createdAt }) => createdAt <= at)
  const first = customer?.firstOrderAt ? versionAt(customer.firstOrderAt) : undefined
  return first?.appliesTo === 'CUSTOMERS' ? first : versionAt(order.orderAt)
}

/** Why a rule does not match. */
export type Unmet = keyof TermsCondition | 'currency'

/** The first condition that does not hold. Null if the rule matches. */
export function unmetCondition(
  facts: Facts,
  terms: TermsFact,
  { rule, affiliate, subtotalCents }: RuleInput & { rule: TermsRule },
): Unmet | null {
  const { order, settings, customer } = facts
  const { when } = rule
  if (hasMoneyCondition(when) && order.currency !== terms.currency) return 'currency'
  // Flat rates are paid in the shop's currency.
  const isFlat = rule.rate !== null && terms.commissionType !== 'PERCENT_OF_SALE'
  if (isFlat && (settings.currency ?? terms.currency) !== terms.currency) return 'currency'
  const counted = (period: keyof NonNullable<AffiliateFact['counted']> = 'ALL_TIME') => affiliate.counted?.[period]
  const holds: Record<keyof TermsCondition, boolean> = {
    customerOrder: isWithin(when.customerOrder, (customer?.orders ?? 0) + 1),
    customerMonth: isWithin(when.customerMonth, customer?.month ?? 0),
    affiliateIds: when.affiliateIds?.includes(affiliate.id) ?? true,
    affiliateOrders: isWithin(when.affiliateOrders, counted(when.affiliateOrders?.period)?.orders ?? 0),
    affiliateRevenueCents: isWithin(
      when.affiliateRevenueCents,
      counted(when.affiliateRevenueCents?.period)?.revenueCents ?? 0,
    ),
    orderSubtotalCents: isWithin(when.orderSubtotalCents, subtotalCents),
  }
  return (Object.keys(holds) as (keyof TermsCondition)[]).find((name) => !holds[name]) ?? null
}

export const hasMoneyCondition = ({ affiliateRevenueCents, orderSubtotalCents }: TermsCondition): boolean =>
  affiliateRevenueCents !== undefined || orderSubtotalCents !== undefined

/**
 * The customer's first month in which an affiliate earns nothing on any order after the first credited one. Null if
 * that depends on more than the month.
 */
export function endMonth({ rules }: Pick<TermsFact, 'rules'>, affiliateId: string): number | null {
  const edges = rules.flatMap(({ when: { customerMonth: { from = 0, to = -1 } = {} } }) => [from, to + 1])
  let end: number | null = null
  for (const month of [...new Set([0, ...edges])].sort((a, b) => b - a)) {
    const possible = rules.filter(({ when }) => canMatch(when, { affiliateId, month }))
    if (possible.find(({ rate, when }) => rate !== null || matchesAlways(when))?.rate !== null) break
    end = month
  }
  return end
}

/** An order after the first credited one is at least the customer's second. */
const canMatch = (
  { affiliateIds, customerMonth, customerOrder }: TermsCondition,
  { affiliateId, month }: { affiliateId: string; month: number },
): boolean =>
  isWithin(customerMonth, month) &&
  (affiliateIds?.includes(affiliateId) ?? true) &&
  (customerOrder?.to === undefined || customerOrder.to >= 2)

/** Whether a condition that can match does so for every order after the first credited one. */
const matchesAlways = (when: TermsCondition): boolean =>
  !hasMoneyCondition(when) &&
  [when.customerOrder, when.affiliateOrders].every((range) => range?.to === undefined) &&
  (when.customerOrder?.from ?? 0) <= 2 &&
  (when.affiliateOrders?.from ?? 0) === 0

/** Both bounds are inclusive. A missing bound is open. */
const isWithin = ({ from = 0, to = Number.POSITIVE_INFINITY }: TermsRange = {}, value: number): boolean =>
  from <= value && value <= to

const DAY_MS = 86_400_000
/** Later instants do not sort as text. */
const MAX_AT = Date.parse('9999-12-31T23:59:59.999Z')

const availableAt = (orderAt: string, holdDays: number): string =>
  new Date(Math.min(Date.parse(orderAt) + holdDays * DAY_MS, MAX_AT)).toISOString()
