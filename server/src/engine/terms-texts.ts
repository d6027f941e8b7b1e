import type {
  AffiliateFact,
  Facts,
  ProgramFact,
  Rate,
  TermsCondition,
  TermsFact,
  TermsRange,
  TermsRule,
} from './facts.ts'
import { hundredthsToNumber } from './money.ts'
import { namesCustomer } from './normalize.ts'
import { termsInForce, type Unmet, unmetCondition } from './terms.ts'

/** An amount in the terms' currency, as text. */
type Money = (cents: number) => string
type Rules = Pick<TermsFact, 'commissionType' | 'holdDays' | 'appliesTo' | 'rules'>

/**
 * What terms pay, in one sentence: `Pays 30% for 12 months from a customer's first order, then nothing; payable after
 * 30 days.` Terms that decide differently have different sentences, unless they differ only in which affiliates they
 * name.
 */
export function termsSentence(terms: Rules, program: Rate, money: Money): string {
  const { holdDays, appliesTo, rules } = terms
  const pays = (rule?: TermsRule) => payText(terms, rule, { program, money })
  const parts = stepsOf(rules, pays) ?? listOf(rules, pays, money)
  if (appliesTo === 'CUSTOMERS') parts.push('each customer keeps the terms of the first order')
  if (holdDays > 0) parts.push(`payable after ${count(holdDays, 'day')}`)
  return `Pays ${parts.join('; ')}.`
}

function payText(
  { commissionType }: Pick<Rules, 'commissionType'>,
  rule: TermsRule | undefined,
  { program, money }: { program: Rate; money: Money },
): string {
  if (rule?.rate === null) return 'nothing'
  const text = rateText(rule ? { commissionType, rate: rule.rate } : program, money)
  return rule?.maxCommissionCents === undefined ? text : `${text} (at most ${money(rule.maxCommissionCents)} an order)`
}

function rateText({ commissionType, rate }: Rate, money: Money): string {
  if (commissionType === 'PERCENT_OF_SALE') return `${hundredthsToNumber(rate)}%`
  return `${money(rate)} ${commissionType === 'FLAT_PER_ORDER' ? 'an order' : 'an item'}`
}

/** What a rule pays, and when: `20% once an affiliate has 10 orders in the month`. */
export const ruleText = (program: Rate, rule: TermsRule, money: Money): string =>
  `${payText(program, rule, { program, money })} ${conditionText(rule.when, money) || 'on all other orders'}`

/** Each rule in turn, and what all other orders pay. */
function listOf(rules: TermsRule[], pays: (rule?: TermsRule) => string, money: Money): string[] {
  const end = rules.findIndex(({ when }) => conditionText(when, money) === '')
  const conditional = end < 0 ? rules : rules.slice(0, end)
  const rest = pays(rules[end])
  const parts = conditional.map((rule) => `${pays(rule)} ${conditionText(rule.when, money)}`)
  return [...parts, parts.length > 0 ? `otherwise ${rest}` : rest]
}

/** Conditions that divide a customer's orders into steps. */
const STEPS = {
  customerMonth: {
    start: 0,
    first: (length: number) => `for ${count(length, 'month')} from a customer's first order`,
    next: (length: number) => `for ${count(length, 'month')}`,
  },
  customerOrder: {
    start: 1,
    first: (length: number) =>
      length === 1 ? "on a customer's first order" : `on a customer's first ${length} orders`,
    next: (length: number) => (length === 1 ? 'on the next order' : `on the next ${length} orders`),
  },
} as const

/** The successive rates, if all rules compare the customer's month, or all compare the customer's order. */
function stepsOf(rules: TermsRule[], pays: (rule?: TermsRule) => string): string[] | null {
  const names = new Set(rules.flatMap(({ when }) => Object.keys(when)))
  const [name] = names as Set<keyof typeof STEPS>
  if (names.size !== 1 || !name || !(name in STEPS) || rules.some(({ when }) => !when[name])) return null
  const { start, first, next } = STEPS[name]
  const bounds = rules.map(({ when }) => ({ from: start, to: Number.POSITIVE_INFINITY, ...when[name] }))
  const edges = bounds.flatMap(({ from, to }) => [from, to + 1]).filter((edge) => edge > start && Number.isFinite(edge))
  const steps: { from: number; text: string }[] = []
  for (const from of [start, ...new Set(edges.sort((a, b) => a - b))]) {
    const text = pays(rules[bounds.findIndex((bound) => bound.from <= from && from <= bound.to)])
    if (steps.at(-1)?.text !== text) steps.push({ from, text })
  }
  const texts = steps.map(({ from, text }, index) => {
    const until = steps[index + 1]?.from
    if (until === undefined) return text
    return `${text} ${(index === 0 ? first : next)(until - from)}`
  })
  return [texts.join(', then ')]
}

/** A rule's conditions in words; empty when it always matches. */
function conditionText(when: TermsCondition, money: Money): string {
  const { customerOrder, customerMonth, affiliateIds, affiliateOrders, affiliateRevenueCents, orderSubtotalCents } =
    when
  const texts = [
    affiliateIds && `to ${count(affiliateIds.length, 'named affiliate')}`,
    boundText(orderSubtotalCents, {
      from: (from) => `on orders of ${money(from)} or more`,
      to: (to) => `on orders of at most ${money(to)}`,
      both: (from, to) => `on orders of ${money(from)} to ${money(to)}`,
    }),
    boundText(customerOrder, {
      from: (from) => (from > 1 ? `from a customer's ${ordinal(from)} order on` : ''),
      to: STEPS.customerOrder.first,
      both: (from, to) =>
        from === to
          ? `on a customer's ${ordinal(from)} order`
          : `on a customer's ${ordinal(from)} to ${ordinal(to)} order`,
    }),
    boundText(customerMonth, {
      from: (from) => (from > 0 ? `from ${count(from, 'month')} after a customer's first order on` : ''),
      to: (to) => STEPS.customerMonth.first(to + 1),
      both: (from, to) => `from ${from} to ${count(to + 1, 'month')} after a customer's first order`,
    }),
    affiliateOrders && hadText(affiliateOrders, (orders) => count(orders, 'order'), 'has'),
    affiliateRevenueCents && hadText(affiliateRevenueCents, money, 'has sold'),
  ]
  return texts.filter(Boolean).join(', ')
}

function hadText(
  { period, ...range }: NonNullable<TermsCondition['affiliateOrders']>,
  amount: (value: number) => string,
  verb: string,
): string {
  const within = period === 'MONTH' ? 'in the month' : 'in total'
  return boundText(range, {
    from: (from) => (from > 0 ? `once an affiliate ${verb} ${amount(from)} ${within}` : ''),
    to: (to) => `while an affiliate ${verb} at most ${amount(to)} ${within}`,
    both: (from, to) => `while an affiliate ${verb} ${amount(from)} to ${amount(to)} ${within}`,
  })
}

interface BoundTexts {
  from: (from: number) => string
  to: (to: number) => string
  both: (from: number, to: number) => string
}

/** A range's bounds. A lower bound that everything reaches counts as none. */
function boundText(range: TermsRange | undefined, texts: BoundTexts): string {
  const { from, to } = range ?? {}
  if (to === undefined) return from === undefined ? '' : texts.from(from)
  return from === undefined || texts.from(from) === '' ? texts.to(to) : texts.both(from, to)
}

function count(value: number, unit: string): string {
  return `${value} ${unit}${value === 1 ? '' : 's'}`
}

function ordinal(value: number): string {
  if (value % 100 >= 11 && value % 100 <= 13) return `${value}th`
  return `${value}${['th', 'st', 'nd', 'rd'][value % 10] ?? 'th'}`
}

/** Which version of the terms decided an order, which of its rules matched, and why those before it did not. */
export function explainTerms(
  facts: Facts,
  program: ProgramFact,
  {
    affiliate,
    subtotalCents,
    money: moneyIn,
  }: { affiliate: AffiliateFact; subtotalCents: number; money: (cents: number, currency: string) => string },
): string[] {
  const terms = termsInForce(facts, program)
  if (!terms) return []
  const unmet = terms.rules.map((rule) => unmetCondition(facts, terms, { rule, affiliate, subtotalCents }))
  const index = unmet.indexOf(null)
  const before = index < 0 ? terms.rules : terms.rules.slice(0, index)
  const isKept = terms !== termsInForce({ ...facts, customer: undefined }, program)
  // The shop may have changed its currency since then.
  const currency = index < 0 ? (facts.settings.currency ?? facts.order.currency) : terms.currency
  const values = { facts, terms, affiliate, subtotalCents, money: (cents: number) => moneyIn(cents, terms.currency) }
  const money = (cents: number) => moneyIn(cents, currency)
  const rule = terms.rules[index]
  const pays = payText(terms, rule, { program, money })
  return [
    `Version ${terms.version} of the program's terms counts: it was in force at ${isKept ? "the customer's first credited order, and customers keep theirs" : 'the order'}.`,
    ...before.map((rule, at) => `Rule ${at + 1} does not match: ${unmetText(unmet[at]!, rule, values)}.`),
    index < 0
      ? `No rule matches, so the program's rate counts: ${pays}.`
      : `Rule ${index + 1} matches and pays ${[pays, conditionText(rule!.when, money)].join(' ').trim()}.`,
  ]
}

interface Values {
  facts: Facts
  terms: TermsFact
  affiliate: AffiliateFact
  subtotalCents: number
  money: Money
}

function unmetText(
  unmet: Unmet,
  { when }: TermsRule,
  { facts, terms, affiliate, subtotalCents, money }: Values,
): string {
  const { customer, order } = facts
  const needs = (text: (value: number) => string = String) => needText(when[unmet as 'customerOrder'] ?? {}, text)
  const who = namesCustomer(order) ? 'of the customer' : 'because it names no customer'
  const counted = (name: 'affiliateOrders' | 'affiliateRevenueCents') => {
    const { period } = when[name]!
    const { orders, revenueCents } = affiliate.counted?.[period] ?? { orders: 0, revenueCents: 0 }
    const had = name === 'affiliateOrders' ? `had ${count(orders, 'order')}` : `had sold ${money(revenueCents)}`
    return `before this order the affiliate ${had} ${period === 'MONTH' ? 'in the month' : 'in total'}`
  }
  if (unmet === 'currency') return `its amounts are in ${terms.currency}, and the order is in ${order.currency}`
  if (unmet === 'affiliateIds') return 'it is for other affiliates'
  if (unmet === 'customerOrder') return `this is order ${(customer?.orders ?? 0) + 1} ${who}, and it is for ${needs()}`
  if (unmet === 'customerMonth') return `the order is in month ${customer?.month ?? 0} ${who}, and it is for ${needs()}`
  if (unmet === 'orderSubtotalCents') return `the order is worth ${money(subtotalCents)}, and it is for ${needs(money)}`
  return `${counted(unmet)}, and it is for ${needs(unmet === 'affiliateOrders' ? String : money)}`
}

const needText = ({ from, to }: TermsRange, text: (value: number) => string): string =>
  to === undefined
    ? `${text(from ?? 0)} or more`
    : from === undefined
      ? `at most ${text(to)}`
      : `${text(from)} to ${text(to)}`
