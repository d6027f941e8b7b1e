import { describe, expect, test } from 'vitest'
import { PRECEDENCE_PRESETS } from '../../server/src/engine/attribution.ts'
import { decide } from '../../server/src/engine/decide.ts'
import { affiliate, click, facts, line, outcome } from './facts.ts'

describe('each kind of evidence', () => {
  test.each([
    ['couponCode', { couponCode: 'AAA' }, { couponCode: 'A' }, 'A COUPON 1 COUPON_MATCH'],
    ['affiliateCode', { affiliateCode: 'a' }, { affiliateCode: 'A' }, 'A COUPON 1 AFFILIATE_CODE_MATCH'],
    ['clickId', { clickId: 'jrn_1' }, { click: click('A') }, 'A DIRECT_LINK 0.95 CLICK_MATCH'],
    ['ref', { ref: 'a' }, { ref: 'A' }, 'A DIRECT_LINK 0.8 REF_MATCH'],
    ['sessionId', { sessionId: 's' }, { sessionClicks: [click('A')] }, 'A DIRECT_LINK 0.95 CLICK_MATCH'],
    ['customerId', { customerId: 'c' }, { customerId: 'A' }, 'A CONNECTED_CUSTOMER 0.9 CONNECTED_CUSTOMER_ID_MATCH'],
    [
      'customerEmail',
      { customerEmail: 'c@example.com' },
      { customerEmail: 'A' },
      'A CONNECTED_CUSTOMER 0.85 CONNECTED_CUSTOMER_EMAIL_MATCH',
    ],
    [
      'productId',
      { lines: [line({ productId: '7' })] },
      { products: { 'product:7': 'A' } },
      'A CONNECTED_PRODUCT 0.7 CONNECTED_PRODUCT_MATCH',
    ],
    [
      'variantId',
      { lines: [line({ variantId: '8' })] },
      { products: { 'variant:8': 'A' } },
      'A CONNECTED_PRODUCT 0.7 CONNECTED_PRODUCT_MATCH',
    ],
  ])('%s', (source, order, matches, expected) => {
    const input = facts({ order, matches })
    expect(outcome(input)).toBe(expected)
    expect(decide(input).candidates.filter((entry) => entry.won)).toMatchObject([{ source, affiliateId: 'A' }])
  })

  test('the earlier source of a kind wins', () => {
    const codes = { order: { couponCode: 'x', affiliateCode: 'y' }, matches: { couponCode: 'A', affiliateCode: 'B' } }
    expect(outcome(facts(codes))).toBe('A COUPON 1 COUPON_MATCH')
    const links = {
      order: { clickId: 'jrn_1', ref: 'b', sessionId: 's' },
      matches: { click: click('A'), ref: 'B', sessionClicks: [click('B')] },
    }
    expect(outcome(facts(links))).toBe('A DIRECT_LINK 0.95 CLICK_MATCH')
    const sent = { ref: 'b', sessionId: 's' }
    const stored = { ref: 'B', sessionClicks: [click('A')] }
    expect(outcome(facts({ order: sent, matches: stored }))).toBe('B DIRECT_LINK 0.8 REF_MATCH')
    const customer = {
      order: { customerId: 'x', customerEmail: 'y' },
      matches: { customerId: 'A', customerEmail: 'B' },
    }
    expect(outcome(facts(customer))).toBe('A CONNECTED_CUSTOMER 0.9 CONNECTED_CUSTOMER_ID_MATCH')
  })

  test('a source without an affiliate falls back to the next source of its kind', () => {
    const input = facts({ order: { couponCode: 'x', affiliateCode: 'b' }, matches: { affiliateCode: 'B' } })
    expect(outcome(input)).toBe('B COUPON 1 AFFILIATE_CODE_MATCH')
  })

  test('blank evidence is ignored', () => {
    const order = { couponCode: ' ', affiliateCode: '', ref: '\t', clickId: '', sessionId: ' ', customerId: ' ' }
    const decision = decide(facts({ order, matches: { couponCode: 'A', ref: 'A', customerId: 'A' } }))
    expect(decision.candidates).toEqual([])
    expect(decision.attribution.reasonCode).toBe('NO_EVIDENCE')
  })

  test('values are shown trimmed', () => {
    expect(decide(facts({ order: { couponCode: ' AAA ' } })).candidates).toMatchObject([{ value: 'AAA' }])
  })
})

describe('precedence', () => {
  const all = {
    order: {
      couponCode: 'x',
      clickId: 'jrn_1',
      customerId: 'c',
      lines: [line({ productId: '7', priceCents: 100 })],
      amountCents: null,
    },
    matches: { couponCode: 'A', click: click('B'), customerId: 'C', products: { 'product:7': 'D' } },
    affiliates: ['A', 'B', 'C', 'D'].map((id) => affiliate(id)),
  }

  test.each([
    ['default', 'A COUPON', 'B DIRECT_LINK', 'C CONNECTED_CUSTOMER', 'D CONNECTED_PRODUCT'],
    ['link-first', 'B DIRECT_LINK', 'A COUPON', 'C CONNECTED_CUSTOMER', 'D CONNECTED_PRODUCT'],
    ['customer-first', 'C CONNECTED_CUSTOMER', 'A COUPON', 'B DIRECT_LINK', 'D CONNECTED_PRODUCT'],
  ] as const)('the precedence %s ranks %s, %s, %s, %s', (preset, ...ranking) => {
    const settings = { precedence: [...PRECEDENCE_PRESETS[preset]] }
    const gone = new Set<string>()
    for (const expected of ranking) {
      const affiliates = all.affiliates.filter(({ id }) => !gone.has(id))
      expect(outcome(facts({ ...all, affiliates, settings }))).toMatch(new RegExp(`^${expected} `))
      gone.add(expected.charAt(0))
    }
  })

  test('all four kinds are listed in one order, whatever the precedence', () => {
    for (const precedence of Object.values(PRECEDENCE_PRESETS)) {
      const { candidates } = decide(facts({ ...all, settings: { precedence: [...precedence] } }))
      expect(candidates.map((entry) => entry.kind)).toEqual(PRECEDENCE_PRESETS.default)
      expect(candidates.filter((entry) => entry.won)).toHaveLength(1)
      expect(candidates.map((entry) => entry.affiliateId)).toEqual(['A', 'B', 'C', 'D'])
    }
  })
})

describe('without attribution', () => {
  test.each([
    ['nothing sent', {}, {}, 'NO_EVIDENCE'],
    ['an unknown coupon', { couponCode: 'x' }, {}, 'NO_MATCH'],
    ['an unknown click', { clickId: 'x' }, {}, 'CLICK_NOT_FOUND'],
    ['a click of an unknown reference', { clickId: 'x' }, { click: click(null) }, 'NO_MATCH'],
    ['a click of somebody deleted', { clickId: 'x' }, { click: click('gone') }, 'NO_MATCH'],
    ['a session without clicks', { sessionId: 's' }, {}, 'NO_MATCH'],
    ['lines without ids', { lines: [line()] }, {}, 'NO_EVIDENCE'],
    ['an unknown product', { lines: [line({ productId: '7' })] }, {}, 'NO_MATCH'],
    ['the higher kind speaks', { couponCode: 'x', clickId: 'y' }, {}, 'NO_MATCH'],
    ['a lower kind when the higher was not sent', { clickId: 'y', customerId: 'c' }, {}, 'CLICK_NOT_FOUND'],
  ])('%s', (_, order, matches, reasonCode) => {
    expect(decide(facts({ order, matches }))).toMatchObject({
      attribution: { affiliateId: null, method: null, confidence: 0, reasonCode },
      status: null,
      restrictionReasonCode: null,
      eligible: false,
      programId: null,
      commissionType: null,
      rateBps: 0,
      subtotalCents: 10_000,
      baseCents: 10_000,
      amountCents: 0,
      taxWithheldCents: 0,
      groups: [],
      connectsCustomer: false,
    })
  })

  test('the kind with the highest precedence in the shop gives the reason', () => {
    const settings = { precedence: [...PRECEDENCE_PRESETS['link-first']] }
    const input = facts({ order: { couponCode: 'x', clickId: 'y' }, settings })
    expect(decide(input).attribution.reasonCode).toBe('CLICK_NOT_FOUND')
  })

  test('an id named like a property of Object.prototype matches nobody', () => {
    const matches = { couponCode: 'constructor', products: {} }
    const order = { couponCode: 'x', lines: [line({ productId: 'toString' })] }
    expect(decide(facts({ order, matches })).attribution.reasonCode).toBe('NO_MATCH')
  })
})
