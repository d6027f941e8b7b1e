import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import type { Facts, TermsCondition, TermsFact, TermsRule } from '../../server/src/engine/facts.ts'
import { parseFacts, serializeFacts } from '../../server/src/engine/stored-facts.ts'
import { endMonth } from '../../server/src/engine/terms.ts'
import { explainTerms, termsSentence } from '../../server/src/engine/terms-texts.ts'
import { affiliate, at, couponFacts, type FactsInput, line, program, terms } from './facts.ts'
import { amount, snapshotOf, targetAfter } from './snapshot.ts'

const DAY = 86_400_000
const returning = { orders: 5, firstOrderAt: at(-400 * DAY), month: 13 }

/** An order of 100.00 by A, whose program pays 16% unless its terms say otherwise. */
const underTerms = (versions: Partial<TermsFact>[], input: FactsInput = {}): Facts =>
  couponFacts({ programs: [program({ terms: versions.map(terms) })], ...input })
const underRules = (rules: TermsRule[], input: FactsInput = {}) => underTerms([{ rules }], input)
const pays = (rate: number | null, when: TermsCondition = {}): TermsRule => ({ when, rate })

describe('the first rule that matches counts', () => {
  const cases: [string, TermsRule[], FactsInput, number | null, number][] = [
    ['no rule', [], {}, null, 1600],
    ['the first of two', [pays(3000), pays(5000)], {}, 0, 3000],
    ['the second', [pays(3000, { customerOrder: { from: 2 } }), pays(5000)], {}, 1, 5000],
    ['none of them', [pays(3000, { customerOrder: { from: 2 } })], {}, null, 1600],
    [
      'all conditions of one',
      [pays(3000, { customerOrder: { from: 2 }, affiliateIds: ['B'] })],
      { customer: returning },
      null,
      1600,
    ],
    ['the rule of the affiliate', [pays(3000, { affiliateIds: ['B', 'A'] })], {}, 0, 3000],
    [
      'amounts in another currency',
      [pays(3000, { orderSubtotalCents: { from: 1 } })],
      { order: { currency: 'EUR' } },
      null,
      1600,
    ],
  ]
  test.each(cases)('%s', (_, rules, input, rule, amountCents) => {
    expect(decide(underRules(rules, input))).toMatchObject({
      amountCents,
      rateBps: amountCents,
      terms: { version: 2, rule },
    })
  })

  const counted = { MONTH: { orders: 10, revenueCents: 500 }, ALL_TIME: { orders: 20, revenueCents: 900 } }
  const values: [TermsCondition, keyof TermsCondition, number][] = [
    [{ customerOrder: {} }, 'customerOrder', 6],
    [{ customerMonth: {} }, 'customerMonth', 13],
    [{ affiliateOrders: { period: 'MONTH' } }, 'affiliateOrders', 10],
    [{ affiliateOrders: { period: 'ALL_TIME' } }, 'affiliateOrders', 20],
    [{ affiliateRevenueCents: { period: 'MONTH' } }, 'affiliateRevenueCents', 500],
    [{ affiliateRevenueCents: { period: 'ALL_TIME' } }, 'affiliateRevenueCents', 900],
    [{ orderSubtotalCents: {} }, 'orderSubtotalCents', 10_000],
  ]
  test.each(values)('%j: both bounds are inclusive', (condition, name, value) => {
    const matches = (bounds: { from?: number; to?: number }) => {
      const rule = pays(3000, { [name]: { ...condition[name], ...bounds } })
      return (
        decide(underRules([rule], { customer: returning, affiliates: [affiliate('A', { counted })] })).terms?.rule === 0
      )
    }
    expect([matches({ from: value, to: value }), matches({ from: value + 1 }), matches({ to: value - 1 })]).toEqual([
      true,
      false,
      false,
    ])
  })

  test('without a customer, the order is the first in month 0; nothing counted is 0', () => {
    const rule = pays(3000, {
      customerOrder: { to: 1 },
      customerMonth: { to: 0 },
      affiliateOrders: { to: 0, period: 'MONTH' },
      affiliateRevenueCents: { to: 0, period: 'ALL_TIME' },
    })
    expect(decide(underRules([rule])).terms?.rule).toBe(0)
  })
})

describe('the version', () => {
  const [old, current] = [pays(3000), pays(5000)]
  const versions = (appliesTo: TermsFact['appliesTo']) => [
    { version: 2, createdAt: at(-500 * DAY), rules: [old], appliesTo },
    { version: 3, createdAt: at(0), rules: [current], holdDays: 30 },
  ]
  test.each([
    ['at the order', versions('ORDERS'), returning, 3],
    ['that customers keep', versions('CUSTOMERS'), returning, 2],
    ['of the order, for a new customer', versions('CUSTOMERS'), undefined, 3],
    [
      'of the order, for a customer from before the first version',
      versions('CUSTOMERS'),
      { ...returning, firstOrderAt: at(-501 * DAY) },
      3,
    ],
  ])('%s', (_, list, customer, version) => {
    expect(decide(underTerms(list, { customer })).terms?.version).toBe(version)
  })

  test('an order from before the first version has no terms', () => {
    const decision = decide(underTerms([{ createdAt: at(1), rules: [current] }]))
    expect(decision).toEqual(decide(couponFacts()))
  })

  test.each([
    ['2026-11-20T12:00:00.000Z', 30, '2026-12-20T12:00:00.000Z'],
    ['2028-02-28T23:30:00.000Z', 1, '2028-02-29T23:30:00.000Z'],
    ['9999-12-31T00:00:00.000Z', 365, '9999-12-31T23:59:59.999Z'],
  ])('an order of %s, held for %i days, is available at %s', (orderAt, holdDays, availableAt) => {
    expect(decide(underTerms([{ holdDays }], { order: { orderAt } })).terms).toEqual({
      version: 2,
      rule: null,
      availableAt,
    })
  })
})

describe('precedence', () => {
  const lines = [line({ productId: '1', priceCents: 4000 }), line({ productId: '2', priceCents: 6000 })]
  const productRules = [{ commissionType: 'PERCENT_OF_SALE' as const, rate: 1000, productId: '1', variantId: null }]
  const order = (rules: TermsRule[], over: FactsInput['order'] = {}) =>
    decide(couponFacts({ order: { lines, ...over }, programs: [program({ productRules, terms: [terms({ rules })] })] }))

  test('a product rule takes precedence for its lines, the rule for the rest', () => {
    expect(order([pays(3000)]).groups.map(({ rate, amountCents }) => [rate, amountCents])).toEqual([
      [3000, 1800],
      [1000, 400],
    ])
  })
  test('a rule that pays nothing ends the order', () => {
    expect(order([pays(null)])).toMatchObject({
      status: 'REJECTED',
      restrictionReasonCode: 'TERMS_NOT_MET',
      eligible: false,
      amountCents: 0,
      groups: [],
      terms: { rule: 0 },
    })
  })
  test.each([
    ['GEO_UNKNOWN', program({ geoRule: { countries: ['DE'], states: [], cities: [], postalPrefixes: [] } }), 10_000],
    ['TERMS_NOT_MET', program(), 0],
  ])('%s comes first', (code, base, amountCents) => {
    const programs = [{ ...base, terms: [terms({ rules: [pays(null)] })] }]
    expect(decide(couponFacts({ order: { amountCents }, programs })).restrictionReasonCode).toBe(code)
  })
})

describe('the cap of one order', () => {
  const capped = (maxCommissionCents: number, input: FactsInput = {}) =>
    underRules([{ ...pays(3000), maxCommissionCents }], input)
  test.each([
    ['is what it earns at most', capped(1000, { settings: { taxWithholdingBps: 1000 } }), 1000, 100],
    ['is not reached', capped(3000), 3000, 0],
    ['does not apply in another currency', capped(1000, { order: { currency: 'EUR' } }), 3000, 0],
  ])('%s', (_, input, amountCents, taxWithheldCents) => {
    expect(decide(input)).toMatchObject({ amountCents, taxWithheldCents })
  })
  test.each([
    [0, 1000],
    [2500, 750],
    [9999, 0],
    [10_000, 0],
  ])('after a refund of %i of 10000, %i remain', (refunded, left) => {
    expect(targetAfter(snapshotOf(capped(1000)), [amount(refunded)]).amountCents).toBe(left)
  })
  test('a flat commission on goods of 0 stays at the cap until everything is refunded', () => {
    const flat = underTerms(
      [{ commissionType: 'FLAT_PER_ORDER', rules: [{ when: {}, rate: 500, maxCommissionCents: 200 }] }],
      {
        order: { amountCents: 0 },
      },
    )
    expect([[], [amount(null)]].map((refunds) => targetAfter(snapshotOf(flat), refunds).amountCents)).toEqual([200, 0])
  })
})

test('a flat rate of another currency than the shop’s now does not match', () => {
  const flat = underTerms([{ commissionType: 'FLAT_PER_ORDER', currency: 'JPY', rules: [pays(500)] }], {
    settings: { currency: 'USD' },
  })
  expect(decide(flat)).toMatchObject({ amountCents: 1600, terms: { rule: null } })
})

/** Every shape of a range, with values that differ. */
const shapes = (low: number, high: number) => [undefined, {}, { from: low }, { to: high }, { from: low, to: high }]
const conditions: fc.Arbitrary<TermsCondition> = fc
  .record({
    customerOrder: fc.constantFrom(...shapes(2, 3)),
    customerMonth: fc.constantFrom(...shapes(1, 12)),
    affiliateIds: fc.constantFrom(undefined, undefined, ['A'], ['A', 'B']),
    affiliateOrders: fc.constantFrom(...shapes(1, 2).map((range) => range && { ...range, period: 'MONTH' as const })),
    affiliateRevenueCents: fc.constantFrom(
      ...shapes(100, 200).map((range) => range && { ...range, period: 'ALL_TIME' as const }),
    ),
    orderSubtotalCents: fc.constantFrom(...shapes(5000, 10_000)),
  })
  .map((when) => JSON.parse(JSON.stringify(when)))
const anyRules = fc.array(
  fc.record(
    {
      when: conditions,
      rate: fc.constantFrom(null, 1, 3333, 10_000),
      maxCommissionCents: fc.constantFrom(1, 500, 100_000),
    },
    { requiredKeys: ['when', 'rate'] },
  ),
  { maxLength: 4 },
)

test('any rules: an independent reading of them agrees, and a replay is identical', () => {
  const world = fc.record({
    rules: anyRules,
    orders: fc.nat(4),
    month: fc.nat(14),
    counted: fc.record({ orders: fc.nat(3), revenueCents: fc.nat(300) }),
    amountCents: fc.integer({ min: 1, max: 12_000 }),
  })
  fc.assert(
    fc.property(world, ({ rules, orders, month, counted, amountCents }) => {
      const customer = { orders, firstOrderAt: orders > 0 ? at(-DAY) : null, month }
      const affiliates = [affiliate('A', { counted: { MONTH: counted, ALL_TIME: counted } })]
      const input = underRules(rules, { customer, affiliates, order: { amountCents } })
      const numbers = {
        customerOrder: orders + 1,
        customerMonth: month,
        affiliateOrders: counted.orders,
        affiliateRevenueCents: counted.revenueCents,
        orderSubtotalCents: amountCents,
      }
      const holds = ({ when }: TermsRule) =>
        (!when.affiliateIds || when.affiliateIds.includes('A')) &&
        Object.entries(numbers).every(([name, value]) => {
          const { from, to } = when[name as keyof typeof numbers] ?? {}
          return !(from !== undefined && value < from) && !(to !== undefined && value > to)
        })
      const rule = rules.find(holds)
      const rate = rule ? (rule.rate ?? 0) : 1600
      const full = Math.floor((amountCents * rate + 5000) / 10_000)
      const decision = decide(input)
      expect(decision.amountCents).toBe(Math.min(full, rule?.maxCommissionCents ?? full))
      expect(decision.terms?.rule).toBe(rule ? rules.indexOf(rule) : null)
      expect(decision.restrictionReasonCode).toBe(rule?.rate === null ? 'TERMS_NOT_MET' : null)
      expect(JSON.stringify(decide(parseFacts(serializeFacts(input))))).toBe(JSON.stringify(decision))
    }),
    { numRuns: 1000 },
  )
})

const money = (cents: number) => `$${(cents / 100).toFixed(2)}`
const sentence = (over: Partial<TermsFact>) =>
  termsSentence(terms(over), { commissionType: 'PERCENT_OF_SALE', rate: 3000 }, money)

describe('terms in one sentence', () => {
  const flat = { commissionType: 'FLAT_PER_ITEM' as const }
  test.each<[Partial<TermsFact>, string]>([
    [{}, '30%'],
    [{ holdDays: 1 }, '30%; payable after 1 day'],
    [
      { holdDays: 30, rules: [pays(null, { customerMonth: { from: 12 } })] },
      "30% for 12 months from a customer's first order, then nothing; payable after 30 days",
    ],
    [{ rules: [pays(null, { customerOrder: { from: 2 } })] }, "30% on a customer's first order, then nothing"],
    [
      { rules: [pays(2000, { customerMonth: { from: 12, to: 23 } }), pays(1000, { customerMonth: { from: 24 } })] },
      "30% for 12 months from a customer's first order, then 20% for 12 months, then 10%",
    ],
    [
      { rules: [pays(1000, { customerOrder: { from: 4 } }), pays(2000, { customerOrder: { from: 2 } })] },
      "30% on a customer's first order, then 20% on the next 2 orders, then 10%",
    ],
    [{ rules: [pays(5000, { affiliateIds: ['A'] })] }, '50% to 1 named affiliate; otherwise 30%'],
    [
      { rules: [pays(4000, { affiliateOrders: { from: 10, period: 'MONTH' } })] },
      '40% once an affiliate has 10 orders in the month; otherwise 30%',
    ],
    [
      {
        rules: [
          {
            ...pays(4000, { affiliateRevenueCents: { from: 5, to: 1000, period: 'ALL_TIME' } }),
            maxCommissionCents: 5000,
          },
        ],
      },
      '40% (at most $50.00 an order) while an affiliate has sold $0.05 to $10.00 in total; otherwise 30%',
    ],
    [
      {
        ...flat,
        rules: [pays(250, { orderSubtotalCents: { from: 5000 }, customerOrder: { from: 3, to: 3 } }), pays(100)],
      },
      "$2.50 an item on orders of $50.00 or more, on a customer's 3rd order; otherwise $1.00 an item",
    ],
    [{ rules: [pays(100)], appliesTo: 'CUSTOMERS' }, '1%; each customer keeps the terms of the first order'],
    [{ rules: [pays(3000, { customerOrder: { from: 9 } })] }, '30%'],
  ])('%j', (over, expected) => {
    expect(sentence(over)).toBe(`Pays ${expected}.`)
  })

  test('every combination has a sentence, and combinations that decide differently have different ones', () => {
    const seen = new Map<string, string>()
    const rates = [null, 2000]
    const periods = ['MONTH', 'ALL_TIME'] as const
    const ranges = (low: number, high: number) =>
      shapes(low, high).filter((shape) => shape === undefined || Object.keys(shape).length > 0)
    for (const customerOrder of ranges(2, 5))
      for (const customerMonth of ranges(1, 11))
        for (const affiliateIds of [undefined, ['A']])
          for (const affiliateOrders of ranges(3, 4))
            for (const affiliateRevenueCents of ranges(500, 600))
              for (const orderSubtotalCents of ranges(700, 800))
                for (const rate of rates)
                  for (const maxCommissionCents of rate ? [undefined, 90] : [undefined])
                    for (const period of affiliateOrders || affiliateRevenueCents ? periods : (['MONTH'] as const))
                      for (const holdDays of [0, 14]) {
                        const when: TermsCondition = JSON.parse(
                          JSON.stringify({
                            customerOrder,
                            customerMonth,
                            affiliateIds,
                            affiliateOrders: affiliateOrders && { ...affiliateOrders, period },
                            affiliateRevenueCents: affiliateRevenueCents && { ...affiliateRevenueCents, period },
                            orderSubtotalCents,
                          }),
                        )
                        const one = {
                          holdDays,
                          rules: [{ when, rate, ...(maxCommissionCents && { maxCommissionCents }) }],
                        }
                        const text = sentence(one)
                        const key = JSON.stringify(one)
                        if (
                          !/^Pays [^;]+(; [^;]+)*\.$/.test(text) ||
                          /undefined|NaN|Infinity|null| {2}| ,|\.\./.test(text)
                        )
                          throw new Error(`${key}: ${text}`)
                        if (seen.has(text)) throw new Error(`${text}\n${key}\n${seen.get(text)}`)
                        seen.set(text, key)
                      }
    expect(seen.size).toBeGreaterThan(5000)
  })

  test('a step in the sentence is what the rules decide, for any rules of a customer’s months', () => {
    const bound = fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined })
    const rule = fc
      .record({ from: bound, to: bound, rate: fc.constantFrom(null, 1000, 2000) })
      .map(({ rate, ...range }) => pays(rate, { customerMonth: JSON.parse(JSON.stringify(range)) }))
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), fc.nat(40), (rules, month) => {
        const [first, ...others] = sentence({ rules }).slice('Pays '.length, -1).split(', then ')
        const steps = [first!.replace(" from a customer's first order", ''), ...others]
        let until = 0
        const step = steps.find((text) => {
          const months = / for (\d+) months?$/.exec(text)
          until += months ? Number(months[1]) : Number.POSITIVE_INFINITY
          return month < until
        })
        const { amountCents } = decide(
          couponFacts({
            customer: { ...returning, month },
            programs: [program({ rate: 3000, terms: [terms({ rules })] })],
          }),
        )
        expect(step?.split(' ')[0]).toBe(amountCents === 0 ? 'nothing' : `${amountCents / 100}%`)
      }),
    )
  })
})

describe('an explanation names the version, the rule, and why those before it do not match', () => {
  const tier = (bounds: object) => pays(1, { affiliateRevenueCents: { period: 'MONTH', ...bounds } })
  const explain = (input: Facts) =>
    explainTerms(input, input.programs.prg_1!, { affiliate: input.affiliates.A!, subtotalCents: 10_000, money })
  test.each<[TermsRule, FactsInput, string]>([
    [
      pays(1, { customerOrder: { from: 2 } }),
      {},
      'this is order 1 because it names no customer, and it is for 2 or more',
    ],
    [
      pays(1, { customerOrder: { to: 2 } }),
      { customer: returning, order: { customerId: 'c' } },
      'this is order 6 of the customer, and it is for at most 2',
    ],
    [
      pays(1, { customerMonth: { from: 0, to: 11 } }),
      { customer: returning, order: { customerId: 'c' } },
      'the order is in month 13 of the customer, and it is for 0 to 11',
    ],
    [pays(1, { affiliateIds: ['B'] }), {}, 'it is for other affiliates'],
    [
      pays(1, { affiliateOrders: { from: 1, period: 'ALL_TIME' } }),
      {},
      'before this order the affiliate had 0 orders in total, and it is for 1 or more',
    ],
    [
      tier({ from: 100 }),
      {},
      'before this order the affiliate had sold $0.00 in the month, and it is for $1.00 or more',
    ],
    [tier({ from: 100 }), { order: { currency: 'EUR' } }, 'its amounts are in USD, and the order is in EUR'],
    [pays(1, { orderSubtotalCents: { to: 5 } }), {}, 'the order is worth $100.00, and it is for at most $0.05'],
  ])('%j', (rule, input, because) => {
    expect(explain(underRules([rule, pays(3000)], input))).toEqual([
      "Version 2 of the program's terms counts: it was in force at the order.",
      `Rule 1 does not match: ${because}.`,
      'Rule 2 matches and pays 30%.',
    ])
  })
  test('no rule, and the version of the customer', () => {
    const kept = { version: 2, createdAt: at(-500 * DAY), appliesTo: 'CUSTOMERS' as const }
    expect(explain(underTerms([kept, { version: 3, createdAt: at(-DAY) }], { customer: returning }))).toEqual([
      "Version 2 of the program's terms counts: it was in force at the customer's first credited order, and customers keep theirs.",
      "No rule matches, so the program's rate counts: 16%.",
    ])
  })
})

describe('the month from which an affiliate earns nothing', () => {
  const inMonth = (from: number) => ({ customerMonth: { from } })
  const cases: [string, TermsRule[], number | null][] = [
    ['never without rules', [], null],
    ['after a year', [pays(null, inMonth(12))], 12],
    [
      'after a step-down',
      [pays(3000, { customerMonth: { to: 11 } }), pays(1000, { customerMonth: { to: 23 } }), pays(null)],
      24,
    ],
    ['of the affiliate alone', [pays(null, { ...inMonth(12), affiliateIds: ['A'] })], 12],
    ['of another affiliate', [pays(null, { ...inMonth(12), affiliateIds: ['B'] })], null],
    ['unless an affiliate is paid for life', [pays(3000, { affiliateIds: ['A'] }), pays(null, inMonth(12))], null],
    ['although another is', [pays(3000, { affiliateIds: ['B'] }), pays(null, inMonth(12))], 12],
    [
      'with conditions that always hold',
      [pays(null, { ...inMonth(12), customerOrder: { from: 2 }, affiliateOrders: { from: 0, period: 'MONTH' } })],
      12,
    ],
    ['not for some orders', [pays(null, { ...inMonth(12), orderSubtotalCents: { from: 0 } })], null],
    ['not at some number of orders', [pays(null, { ...inMonth(12), customerOrder: { from: 3 } })], null],
    [
      'not while an affiliate sells enough',
      [pays(2000, { affiliateOrders: { from: 10, period: 'MONTH' } }), pays(null, inMonth(12))],
      null,
    ],
    ['not in some months', [pays(null, { customerMonth: { from: 12, to: 23 } })], null],
    ['where two rules end it', [pays(null, inMonth(12)), pays(null, inMonth(6))], 6],
    ['after the first order', [pays(null, { customerOrder: { from: 2 } })], 0],
    ['after a first order with a rate of its own', [pays(5000, { customerOrder: { to: 1 } }), pays(null)], 0],
    ['always', [pays(null)], 0],
  ]
  test.for(cases)('%s', ([, rules, month]) => {
    expect(endMonth({ rules }, 'A')).toBe(month)
  })

  test('agrees with what orders earn', () => {
    const bound = fc.integer({ min: 0, max: 4 })
    const range = fc.oneof(
      bound.map((from) => ({ from })),
      bound.map((to) => ({ to })),
      fc.constant(undefined),
    )
    const present = (condition: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(condition).filter(([, value]) => value !== undefined)) as TermsCondition
    const when = fc
      .record({
        customerMonth: range,
        customerOrder: range,
        affiliateIds: fc.constantFrom(undefined, undefined, ['A'], ['B']),
        orderSubtotalCents: fc.constantFrom(undefined, undefined, { from: 5000 }),
      })
      .map(present)
    const rule = fc.tuple(fc.constantFrom(null, 2000), when).map(([rate, condition]) => pays(rate, condition))
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), (rules) => {
        const end = endMonth({ rules }, 'A')
        const earns = (month: number) =>
          [1, 2, 3, 9].flatMap((orders) =>
            [1, 10_000].map((amountCents) => {
              const customer = { orders, firstOrderAt: at(-400 * DAY), month }
              return decide(underRules(rules, { customer, order: { amountCents } })).eligible
            }),
          )
        for (let month = 0; month <= 6; month++)
          if (end !== null && month >= end) expect(earns(month)).not.toContain(true)
        // What some rules leave, others can end, which is not looked for.
        if (rules.some(({ when }) => when.orderSubtotalCents || when.customerOrder)) return
        if (end === null) expect(earns(6)).toContain(true)
        else if (end > 0) expect(earns(end - 1)).toContain(true)
      }),
      { numRuns: 500 },
    )
  })
})
