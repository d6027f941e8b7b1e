import { describe, expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import { facts, line } from './facts.ts'

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

  test('all are listed: the winner first, then the others by total, unconnected products last', () => {
    const lines = ['9', '1', '8', '2', '7'].map((productId, i) => line({ productId, priceCents: 100 + i }))
    const shown = (order: typeof lines) =>
      sold(order, { 'product:1': 'A', 'product:2': 'B' }).candidates.map(({ value, affiliateId }) => [
        value,
        affiliateId,
      ])
    const last = (values: string[]) => values.map((value) => [value, null])
    expect(shown(lines)).toEqual([['2', 'B'], ['1', 'A'], ...last(['9', '8', '7'])])
    expect(shown(lines.toReversed())).toEqual([['2', 'B'], ['1', 'A'], ...last(['7', '8', '9'])])
  })

  test('two products of the winner are adjacent, in input order', () => {
    const lines = ['1', '2', '3'].map((productId) => line({ productId, priceCents: 100 }))
    const decision = sold(lines, { 'product:1': 'A', 'product:2': 'B', 'product:3': 'A' })
    expect(decision.candidates.map(({ value }) => value)).toEqual(['1', '3', '2'])
  })

  test('line totals are compared before the discount', () => {
    const lines = [line({ productId: '1', priceCents: 101 }), line({ productId: '2', priceCents: 100 })]
    const order = { amountCents: null, discountCents: 101, lines }
    const decision = decide(facts({ order, matches: { products: { 'product:1': 'B', 'product:2': 'A' } } }))
    expect(decision).toMatchObject({ attribution: { affiliateId: 'B' }, baseCents: 50 })
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

  test('a connection to a deleted affiliate is ignored', () => {
    const both = [line({ productId: '7', variantId: '8', priceCents: 100 })]
    expect(sold(both, { 'variant:8': 'gone', 'product:7': 'A' }).attribution.affiliateId).toBe('A')
    expect(sold(both, { 'variant:8': 'gone' }).attribution.reasonCode).toBe('NO_MATCH')
  })
})
