import fc from 'fast-check'
import { PRECEDENCE_PRESETS } from '../../server/src/engine/attribution.ts'
import type {
  CommissionType,
  Facts,
  GeoRule,
  Order,
  OrderLine,
  ProductRule,
  TermsRule,
} from '../../server/src/engine/facts.ts'
import { at, terms as termsOf } from './facts.ts'

const DAY = 86_400_000
const MAX_CENTS = 2_147_483_647

/** Small, round, and the largest: mistakes hide at both ends. */
export const cents = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: 0, max: MAX_CENTS }),
  fc.constant(MAX_CENTS),
)
export const bps = fc.oneof(fc.constantFrom(1, 100, 1600, 1650, 3333, 10_000), fc.integer({ min: 1, max: 10_000 }))
const commissionType = fc.constantFrom<CommissionType[]>('PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM')
const rate = fc.record({ commissionType, rate: bps })
const itemId = fc.constantFrom(null, '1', '2', '3')
const who = fc.constantFrom(null, 'A', 'B', 'C', 'gone')
const offset = fc.oneof(
  fc.constantFrom(-30 * DAY - 1, -30 * DAY, -7 * DAY, 0, 300_000, 300_001),
  fc.integer({ min: -40 * DAY, max: 400_000 }),
)
const clickOf = fc.record({
  clickId: fc.constantFrom('jrn_1', 'jrn_2', 'jrn_3'),
  affiliateId: who,
  clickAt: offset.map(at),
})
const text = (value: string) => fc.constantFrom(null, value, ' ')

export const lines: fc.Arbitrary<OrderLine[]> = fc.array(
  fc.record(
    {
      productId: itemId,
      variantId: itemId,
      quantity: fc.integer({ min: 1, max: 9 }),
      priceCents: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 5000 })),
      discountCents: fc.integer({ min: 0, max: 9000 }),
      includedTaxCents: fc.integer({ min: 0, max: 900 }),
    },
    { requiredKeys: ['productId', 'variantId', 'quantity', 'priceCents'] },
  ),
  { maxLength: 6 },
)

const order: fc.Arbitrary<Order> = fc.record({
  externalOrderId: fc.constant('x1'),
  orderAt: fc.constant(at(0)),
  currency: fc.constant('USD'),
  amountCents: fc.oneof(fc.constant(null), cents, fc.integer({ min: 0, max: 40_000 })),
  discountCents: fc.oneof(fc.constant(0), cents, fc.integer({ min: 0, max: 5000 })),
  shippingCents: cents,
  taxCents: cents,
  couponCode: text('AAA'),
  affiliateCode: text('BBB'),
  ref: text('ccc'),
  clickId: text('jrn_1'),
  sessionId: text('s'),
  customerId: text('c'),
  customerEmail: fc.constantFrom(null, 'c@example.com', 'A+x@example.com'),
  lines,
  shipping: fc.constantFrom(null, { country: 'DE', state: null, city: 'Bonn', postalCode: '53113' }),
})

const productRule: fc.Arbitrary<ProductRule> = fc
  .tuple(rate, fc.boolean(), fc.constantFrom('1', '2', '3'))
  .map(([own, isVariant, id]) => ({ ...own, productId: isVariant ? null : id, variantId: isVariant ? id : null }))

const geoRule: fc.Arbitrary<GeoRule | null> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.record({
    countries: fc.constantFrom<string[][]>([], ['de'], ['FR']),
    states: fc.constantFrom<string[][]>([], ['NW']),
    cities: fc.constant<string[]>([]),
    postalPrefixes: fc.constantFrom<string[][]>([], ['53']),
  }),
)

const termsRule: fc.Arbitrary<TermsRule> = fc.record(
  {
    when: fc.constantFrom({}, { customerOrder: { from: 2 } }, { orderSubtotalCents: { to: 9999 } }),
    rate: fc.oneof(fc.constant(null), bps),
    maxCommissionCents: fc.constantFrom(1, 99, 2000),
  },
  { requiredKeys: ['when', 'rate'] },
)
const terms = fc
  .tuple(commissionType, fc.constantFrom('USD', 'EUR'), fc.array(termsRule, { maxLength: 3 }))
  .map(([type, currency, rules]) => [termsOf({ commissionType: type, currency, rules })])

const program = (id: string) =>
  fc
    .tuple(
      fc.oneof(fc.constant({}), fc.record({ terms })),
      rate,
      fc.array(productRule, { maxLength: 3 }),
      geoRule,
      fc.constantFrom(0, 7, 30),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([versions, own, productRules, geo, cookieDurationDays, autoApproveOrder, lifetimeCommission]) => ({
      ...versions,
      ...own,
      id,
      productRules,
      geoRule: geo,
      cookieDurationDays,
      autoApproveOrder,
      lifetimeCommission,
    }))

const affiliate = (id: string) =>
  fc.record({
    id: fc.constant(id),
    email: fc.constant(`${id}@example.com`),
    status: fc.constantFrom(
      'APPROVED' as const,
      'ACTIVE' as const,
      'APPROVED' as const,
      'PENDING' as const,
      'REJECTED' as const,
    ),
    archived: fc.constantFrom(false, false, false, true),
    programId: fc.constantFrom('P', 'P', 'Q', null, 'gone'),
  })

/** Any facts that can come out of a database, contradictions included. */
export const anyFacts: fc.Arbitrary<Facts> = fc.record({
  order,
  settings: fc.record({
    precedence: fc.constantFrom(...Object.values(PRECEDENCE_PRESETS).map((kinds) => [...kinds])),
    clickTouch: fc.constantFrom('LAST' as const, 'FIRST' as const),
    taxWithholdingBps: fc.constantFrom(0, 1000, 3333, 10_000),
  }),
  matches: fc.record({
    couponCode: who,
    affiliateCode: who,
    click: fc.oneof(fc.constant(null), clickOf),
    sessionClicks: fc.array(clickOf, { maxLength: 4 }),
    ref: who,
    customerId: who,
    customerEmail: who,
    products: fc.dictionary(
      fc.constantFrom('product:1', 'product:2', 'variant:1', 'variant:3'),
      fc.constantFrom('A', 'B', 'C', 'gone'),
    ),
  }),
  affiliates: fc.record({ A: affiliate('A'), B: affiliate('B'), C: affiliate('C') }),
  programs: fc.record({ P: program('P'), Q: program('Q') }),
})
