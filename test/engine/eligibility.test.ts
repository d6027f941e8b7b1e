import { describe, expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import type { AffiliateFact, GeoRule, Order, Place, ProgramFact } from '../../server/src/engine/facts.ts'
import { affiliate, click, couponFacts, line, program } from './facts.ts'

function restriction(person: Partial<AffiliateFact>, rules: Partial<ProgramFact> = {}, order: Partial<Order> = {}) {
  return decide(couponFacts({ order, affiliates: [affiliate('A', person)], programs: [program(rules)] }))
    .restrictionReasonCode
}

const geo = (over: Partial<GeoRule>): GeoRule => ({
  countries: [],
  states: [],
  cities: [],
  postalPrefixes: [],
  ...over,
})
const place = (over: Partial<Place>): Place => ({ country: null, state: null, city: null, postalCode: null, ...over })

describe('the winner', () => {
  test.each([
    [{ archived: true }, 'AFFILIATE_ARCHIVED'],
    [{ status: 'REJECTED' }, 'AFFILIATE_REJECTED'],
    [{ status: 'PENDING' }, 'AFFILIATE_NOT_APPROVED'],
    [{ programId: null }, 'PROGRAM_MISSING'],
    [{ programId: 'gone' }, 'PROGRAM_MISSING'],
    [{ status: 'APPROVED' }, null],
    [{ status: 'ACTIVE' }, null],
  ] as const)('a winner with %j has the restriction %s', (person, expected) => {
    expect(restriction(person)).toBe(expected)
  })

  test('the first restriction in the fixed order is named', () => {
    const rules = { geoRule: geo({ countries: ['DE'], cities: ['Bonn'] }) }
    const order = { customerEmail: 'a@example.com', shipping: place({ country: 'FR' }), amountCents: 0 }
    const person: Partial<AffiliateFact> = {
      archived: true,
      status: 'REJECTED',
      programId: null,
      email: 'a@example.com',
    }
    expect(restriction(person, rules, order)).toBe('AFFILIATE_ARCHIVED')
    expect(restriction({ ...person, archived: false }, rules, order)).toBe('AFFILIATE_REJECTED')
    expect(restriction({ ...person, archived: false, status: 'PENDING' }, rules, order)).toBe('AFFILIATE_NOT_APPROVED')
    expect(restriction({ email: person.email, programId: null }, rules, order)).toBe('PROGRAM_MISSING')
    expect(restriction({ email: person.email }, rules, order)).toBe('SELF_REFERRAL')
    expect(restriction({}, rules, { ...order, customerEmail: null })).toBe('GEO_UNKNOWN')
    const known = { ...order, customerEmail: null, shipping: place({ country: 'FR', city: 'Bonn' }) }
    expect(restriction({}, rules, known)).toBe('GEO_NOT_ELIGIBLE')
    expect(restriction({}, rules, { ...known, shipping: place({ country: 'DE', city: 'Bonn' }) })).toBe('ZERO_BASE')
  })

  test('a restricted row keeps program, rate and base, pays nothing and connects nobody', () => {
    const decision = decide(
      couponFacts({
        order: { discountCents: 1000, customerId: 'c', clickId: 'jrn_1' },
        matches: { click: click('B') },
        affiliates: [affiliate('A', { status: 'PENDING' }), affiliate('B')],
        programs: [program({ autoApproveOrder: true, lifetimeCommission: true })],
        settings: { taxWithholdingBps: 5000 },
      }),
    )
    expect(decision).toMatchObject({
      attribution: { affiliateId: 'A', method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' },
      status: 'REJECTED',
      restrictionReasonCode: 'AFFILIATE_NOT_APPROVED',
      eligible: false,
      programId: 'prg_1',
      commissionType: 'PERCENT_OF_SALE',
      rateBps: 1600,
      subtotalCents: 10_000,
      baseCents: 9000,
      amountCents: 0,
      taxWithheldCents: 0,
      groups: [],
      connectsCustomer: false,
    })
  })

  test('without a program there is no rate to record', () => {
    const decision = decide(couponFacts({ affiliates: [affiliate('A', { programId: 'gone' })] }))
    expect(decision).toMatchObject({ programId: null, commissionType: null, rateBps: 0, baseCents: 10_000 })
  })
})

describe('SELF_REFERRAL', () => {
  test.each([
    ['a@example.com', 'a@example.com', true],
    [' A@Example.COM ', 'a@example.com', true],
    ['a+shop@example.com', 'a@example.com', true],
    ['a@example.com', 'a+partner@example.com', true],
    ['a+x+y@example.com', 'a+z@example.com', true],
    ['b@example.com', 'a@example.com', false],
    ['a@other.com', 'a@example.com', false],
    ['a@exam+ple.com', 'a@example.com', false],
    ['+tag@example.com', '+other@example.com', false],
    ['a+b', 'a+cb', false],
    ['', '', false],
    [null, '', false],
    ['  ', '', false],
  ])('the buyer %j and the affiliate %j: restriction %j', (customerEmail, email, expected) => {
    expect(restriction({ email }, {}, { customerEmail })).toBe(expected ? 'SELF_REFERRAL' : null)
  })
})

describe('geography', () => {
  const full = { country: 'DE', state: 'NW', city: 'Bonn', postalCode: '53113' }

  test.each([
    ['no rule', null, null, null],
    ['an empty rule', geo({}), null, null],
    ['a country', geo({ countries: ['FR', 'DE'] }), full, null],
    ['case and spaces', geo({ countries: [' de '], cities: ['BONN'] }), { ...full, city: ' bonn' }, null],
    ['another country', geo({ countries: ['FR'] }), full, 'GEO_NOT_ELIGIBLE'],
    ['another state', geo({ states: ['BY'] }), full, 'GEO_NOT_ELIGIBLE'],
    ['another city', geo({ cities: ['Berlin'] }), full, 'GEO_NOT_ELIGIBLE'],
    ['a postal prefix', geo({ postalPrefixes: ['10', '531'] }), full, null],
    ['the whole postal code', geo({ postalPrefixes: ['53113'] }), full, null],
    ['another prefix', geo({ postalPrefixes: ['3113', '531131'] }), full, 'GEO_NOT_ELIGIBLE'],
    ['every list must match', geo({ countries: ['DE'], cities: ['Berlin'] }), full, 'GEO_NOT_ELIGIBLE'],
    ['no address', geo({ countries: ['DE'] }), null, 'GEO_UNKNOWN'],
    ['no such field', geo({ cities: ['Bonn'] }), { ...full, city: null }, 'GEO_UNKNOWN'],
    ['a blank field', geo({ cities: ['Bonn'] }), { ...full, city: ' ' }, 'GEO_UNKNOWN'],
    [
      'unknown before not eligible',
      geo({ countries: ['FR'], cities: ['Bonn'] }),
      { ...full, city: null },
      'GEO_UNKNOWN',
    ],
    ['a field that no list asks for', geo({ countries: ['DE'] }), place({ country: 'DE' }), null],
  ])('%s', (_, geoRule, shipping, expected) => {
    expect(restriction({}, { geoRule }, { shipping })).toBe(expected)
  })
})

describe('ZERO_BASE', () => {
  const free = { amountCents: 500, discountCents: 500 }

  test('holds for percentages only', () => {
    expect(restriction({}, {}, free)).toBe('ZERO_BASE')
    expect(restriction({}, { commissionType: 'FLAT_PER_ORDER', rate: 250 }, free)).toBeNull()
    expect(restriction({}, { commissionType: 'FLAT_PER_ITEM', rate: 250 }, free)).toBeNull()
  })

  test('does not hold when a product has a flat rule', () => {
    const productRules = [{ productId: '7', variantId: null, commissionType: 'FLAT_PER_ITEM' as const, rate: 250 }]
    const lines = [line({ productId: '7', quantity: 2 }), line({ productId: '8' })]
    const decision = decide(couponFacts({ order: { ...free, lines }, programs: [program({ productRules })] }))
    expect(decision).toMatchObject({ restrictionReasonCode: null, amountCents: 500, baseCents: 0 })
    expect(restriction({}, { productRules }, { ...free, lines: [line({ productId: '8' })] })).toBe('ZERO_BASE')
  })

  test('one cent of base that rounds to no commission is eligible', () => {
    expect(restriction({}, { rate: 1 }, { amountCents: 1 })).toBeNull()
  })
})
