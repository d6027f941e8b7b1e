import { describe, expect, test } from 'vitest'
import { decide, ENGINE_VERSION } from '../../server/src/engine/decide.ts'
import { at, click, couponFacts, facts, line, program } from './facts.ts'

const DAY = 86_400_000

describe('amounts', () => {
  test.each([
    { amountCents: 10_000, discountCents: 1000, bps: 1600, base: 9000, amount: 1440 },
    { amountCents: 333, discountCents: 0, bps: 1650, base: 333, amount: 55 },
    { amountCents: 50, discountCents: 0, bps: 100, base: 50, amount: 1 },
    { amountCents: 49, discountCents: 0, bps: 100, base: 49, amount: 0 },
    { amountCents: 2_147_483_647, discountCents: 0, bps: 10_000, base: 2_147_483_647, amount: 2_147_483_647 },
  ])('$amountCents - $discountCents at $bps bps pays $amount', ({ amountCents, discountCents, bps, base, amount }) => {
    const decision = decide(couponFacts({ order: { amountCents, discountCents }, programs: [program({ rate: bps })] }))
    expect(decision).toMatchObject({
      engineVersion: ENGINE_VERSION,
      eligible: true,
      restrictionReasonCode: null,
      status: 'PENDING',
      subtotalCents: amountCents,
      baseCents: base,
      amountCents: amount,
      rateBps: bps,
    })
  })

  test('FLAT_PER_ITEM 250 on three items pays 750', () => {
    const decision = decide(
      couponFacts({
        order: { lines: [line({ quantity: 2 }), line()] },
        programs: [program({ commissionType: 'FLAT_PER_ITEM', rate: 250 })],
      }),
    )
    expect(decision).toMatchObject({ amountCents: 750, rateBps: 0, commissionType: 'FLAT_PER_ITEM' })
  })

  test('ZERO_BASE when the discount passes the subtotal', () => {
    const decision = decide(couponFacts({ order: { amountCents: 1000, discountCents: 1500 } }))
    expect(decision).toMatchObject({
      status: 'REJECTED',
      restrictionReasonCode: 'ZERO_BASE',
      baseCents: 0,
      amountCents: 0,
    })
  })
})

test('every decision contains the engine version, even without attribution', () => {
  expect(ENGINE_VERSION).toMatch(/^\d+$/)
  expect([decide(facts()), decide(couponFacts())].map((one) => one.engineVersion)).toEqual([
    ENGINE_VERSION,
    ENGINE_VERSION,
  ])
})

describe('evidence', () => {
  const coupon = { couponCode: 'AAA', clickId: 'jrn_1' }
  const matches = { couponCode: 'A', click: click('B') }

  test('the coupon of A beats the click of B', () => {
    const decision = decide(facts({ order: coupon, matches }))
    expect(decision.attribution).toEqual({
      affiliateId: 'A',
      method: 'COUPON',
      confidence: 1,
      reasonCode: 'COUPON_MATCH',
    })
  })

  test('SELF_REFERRAL does not fall through to the click of B', () => {
    const decision = decide(facts({ order: { ...coupon, customerEmail: ' a+shop@EXAMPLE.com' }, matches }))
    expect(decision).toMatchObject({
      attribution: { affiliateId: 'A' },
      status: 'REJECTED',
      restrictionReasonCode: 'SELF_REFERRAL',
      eligible: false,
      amountCents: 0,
    })
  })

  test('a click exactly 30 days before the order counts, 1 ms earlier it does not', () => {
    const inside = facts({ order: { clickId: 'jrn_1' }, matches: { click: click('A', at(-30 * DAY)) } })
    expect(decide(inside).attribution).toMatchObject({ affiliateId: 'A', confidence: 0.95, reasonCode: 'CLICK_MATCH' })
    const outside = facts({ order: { clickId: 'jrn_1' }, matches: { click: click('A', at(-30 * DAY - 1)) } })
    expect(decide(outside).attribution).toEqual({
      affiliateId: null,
      method: null,
      confidence: 0,
      reasonCode: 'CLICK_EXPIRED',
    })
  })
})
