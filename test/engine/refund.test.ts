import { describe, expect, test } from 'vitest'
import { couponFacts, facts, line, program } from './facts.ts'
import { amount, items, snapshotOf, targetAfter } from './snapshot.ts'

const nine = snapshotOf(couponFacts({ order: { discountCents: 1000 }, settings: { taxWithholdingBps: 1000 } }))

describe('percentages', () => {
  test.each([
    [[], 1440, 9000, false],
    [[3000], 960, 6000, false],
    [[3000, 3000], 480, 3000, false],
    [[3000, 3000, 3000], 0, 0, true],
    [[1], 1440, 8999, false],
    [[8999], 0, 1, false],
    [[8996], 1, 4, false],
    [[null], 0, 0, true],
    [[3000, null], 0, 0, true],
  ] as const)(
    '9000 cents at 1600 basis points after the refunds %j pay %i',
    (amounts, amountCents, remainingBaseCents, fullyRefunded) => {
      const target = targetAfter(nine, amounts.map(amount))
      expect(target).toMatchObject({
        amountCents,
        taxWithheldCents: Math.floor((amountCents * 1000 + 5000) / 10_000),
        remainingBaseCents,
        refundedCents: 9000 - remainingBaseCents,
        leftCents: remainingBaseCents,
        fullyRefunded,
      })
    },
  )

  test('the recorded rate counts, not the amount recorded', () => {
    const odd = snapshotOf(couponFacts({ order: { amountCents: 333 }, programs: [program({ rate: 1650 })] }))
    expect(targetAfter(odd, [amount(1)]).amountCents).toBe(55)
    expect(targetAfter(odd, [amount(3)]).amountCents).toBe(54)
  })
})

describe('flat rates', () => {
  const lines = [line({ variantId: '1', quantity: 3, priceCents: 1000 }), line({ productId: '2', priceCents: 500 })]
  const flat = (commissionType: 'FLAT_PER_ITEM' | 'FLAT_PER_ORDER', orderLines = lines) =>
    snapshotOf(
      couponFacts({
        order: { amountCents: 3500, lines: orderLines },
        programs: [program({ commissionType, rate: 250 })],
      }),
    )

  test('FLAT_PER_ITEM pays the remaining pieces', () => {
    const item = flat('FLAT_PER_ITEM')
    expect(targetAfter(item, []).amountCents).toBe(1000)
    expect(targetAfter(item, [items([{ variantId: '1', quantity: 2 }])]).amountCents).toBe(500)
    const all = [items([{ variantId: '1', quantity: 3 }]), items([{ productId: '2', quantity: 1 }])]
    expect(targetAfter(item, all)).toMatchObject({ amountCents: 0, fullyRefunded: true, leftCents: 0 })
  })

  test('an amount alone changes FLAT_PER_ITEM only when nothing is left', () => {
    const item = flat('FLAT_PER_ITEM')
    expect(targetAfter(item, [amount(3499)])).toMatchObject({ amountCents: 1000, fullyRefunded: false })
    expect(targetAfter(item, [amount(3499), amount(1)])).toMatchObject({ amountCents: 0, fullyRefunded: true })
  })

  test('FLAT_PER_ITEM without lines counts as one piece', () => {
    const bare = flat('FLAT_PER_ITEM', [])
    expect(targetAfter(bare, [amount(3499)]).amountCents).toBe(250)
    expect(targetAfter(bare, [amount(null)]).amountCents).toBe(0)
  })

  test('FLAT_PER_ORDER stays until nothing is left', () => {
    const order = flat('FLAT_PER_ORDER')
    expect(targetAfter(order, [amount(3499)])).toMatchObject({ amountCents: 250, fullyRefunded: false })
    expect(targetAfter(order, [items([{ variantId: '1', quantity: 3 }])]).amountCents).toBe(250)
    expect(targetAfter(order, [amount(3500)])).toMatchObject({ amountCents: 0, fullyRefunded: true })
  })

  test('where everything is free, the pieces decide, or a refund of everything', () => {
    const free = (orderLines = lines) =>
      snapshotOf(
        couponFacts({
          order: { amountCents: 3500, discountCents: 3500, lines: orderLines },
          programs: [program({ commissionType: 'FLAT_PER_ORDER', rate: 250 })],
        }),
      )
    expect(targetAfter(free(), [])).toMatchObject({ amountCents: 250, fullyRefunded: false, leftCents: 0 })
    expect(targetAfter(free(), [amount(0)]).amountCents).toBe(250)
    expect(targetAfter(free(), [items([{ variantId: '1', quantity: 3 }])]).amountCents).toBe(250)
    const all = [
      items([
        { variantId: '1', quantity: 3 },
        { productId: '2', quantity: 1 },
      ]),
    ]
    expect(targetAfter(free(), all)).toMatchObject({ amountCents: 0, fullyRefunded: true })
    expect(targetAfter(free(), [amount(null)])).toMatchObject({ amountCents: 0, fullyRefunded: true })
    expect(targetAfter(free([]), [amount(null)])).toMatchObject({ amountCents: 0, fullyRefunded: true })
  })
})

describe('rate groups', () => {
  const productRules = [
    { productId: '1', variantId: null, commissionType: 'PERCENT_OF_SALE' as const, rate: 5000 },
    { productId: '2', variantId: null, commissionType: 'FLAT_PER_ORDER' as const, rate: 70 },
  ]
  const lines = [
    line({ productId: '1', quantity: 2, priceCents: 1000 }),
    line({ productId: '2', priceCents: 1000 }),
    line({ productId: '3', priceCents: 1000 }),
  ]
  const mixed = snapshotOf(
    couponFacts({ order: { amountCents: null, lines }, programs: [program({ rate: 1000, productRules })] }),
  )

  test('share an amount pro rata', () => {
    expect(targetAfter(mixed, []).amountCents).toBe(1000 + 70 + 100)
    expect(targetAfter(mixed, [amount(2000)]).amountCents).toBe(500 + 70 + 50)
    expect(targetAfter(mixed, [amount(4000)])).toMatchObject({ amountCents: 0, fullyRefunded: true })
  })

  test('line items are taken from their own group', () => {
    expect(targetAfter(mixed, [items([{ productId: '1', quantity: 1 }])]).amountCents).toBe(500 + 70 + 100)
    expect(targetAfter(mixed, [items([{ productId: '3', quantity: 1 }])]).amountCents).toBe(1000 + 70)
    expect(targetAfter(mixed, [items([{ productId: '2', quantity: 1 }])]).amountCents).toBe(1000 + 100)
  })

  test('an amount with line items stays with their group', () => {
    expect(targetAfter(mixed, [items([{ productId: '3', quantity: 1 }], 500)]).amountCents).toBe(1000 + 70 + 50)
    expect(targetAfter(mixed, [items([{ productId: '1', quantity: 1 }], 1500)]).amountCents).toBe(250 + 70 + 100)
  })

  test('an amount beyond one group is shared by the others', () => {
    const target = targetAfter(mixed, [items([{ productId: '3', quantity: 1 }], 1600)])
    expect(target).toMatchObject({ amountCents: 800 + 70, remainingBaseCents: 2400 })
  })

  test('an amount after line items is shared by the remainder', () => {
    const target = targetAfter(mixed, [items([{ productId: '1', quantity: 2 }]), amount(1000)])
    expect(target).toMatchObject({ amountCents: 70 + 50, remainingBaseCents: 1000 })
  })
})

test('a free gift counts as refunded with the goods it came with', () => {
  const lines = [line({ productId: '1', priceCents: 1000 }), line({ productId: '2', priceCents: 0 })]
  const productRules = [{ productId: '2', variantId: null, commissionType: 'FLAT_PER_ITEM' as const, rate: 70 }]
  const gift = snapshotOf(couponFacts({ order: { amountCents: null, lines }, programs: [program({ productRules })] }))
  expect(targetAfter(gift, [amount(999)]).amountCents).toBe(70)
  expect(targetAfter(gift, [items([{ productId: '2', quantity: 1 }])])).toMatchObject({
    amountCents: 160,
    fullyRefunded: false,
  })
  expect(targetAfter(gift, [amount(1000)])).toMatchObject({ amountCents: 0, fullyRefunded: true })
  const paid = items([{ productId: '1', quantity: 1 }])
  expect(targetAfter(gift, [paid])).toMatchObject({ amountCents: 0, fullyRefunded: true, leftCents: 0 })
})

describe('CONNECTED_PRODUCT', () => {
  const lines = [line({ productId: '1', priceCents: 2000 }), line({ productId: '9', priceCents: 7000 })]
  const connected = snapshotOf(
    facts({ order: { amountCents: null, lines }, matches: { products: { 'product:1': 'A' } } }),
  )

  test('goods outside of the matched lines take their share of the amount and none of the commission', () => {
    expect(targetAfter(connected, [items([{ productId: '9', quantity: 1 }])])).toMatchObject({
      amountCents: 320,
      remainingBaseCents: 2000,
      leftCents: 2000,
      fullyRefunded: false,
    })
    expect(targetAfter(connected, [amount(4500)])).toMatchObject({ amountCents: 160, remainingBaseCents: 1000 })
  })

  test('nothing is left when the matched lines are refunded', () => {
    expect(targetAfter(connected, [items([{ productId: '1', quantity: 1 }])])).toMatchObject({
      amountCents: 0,
      remainingBaseCents: 0,
      leftCents: 7000,
      fullyRefunded: true,
    })
  })
})

test('a restricted commission stays at nothing', () => {
  const restricted = snapshotOf(couponFacts({ order: { customerEmail: 'A@example.com' } }))
  expect(targetAfter(restricted, [amount(4000)])).toMatchObject({
    amountCents: 0,
    taxWithheldCents: 0,
    remainingBaseCents: 6000,
    fullyRefunded: false,
  })
  expect(targetAfter(restricted, [amount(null)]).fullyRefunded).toBe(true)
})

test('units of lines that are named by their id leave the others to those of their variant', () => {
  const lines = [
    line({ id: 'a', variantId: '13', priceCents: 10_000 }),
    line({ id: 'b', variantId: '13', priceCents: 1000 }),
  ]
  const twice = snapshotOf(couponFacts({ order: { amountCents: null, lines } }))
  const [first, any] = [items([{ id: 'a', quantity: 1 }]), items([{ variantId: '13', quantity: 1 }])]
  expect(targetAfter(twice, [any])).toMatchObject({ refundedCents: 10_000 })
  expect(targetAfter(twice, [any, first])).toMatchObject({ refundedCents: 11_000, fullyRefunded: true })
  const free = items([{ id: 'a', quantity: 1, amountCents: 0 }])
  expect(targetAfter(twice, [any, free])).toMatchObject({ refundedCents: 1000, amountCents: 1600 })
})

test('units of a line that is worth less than a cent each count once, in any order', () => {
  const cheap = snapshotOf(
    couponFacts({
      order: { amountCents: 1, lines: [line({ id: 'a', quantity: 3 })] },
      programs: [program({ rate: 10_000 })],
    }),
  )
  const [unit, free] = [items([{ id: 'a', quantity: 1 }]), items([{ id: 'a', quantity: 1, amountCents: 0 }])]
  expect(targetAfter(cheap, [unit, unit, free])).toEqual(targetAfter(cheap, [free, unit, unit]))
  expect(targetAfter(cheap, [unit, unit, unit])).toMatchObject({ amountCents: 0, fullyRefunded: true })
})
