import { describe, expect } from 'vitest'
import type { ProductRuleRow } from '../../server/src/database/tables.ts'
import { insertRow } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server, { code: 'NISA' })
})

let orders = 0
async function rowFor(server: TestServer, more: object) {
  const externalOrderId = `o-${++orders}`
  const reply = await convert(server, { externalOrderId, couponCode: 'NISA', ...more })
  expect(reply.body).not.toHaveProperty('error')
  return (await server.client.commissions.list({ externalOrderId })).data[0]!
}
const subtotal = async (server: TestServer, more: object) => (await rowFor(server, more)).orderSubtotalCents

describe('without amountCents the subtotal is the sum of the lines', () => {
  test.for([
    [[{ priceCents: 2500, quantity: 2 }, { priceCents: 4000 }], 9000],
    [[{ priceCents: 333, quantity: null }], 333],
    [[{ priceCents: 0 }, { priceCents: 1, quantity: 3 }], 3],
    [[{ priceCents: 2147483647 }], 2147483647],
  ])('the lines %j have a subtotal of %d cents', async ([lineItems, expected], { server }) => {
    expect(await subtotal(server, { lineItems })).toBe(expected)
  })

  test.for([
    [[{ priceCents: 100 }, {}], 'lineItems[1].priceCents'],
    [[{ priceCents: null }], 'lineItems[0].priceCents'],
    [[{ priceCents: 2147483647 }, { priceCents: 1 }], 'lineItems'],
    [[{ priceCents: 2147483647, quantity: 1000000 }], 'lineItems'],
    [[{ priceCents: -1 }], 'lineItems[0].priceCents'],
    [[{ priceCents: 1, quantity: 0 }], 'lineItems[0].quantity'],
    [[{ priceCents: 1, quantity: 1.5 }], 'lineItems[0].quantity'],
    [[{ priceCents: 1 }, { priceCents: 1, productId: 7001 }], 'lineItems[1].productId'],
    [[null], 'lineItems[0]'],
    [Array(1001).fill({ priceCents: 1 }), 'lineItems'],
  ])('400 for lines like %j: %s', async ([lineItems, field], { server }) => {
    const reply = await convert(server, { externalOrderId: 'bad', lineItems })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  })
})

test('amountCents takes precedence over the lines as subtotal', async ({ server }) => {
  for (const lineItems of [[{ priceCents: 1 }], [{ priceCents: 50_000 }], [{}, { quantity: 3 }], []])
    expect(await subtotal(server, { amountCents: 10_000, lineItems })).toBe(10_000)
})

test('400 for 10,000 lines, naming the field', async ({ server }) => {
  const reply = await convert(server, { externalOrderId: 'many', lineItems: Array(10_000).fill({ priceCents: 1 }) })
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'lineItems' })
})

describe('product rules', () => {
  test.beforeAll(async ({ server }) => {
    const { program } = await withAffiliate(server, { code: 'RULES', email: 'rules@example.com' })
    const rule = (
      kind: ProductRuleRow['kind'],
      value: string,
      commissionType: ProductRuleRow['commissionType'],
      rate: number,
    ) =>
      insertRow(server, 'productRules', {
        id: server.deps.newId('rul'),
        shopId: server.shop.shopId,
        programId: program.id,
        kind,
        value,
        commissionType,
        rate,
        createdAt: new Date(server.clock.ms).toISOString(),
      })
    rule('product', '7001', 'PERCENT_OF_SALE', 5000)
    rule('variant', '9001', 'FLAT_PER_ITEM', 250)
    rule('product', '7003', 'FLAT_PER_ORDER', 100)
  })
  const amount = async (server: TestServer, more: object) =>
    (await rowFor(server, { couponCode: 'RULES', ...more })).commissionAmountCents

  test('a product is paid at its own rate, the rest at the rate of the program', async ({ server }) => {
    expect(
      await amount(server, {
        lineItems: [
          { productId: '7001', priceCents: 1000 },
          { productId: '7002', priceCents: 1000 },
        ],
      }),
    ).toBe(500 + 160)
  })

  test('a variant rule takes precedence over the rule of its product', async ({ server }) => {
    expect(
      await amount(server, { lineItems: [{ productId: '7001', variantId: '9001', quantity: 3, priceCents: 1000 }] }),
    ).toBe(750)
    expect(
      await amount(server, { lineItems: [{ productId: '7001', variantId: '9002', quantity: 3, priceCents: 1000 }] }),
    ).toBe(1500)
  })

  test('a global id matches nothing', async ({ server }) => {
    const lineItems = [
      { productId: 'gid://shopify/Product/7001', variantId: 'gid://shopify/ProductVariant/9001', priceCents: 1000 },
    ]
    expect(await amount(server, { lineItems })).toBe(160)
  })

  test('the discount is spread over the lines by their totals', async ({ server }) => {
    const lineItems = [
      { productId: '7001', priceCents: 3000 },
      { productId: '7002', priceCents: 1000 },
    ]
    // 1000 off: 750 of the first line, 250 of the second.
    expect(await amount(server, { lineItems, discountCents: 1000 })).toBe(1125 + 120)
  })

  test('lines without a price share the remainder, by quantity', async ({ server }) => {
    const lineItems = [
      { productId: '7002', priceCents: 4000 },
      { productId: '7001', quantity: 1 },
      { productId: '7002', quantity: 2 },
    ]
    // 10,000 less 4,000: 2,000 for the single piece at 50%, the other 8,000 at 16%.
    expect(await amount(server, { amountCents: 10_000, lineItems })).toBe(1000 + 1280)
  })

  test('a flat rate per order is owed once, in addition to the rest', async ({ server }) => {
    const lineItems = [
      { productId: '7003', quantity: 5, priceCents: 100 },
      { productId: '7003', priceCents: 100 },
      { productId: '7002', priceCents: 1000 },
    ]
    expect(await amount(server, { lineItems })).toBe(100 + 160)
  })
})

describe('flat programs', () => {
  test('FLAT_PER_ORDER pays the same cents for any order', async ({ server }) => {
    await withAffiliate(server, { code: 'FLAT', program: { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5.5 } })
    for (const more of [{ amountCents: 10_000 }, { amountCents: 0 }, { amountCents: 100, discountCents: 500 }]) {
      const row = await rowFor(server, { couponCode: 'FLAT', ...more })
      expect([row.commissionAmountCents, row.commissionRateBps, row.commissionType, row.restrictionReasonCode]).toEqual(
        [550, 0, 'FLAT_PER_ORDER', null],
      )
    }
  })

  test('FLAT_PER_ITEM pays for each piece, for one without lines', async ({ server }) => {
    await withAffiliate(server, { code: 'ITEM', program: { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5 } })
    const amount = async (more: object) => (await rowFor(server, { couponCode: 'ITEM', ...more })).commissionAmountCents
    expect(await amount({ amountCents: 10_000 })).toBe(250)
    expect(await amount({ amountCents: 10_000, lineItems: [{ quantity: 2 }, {}] })).toBe(750)
  })

  test('the largest flat amount for the most pieces is still exact', async ({ server }) => {
    const program = { commissionType: 'FLAT_PER_ITEM', commissionPercent: 21474836.47 }
    await withAffiliate(server, { code: 'MAX', program })
    const row = await rowFor(server, { couponCode: 'MAX', amountCents: 1, lineItems: [{ quantity: 999_999 }] })
    expect(row.commissionAmountCents).toBe(2_147_483_647 * 999_999)
    const most = { externalOrderId: 'most', amountCents: 1, lineItems: [{ quantity: 1_000_000 }, {}] }
    const rejected = { status: 400, code: 'invalid_body', field: 'lineItems' }
    expect(rejectionOf(await convert(server, most))).toEqual(rejected)
  })
})

test('tax withheld is the shop’s share of the commission, rounded half up', async ({ server, owner }) => {
  await expectOk(owner('PATCH', '/settings', { taxWithholdingBps: 1250 }))
  const row = await rowFor(server, { amountCents: 10_025 })
  await expectOk(owner('PATCH', '/settings', { taxWithholdingBps: 0 }))
  expect([row.commissionAmountCents, row.taxWithheldCents]).toEqual([1604, 201])
})
