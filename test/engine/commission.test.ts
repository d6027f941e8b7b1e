import { describe, expect, test } from 'vitest'
import { goodsOf } from '../../server/src/engine/commission.ts'
import { decide } from '../../server/src/engine/decide.ts'
import type { CommissionType, Order, ProductRule, ProgramFact } from '../../server/src/engine/facts.ts'
import { couponFacts, facts, line, program } from './facts.ts'

function rule(
  id: { productId: string } | { variantId: string },
  rate: number,
  commissionType: CommissionType = 'PERCENT_OF_SALE',
): ProductRule {
  return { productId: null, variantId: null, ...id, commissionType, rate }
}

function pay(order: Partial<Order>, rules: Partial<ProgramFact> = {}) {
  return decide(couponFacts({ order, programs: [program(rules)] }))
}

describe('goods', () => {
  test('shipping and tax are never in the base', () => {
    expect(pay({ shippingCents: 999, taxCents: 777 }).baseCents).toBe(10_000)
  })

  test('line totals replace a missing amount', () => {
    const lines = [line({ quantity: 3, priceCents: 250 }), line({ priceCents: 50 })]
    expect(pay({ amountCents: null, lines })).toMatchObject({ subtotalCents: 800, baseCents: 800, amountCents: 128 })
  })

  test('the amount sent is the subtotal whatever the lines add up to', () => {
    for (const priceCents of [1, 999_999]) {
      expect(pay({ lines: [line({ priceCents })] })).toMatchObject({ subtotalCents: 10_000, baseCents: 10_000 })
    }
  })

  test('the discount is spread by line total, largest remainder first, ties to the first line', () => {
    const lines = [line({ priceCents: 100 }), line({ priceCents: 100 }), line({ priceCents: 101 })]
    const order = { amountCents: null, discountCents: 100, lines }
    expect(goodsOf(order)).toEqual({ subtotal: 301, base: 201, gross: [100, 100, 101], net: [67, 67, 67], restNet: 0 })
    const equal = { amountCents: 300, discountCents: 100, lines: [1, 2, 3].map(() => line({ priceCents: 100 })) }
    expect(goodsOf(equal).net).toEqual([66, 67, 67])
  })

  test('unpriced lines share what priced lines leave, by quantity', () => {
    const lines = [line({ priceCents: 400 }), line({ quantity: 1 }), line({ quantity: 2 })]
    expect(goodsOf({ amountCents: 1000, discountCents: 0, lines }).gross).toEqual([400, 200, 400])
    expect(goodsOf({ amountCents: 900, discountCents: 0, lines }).gross).toEqual([400, 167, 333])
    expect(goodsOf({ amountCents: 400, discountCents: 0, lines }).gross).toEqual([400, 0, 0])
  })

  test('lines above the amount shrink to it', () => {
    const lines = [line({ priceCents: 600 }), line({ priceCents: 600 }), line()]
    const goods = goodsOf({ amountCents: 1000, discountCents: 0, lines })
    expect(goods).toMatchObject({ gross: [500, 500, 0], restNet: 0 })
  })

  test('the amount outside of all lines keeps its share of the discount', () => {
    const goods = goodsOf({ amountCents: 1000, discountCents: 100, lines: [line({ priceCents: 400 })] })
    expect(goods).toEqual({ subtotal: 1000, base: 900, gross: [400], net: [360], restNet: 540 })
  })

  test('line totals beyond 2^53 are split exactly', () => {
    const huge = line({ quantity: 2_147_483_647, priceCents: 2_147_483_647 })
    const goods = goodsOf({
      amountCents: 2_147_483_647,
      discountCents: 1,
      lines: [huge, huge, line({ priceCents: 1 })],
    })
    expect(goods.gross).toEqual([1_073_741_824, 1_073_741_823, 0])
    expect(goods.net.reduce((total, cents) => total + cents, goods.restNet)).toBe(2_147_483_646)
  })
})

describe('rates', () => {
  test.each([
    ['PERCENT_OF_SALE', 1600, [line({ quantity: 3 })], 1600],
    ['FLAT_PER_ORDER', 700, [line({ quantity: 3 })], 700],
    ['FLAT_PER_ORDER', 700, [], 700],
    ['FLAT_PER_ITEM', 250, [line({ quantity: 3 }), line({ quantity: 2 })], 1250],
    ['FLAT_PER_ITEM', 250, [], 250],
    ['FLAT_PER_ITEM', 20_000, [line()], 20_000],
  ] as const)('a rate of type %s with %i pays for the lines %j: %i', (commissionType, rate, lines, amountCents) => {
    const decision = pay({ lines: [...lines] }, { commissionType, rate })
    expect(decision).toMatchObject({
      amountCents,
      commissionType,
      rateBps: commissionType === 'PERCENT_OF_SALE' ? rate : 0,
    })
    expect(decision.groups).toMatchObject([{ commissionType, rate, baseCents: 10_000, amountCents }])
  })

  test('tax withheld is rounded half up from the amount', () => {
    const taxed = (amountCents: number, taxWithholdingBps: number) =>
      decide(
        couponFacts({ order: { amountCents }, programs: [program({ rate: 10_000 })], settings: { taxWithholdingBps } }),
      ).taxWithheldCents
    expect(taxed(1440, 1000)).toBe(144)
    expect(taxed(5, 1000)).toBe(1)
    expect(taxed(4, 1000)).toBe(0)
    expect(taxed(2_147_483_647, 10_000)).toBe(2_147_483_647)
  })

  test('APPROVED only when the program auto-approves orders', () => {
    expect(pay({}, { autoApproveOrder: true }).status).toBe('APPROVED')
    expect(pay({}, { autoApproveOrder: false }).status).toBe('PENDING')
  })

  test.each([
    [true, { customerId: 'c' }, true],
    [true, { customerEmail: 'c@example.com' }, true],
    [true, { customerId: ' ' }, false],
    [true, {}, false],
    [false, { customerId: 'c' }, false],
  ])(
    'a program with lifetimeCommission %j and the customer %j: connectsCustomer is %j',
    (lifetimeCommission, order, expected) => {
      expect(pay(order, { lifetimeCommission }).connectsCustomer).toBe(expected)
    },
  )
})

describe('product rules', () => {
  const lines = [
    line({ productId: '1', variantId: '11', priceCents: 1000 }),
    line({ productId: '1', variantId: '12', priceCents: 2000 }),
    line({ productId: '2', priceCents: 3000 }),
  ]

  test('the variant rules before the product, both before the program', () => {
    const productRules = [rule({ productId: '1' }, 1000), rule({ variantId: '12' }, 500)]
    const decision = pay({ amountCents: null, lines }, { productRules })
    expect(decision.groups).toEqual([
      { commissionType: 'PERCENT_OF_SALE', rate: 1600, baseCents: 3000, quantity: 1, amountCents: 480, lines: [2] },
      { commissionType: 'PERCENT_OF_SALE', rate: 1000, baseCents: 1000, quantity: 1, amountCents: 100, lines: [0] },
      { commissionType: 'PERCENT_OF_SALE', rate: 500, baseCents: 2000, quantity: 1, amountCents: 100, lines: [1] },
    ])
    expect(decision).toMatchObject({ amountCents: 680, baseCents: 6000, rateBps: 1600 })
  })

  test('lines of the same rate are rounded once', () => {
    const productRules = [rule({ productId: '1' }, 100), rule({ productId: '2' }, 100)]
    const cheap = [line({ productId: '1', priceCents: 30 }), line({ productId: '2', priceCents: 30 })]
    expect(pay({ amountCents: null, lines: cheap }, { productRules })).toMatchObject({
      amountCents: 1,
      groups: [{ lines: [0, 1] }],
    })
  })

  test('groups of different rates are rounded each', () => {
    const productRules = [rule({ productId: '1' }, 101)]
    const cheap = [line({ productId: '1', priceCents: 50 }), line({ productId: '2', priceCents: 50 })]
    expect(pay({ amountCents: null, lines: cheap }, { rate: 100, productRules }).amountCents).toBe(2)
  })

  test('the program rate applies to the amount outside of all lines', () => {
    const productRules = [rule({ productId: '1' }, 1000)]
    const order = { amountCents: 1500, discountCents: 150, lines: [line({ productId: '1', priceCents: 1000 })] }
    expect(pay(order, { productRules }).groups).toEqual([
      { commissionType: 'PERCENT_OF_SALE', rate: 1600, baseCents: 450, quantity: 0, amountCents: 72, lines: [] },
      { commissionType: 'PERCENT_OF_SALE', rate: 1000, baseCents: 900, quantity: 1, amountCents: 90, lines: [0] },
    ])
  })

  test('a flat program pays nothing itself when rules cover the order', () => {
    const productRules = [rule({ productId: '1' }, 1000)]
    const order = { amountCents: null, lines: [line({ productId: '1', priceCents: 1000 })] }
    expect(pay(order, { commissionType: 'FLAT_PER_ORDER', rate: 700, productRules }).amountCents).toBe(100)
  })

  test('FLAT_PER_ITEM and FLAT_PER_ORDER rules pay per group', () => {
    const productRules = [rule({ productId: '1' }, 50, 'FLAT_PER_ITEM'), rule({ productId: '2' }, 70, 'FLAT_PER_ORDER')]
    const order = {
      amountCents: 1000,
      lines: [line({ productId: '1', quantity: 4 }), line({ productId: '2', quantity: 9 })],
    }
    expect(pay(order, { productRules }).amountCents).toBe(4 * 50 + 70)
  })

  test('a product rule does not match a variant of the same number', () => {
    const order = { amountCents: 1000, lines: [line({ variantId: '1' })] }
    expect(pay(order, { productRules: [rule({ productId: '1' }, 1)] }).amountCents).toBe(160)
  })

  test('a line without ids follows the program', () => {
    const productRules = [rule({ productId: '1' }, 1), rule({ variantId: '1' }, 2)]
    expect(pay({ lines: [line()] }, { productRules }).amountCents).toBe(1600)
  })

  test('the same number means another rate for another type', () => {
    const productRules = [rule({ productId: '1' }, 1600, 'FLAT_PER_ORDER')]
    const order = { amountCents: 2000, lines: [line({ productId: '1' }), line({ productId: '2' })] }
    expect(pay(order, { productRules }).amountCents).toBe(160 + 1600)
  })
})

describe('CONNECTED_PRODUCT', () => {
  const lines = [
    line({ productId: '1', priceCents: 6000 }),
    line({ productId: '2', priceCents: 3000, quantity: 1 }),
    line({ productId: '1', priceCents: 500, quantity: 2 }),
  ]
  const connected = (rules: Partial<ProgramFact> = {}) =>
    decide(
      facts({
        order: { amountCents: null, discountCents: 1000, lines },
        matches: { products: { 'product:1': 'A' } },
        programs: [program(rules)],
      }),
    )

  test('pays on the matched lines less their share of the discount', () => {
    expect(connected()).toMatchObject({
      subtotalCents: 10_000,
      baseCents: 6300,
      amountCents: 1008,
      groups: [{ baseCents: 6300, quantity: 3, lines: [0, 2] }],
    })
  })

  test('counts the matched pieces only', () => {
    expect(connected({ commissionType: 'FLAT_PER_ITEM', rate: 100 }).amountCents).toBe(300)
  })

  test('never pays on the amount outside of all lines', () => {
    const decision = decide(
      facts({
        order: { amountCents: 20_000, lines },
        matches: { products: { 'product:2': 'A' } },
      }),
    )
    expect(decision).toMatchObject({ baseCents: 3000, amountCents: 480, groups: [{ baseCents: 3000, lines: [1] }] })
  })

  test('another affiliate with more evidence of a higher kind is paid on the whole order', () => {
    const decision = decide(
      facts({
        order: { amountCents: null, lines, couponCode: 'x' },
        matches: { products: { 'product:1': 'A' }, couponCode: 'B' },
      }),
    )
    expect(decision).toMatchObject({ attribution: { affiliateId: 'B' }, baseCents: 10_000 })
  })

  test('ZERO_BASE when the matched lines are free', () => {
    const decision = decide(
      facts({
        order: { amountCents: null, lines: [line({ productId: '1', priceCents: 0 }), line({ priceCents: 500 })] },
        matches: { products: { 'product:1': 'A' } },
      }),
    )
    expect(decision).toMatchObject({ restrictionReasonCode: 'ZERO_BASE', baseCents: 0, subtotalCents: 500 })
  })
})
