import { describe, expect, test } from 'vitest'
import { couponFacts, line } from './facts.ts'
import { amount, checkNext, items, snapshotOf } from './snapshot.ts'

describe('what a refund covers', () => {
  const lines = [
    line({ productId: '1', variantId: '11', quantity: 3, priceCents: 1000 }),
    line({ productId: '1', variantId: '12', quantity: 1, priceCents: 1000 }),
    line({ priceCents: 0 }),
  ]
  const order = snapshotOf(couponFacts({ order: { amountCents: null, discountCents: 400, lines } }))

  test('a given amount, or without one the remainder', () => {
    expect(checkNext(order, [], amount(100))).toEqual({ ok: true, amountCents: 100, leftCents: 3500 })
    expect(checkNext(order, [], amount(3600))).toEqual({ ok: true, amountCents: 3600, leftCents: 0 })
    expect(checkNext(order, [amount(100)], amount(null))).toEqual({ ok: true, amountCents: 3500, leftCents: 0 })
  })

  test('items cover their share of the line net of discount', () => {
    const one = items([{ variantId: '12', quantity: 1 }])
    expect(checkNext(order, [], one)).toEqual({ ok: true, amountCents: 900, leftCents: 2700 })
    const two = items([{ variantId: '11', quantity: 2 }])
    expect(checkNext(order, [one], two)).toEqual({ ok: true, amountCents: 1800, leftCents: 900 })
  })

  test('the pieces of a line that does not divide evenly add up to it', () => {
    const third = snapshotOf(
      couponFacts({ order: { amountCents: 1000, lines: [line({ productId: '1', quantity: 3 })] } }),
    )
    const piece = items([{ productId: '1', quantity: 1 }])
    const values = [0, 1, 2].map((earlier) => checkNext(third, Array(earlier).fill(piece), piece))
    expect(values.map((value) => value.ok && value.amountCents)).toEqual([333, 334, 333])
  })

  test('a product takes from its lines in order', () => {
    const four = items([{ productId: '1', quantity: 4 }])
    expect(checkNext(order, [], four)).toEqual({ ok: true, amountCents: 3600, leftCents: 0 })
  })

  test.each([
    ['more than the goods', [], amount(3601), 3600],
    ['more than is left', [amount(3000)], amount(601), 600],
    ['more pieces than there are', [], items([{ variantId: '12', quantity: 2 }]), 3600],
    [
      'pieces given back before',
      [items([{ variantId: '12', quantity: 1 }])],
      items([{ variantId: '12', quantity: 1 }]),
      2700,
    ],
    [
      'the same piece twice',
      [],
      items([
        { variantId: '12', quantity: 1 },
        { variantId: '12', quantity: 1 },
      ]),
      3600,
    ],
    ['items worth more than is left', [amount(3000)], items([{ variantId: '12', quantity: 1 }]), 600],
    ['an amount with items above what is left', [amount(3000)], items([{ variantId: '12', quantity: 1 }], 601), 600],
    ['everything once more', [amount(null)], amount(null), 0],
  ])('a refund is rejected as EXCEEDS_ORDER: %s', (_, earlier, next, leftCents) => {
    expect(checkNext(order, earlier, next)).toEqual({ ok: false, reason: 'EXCEEDS_ORDER', leftCents })
  })

  test.each([
    ['another variant', { variantId: '13', quantity: 1 }],
    ['a variant of a matching product', { variantId: '13', productId: '1', quantity: 1 }],
    ['a global id', { productId: 'gid://shopify/Product/1', quantity: 1 }],
    ['no id', { quantity: 1 }],
    ['ids that are null', { variantId: null, productId: null, quantity: 1 }],
  ])('a refund is rejected as UNKNOWN_ITEM: %s', (_, item) => {
    expect(checkNext(order, [], items([item]))).toMatchObject({ ok: false, reason: 'UNKNOWN_ITEM' })
  })
})
