import { describe, expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import type { Facts } from '../../server/src/engine/facts.ts'
import { PRECEDENCE_PRESETS } from '../../server/src/engine/precedence.ts'
import { affiliate, at, click, facts, line, program } from './facts.ts'

const DAY = 86_400_000

/** Who won and why, in one line. */
function outcome(input: Facts): string {
  const { affiliateId, method, confidence, reasonCode } = decide(input).attribution
  return `${affiliateId} ${method} ${confidence} ${reasonCode}`
}

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

  test('a source that resolves to nobody leaves the next source of its kind', () => {
    const input = facts({ order: { couponCode: 'x', affiliateCode: 'b' }, matches: { affiliateCode: 'B' } })
    expect(outcome(input)).toBe('B COUPON 1 AFFILIATE_CODE_MATCH')
  })

  test('blank evidence is no evidence', () => {
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
  ] as const)('%s: %s, %s, %s, %s', (preset, ...ranking) => {
    const settings = { precedence: [...PRECEDENCE_PRESETS[preset]] }
    const gone = new Set<string>()
    for (const expected of ranking) {
      const affiliates = all.affiliates.filter(({ id }) => !gone.has(id))
      expect(outcome(facts({ ...all, affiliates, settings }))).toMatch(new RegExp(`^${expected} `))
      gone.add(expected.charAt(0))
    }
  })

  test('all four kinds are gathered in one order whatever the precedence', () => {
    for (const precedence of Object.values(PRECEDENCE_PRESETS)) {
      const { candidates } = decide(facts({ ...all, settings: { precedence: [...precedence] } }))
      expect(candidates.map((entry) => entry.kind)).toEqual(PRECEDENCE_PRESETS.default)
      expect(candidates.filter((entry) => entry.won)).toHaveLength(1)
      expect(candidates.map((entry) => entry.affiliateId)).toEqual(['A', 'B', 'C', 'D'])
    }
  })
})

describe('the window of a click', () => {
  const clicked = (offset: number, days = 30) =>
    outcome(
      facts({
        order: { clickId: 'jrn_1' },
        matches: { click: click('A', at(offset)) },
        programs: [program({ cookieDurationDays: days })],
      }),
    )
  const MATCH = 'A DIRECT_LINK 0.95 CLICK_MATCH'

  test.each([
    [-30 * DAY, 30, MATCH],
    [-30 * DAY - 1, 30, 'null null 0 CLICK_EXPIRED'],
    [-7 * DAY, 7, MATCH],
    [-7 * DAY - 1, 7, 'null null 0 CLICK_EXPIRED'],
    [300_000, 30, MATCH],
    [300_001, 30, 'null null 0 CLICK_AFTER_ORDER'],
    [0, 1, MATCH],
    [0, 0, 'null null 0 CLICK_EXPIRED'],
    [1, 0, 'null null 0 CLICK_EXPIRED'],
  ])('%i ms from the order with %i days: %s', (offset, days, expected) => {
    expect(clicked(offset, days)).toBe(expected)
  })

  test('it is the program of the affiliate who was clicked that sets the window', () => {
    const input = facts({
      order: { clickId: 'jrn_1' },
      matches: { click: click('B', at(-8 * DAY)) },
      affiliates: [affiliate('A'), affiliate('B', { programId: 'prg_2' })],
      programs: [program({ cookieDurationDays: 365 }), program({ id: 'prg_2', cookieDurationDays: 7 })],
    })
    expect(outcome(input)).toBe('null null 0 CLICK_EXPIRED')
  })

  test('without a program it is 30 days', () => {
    for (const [offset, expected] of [
      [-30 * DAY, MATCH],
      [-30 * DAY - 1, 'null null 0 CLICK_EXPIRED'],
    ] as const) {
      const input = facts({
        order: { clickId: 'jrn_1' },
        matches: { click: click('A', at(offset)) },
        affiliates: [affiliate('A', { programId: null })],
      })
      expect(outcome(input)).toBe(expected)
    }
  })

  test('0 days refuse a bare ref as well', () => {
    const input = facts({ order: { ref: 'a' }, matches: { ref: 'A' }, programs: [program({ cookieDurationDays: 0 })] })
    expect(outcome(input)).toBe('null null 0 NO_MATCH')
    expect(decide(input).candidates).toMatchObject([{ source: 'ref', affiliateId: 'A', confidence: 0, won: false }])
  })

  test('an expired click leaves the customer connection to win', () => {
    const input = facts({
      order: { clickId: 'jrn_1', customerId: 'c' },
      matches: { click: click('A', at(-31 * DAY)), customerId: 'B' },
    })
    expect(outcome(input)).toBe('B CONNECTED_CUSTOMER 0.9 CONNECTED_CUSTOMER_ID_MATCH')
    expect(decide(input).candidates[0]).toMatchObject({ affiliateId: 'A', reasonCode: 'CLICK_EXPIRED', won: false })
  })
})

describe('clicks of a session', () => {
  const session = (clickTouch: 'LAST' | 'FIRST', sessionClicks: ReturnType<typeof click>[]) =>
    facts({ order: { sessionId: 's' }, matches: { sessionClicks }, settings: { clickTouch } })
  const two = [click('B', at(-1), 'jrn_2'), click('A', at(-2), 'jrn_1')]

  test('LAST takes the last, FIRST the first', () => {
    expect(decide(session('LAST', two)).attribution.affiliateId).toBe('B')
    expect(decide(session('FIRST', two)).attribution.affiliateId).toBe('A')
  })

  test('ties go by click id', () => {
    const tied = [click('B', at(-1), 'jrn_2'), click('A', at(-1), 'jrn_1')]
    for (const clicks of [tied, tied.toReversed()]) {
      expect(decide(session('LAST', clicks)).attribution.affiliateId).toBe('B')
      expect(decide(session('FIRST', clicks)).attribution.affiliateId).toBe('A')
    }
  })

  test('a click that does not count makes room for the next one', () => {
    const late = [...two, click('A', at(300_001), 'jrn_9')]
    expect(decide(session('LAST', late)).attribution.affiliateId).toBe('B')
    const old = [...two, click('B', at(-31 * DAY), 'jrn_0')]
    expect(decide(session('FIRST', old)).attribution.affiliateId).toBe('A')
  })

  test('every click is shown, the preferred one first', () => {
    const shown = decide(session('LAST', two)).candidates.map(({ source, value, won }) => `${source} ${value} ${won}`)
    expect(shown).toEqual(['sessionId jrn_2 true', 'sessionId jrn_1 false'])
  })
})

describe('connected products', () => {
  const sold = (lines: ReturnType<typeof line>[], products: Record<string, string>) =>
    decide(facts({ order: { amountCents: null, lines }, matches: { products } }))

  test('the variant decides before the product of the same line', () => {
    const both = [line({ productId: '7', variantId: '8', priceCents: 100 })]
    const decision = sold(both, { 'product:7': 'A', 'variant:8': 'B' })
    expect(decision.attribution.affiliateId).toBe('B')
    expect(decision.candidates).toMatchObject([{ source: 'variantId', value: '8', affiliateId: 'B' }])
    expect(sold(both, { 'product:7': 'A' }).candidates).toMatchObject([{ source: 'productId', value: '7' }])
  })

  test('the highest matched line total wins, summed over lines and before discount', () => {
    const lines = [
      line({ productId: '1', priceCents: 300 }),
      line({ productId: '2', priceCents: 200 }),
      line({ productId: '3', priceCents: 101 }),
    ]
    const decision = sold(lines, { 'product:1': 'A', 'product:2': 'B', 'product:3': 'B' })
    expect(decision.attribution.affiliateId).toBe('B')
    expect(decision.baseCents).toBe(301)
  })

  test('a tie goes to the lowest affiliate id', () => {
    const lines = [line({ productId: '1', priceCents: 300 }), line({ productId: '2', quantity: 3, priceCents: 100 })]
    expect(sold(lines, { 'product:1': 'B', 'product:2': 'A' }).attribution.affiliateId).toBe('A')
    expect(sold(lines, { 'product:1': 'A', 'product:2': 'B' }).attribution.affiliateId).toBe('A')
  })

  test('ids are compared exactly', () => {
    for (const productId of ['gid://shopify/Product/7', '07', '7 ', ' 7']) {
      const decision = sold([line({ productId, priceCents: 100 })], { 'product:7': 'A' })
      expect(decision.attribution).toMatchObject({ affiliateId: null, reasonCode: 'NO_MATCH' })
    }
  })

  test('a variant id does not match a product connection', () => {
    expect(sold([line({ variantId: '7', priceCents: 1 })], { 'product:7': 'A' }).attribution.affiliateId).toBeNull()
  })

  test('a connection of somebody deleted counts for nobody', () => {
    const both = [line({ productId: '7', variantId: '8', priceCents: 100 })]
    expect(sold(both, { 'variant:8': 'gone', 'product:7': 'A' }).attribution.affiliateId).toBe('A')
    expect(sold(both, { 'variant:8': 'gone' }).attribution.reasonCode).toBe('NO_MATCH')
  })
})

describe('when nobody is attributed', () => {
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

  test('the kind that ranks highest in the shop speaks', () => {
    const settings = { precedence: [...PRECEDENCE_PRESETS['link-first']] }
    const input = facts({ order: { couponCode: 'x', clickId: 'y' }, settings })
    expect(decide(input).attribution.reasonCode).toBe('CLICK_NOT_FOUND')
  })

  test('an id named like a property of every object is nobody', () => {
    const matches = { couponCode: 'constructor', products: {} }
    const order = { couponCode: 'x', lines: [line({ productId: 'toString' })] }
    expect(decide(facts({ order, matches })).attribution.reasonCode).toBe('NO_MATCH')
  })
})
