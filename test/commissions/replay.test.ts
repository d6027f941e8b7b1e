import fc from 'fast-check'
import { expect } from 'vitest'
import { ENGINE_VERSION } from '../../server/src/engine/decide.ts'
import { rowOf, updateRows } from '../support/inspect.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { Till } from './money.ts'

const ORDERS = process.env.TEST_ENGINE === 'postgres' ? 200 : 1000
const AT_ONCE = 50

test.beforeAll(async ({ server, owner }) => {
  const till = new Till(server)
  const affiliates = [
    await till.affiliate('AAA'),
    await till.affiliate('BBB', { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5, autoApproveOrder: false }),
    await till.affiliate('CCC', { cookieDurationDays: 7 }),
    await till.affiliate('DDD', { commissionType: 'FLAT_PER_ORDER', commissionPercent: 9 }),
  ]
  const [a, b, c, d] = affiliates.map(({ id }) => id)
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${d}`, { body: { status: 'PENDING' } }))
  await expectOk(owner('PATCH', '/settings', { taxWithholdingBps: 777 }))
  await expectOk(owner('PUT', `/geo-rules/${affiliates[2].campaignId}`, { countries: ['US'], postalPrefixes: ['9'] }))
  for (const [kind, value, affiliateId] of [
    ['customerId', 'c-1', a],
    ['customerEmail', 'known@example.com', b],
    ['product', '1', c],
    ['variant', '11', a],
  ])
    await expectOk(owner('POST', '/connections', { kind, value, affiliateId }))
  for (const [value, commissionPercent] of [
    ['1', 25],
    ['2', 3.33],
  ])
    await expectOk(
      owner('POST', '/product-rules', {
        programId: affiliates[0].campaignId,
        kind: 'product',
        value,
        commissionPercent,
      }),
    )
  for (const [index, affiliateId] of [a, b, c].entries())
    for (const day of ['01', '12', '19'])
      await expectOk(
        server.request('POST', '/api/v1/events', {
          body: {
            type: 'click',
            affiliateId,
            clickId: `k-${index}-${day}`,
            sessionId: `s-${index}`,
            occurredAt: `2026-10-${day}T00:00:00Z`,
          },
        }),
      )
})

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const cents = fc.integer({ min: 0, max: 50_000 })
const line = fc.record({
  productId: maybe(fc.constantFrom('1', '2', '3')),
  variantId: maybe(fc.constantFrom('11', '12')),
  quantity: fc.integer({ min: 1, max: 5 }),
  priceCents: cents,
})
const order = fc.record({
  amountCents: cents,
  discountCents: maybe(cents),
  shippingCents: maybe(cents),
  taxCents: maybe(cents),
  couponCode: maybe(fc.constantFrom('AAA', ' bbb ', 'CCC', 'DDD', 'NOBODY')),
  affiliateCode: maybe(fc.constantFrom('AAA', 'nisa-karim', 'x')),
  ref: maybe(fc.constantFrom('nisa-karim', 'nisa-karim-2', 'nobody')),
  clickId: maybe(fc.constantFrom('k-0-01', 'k-1-12', 'k-2-19', 'none')),
  sessionId: maybe(fc.constantFrom('s-0', 's-1', 's-2', 's-9')),
  customerId: maybe(fc.constantFrom('c-1', 'c-2')),
  customerEmail: maybe(fc.constantFrom('Known@example.com', 'é@example.com', 'other@example.com')),
  lineItems: maybe(fc.array(line, { minLength: 1, maxLength: 4 })),
  shipping: maybe(
    fc.record({ country: maybe(fc.constantFrom('US', 'DE')), postalCode: maybe(fc.constantFrom('90001', '10115')) }),
  ),
  occurredAt: fc.constantFrom('2026-10-20T00:00:00Z', '2026-10-11T00:00:00Z', '2026-11-02T11:59:59.999Z'),
})

async function inLots<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  for (let start = 0; start < count; start += AT_ONCE)
    done.push(
      ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - start) }, (_, i) => work(start + i)))),
    )
  return done
}

test(`${ORDERS} random orders: replaying the stored facts gives byte-identical decisions`, async ({
  server,
  owner,
}) => {
  const orders = fc.sample(order, { numRuns: ORDERS, seed: 20_261_120 })
  await inLots(ORDERS, (i) => expectOk(convert(server, { externalOrderId: `o-${i}`, ...orders[i] })))
  const explained = await inLots(ORDERS, (i) => expectOk(owner('GET', `/orders/o-${i}/explanation`)))
  expect(explained.filter(({ replay }) => !replay.identical).map(({ orderId }) => orderId)).toEqual([])
  // The sample is worth something: every outcome and most reasons are in it.
  expect(new Set(explained.map(({ outcome }) => outcome))).toEqual(new Set(['CREDITED', 'RESTRICTED', 'NOBODY']))
  expect(new Set(explained.map(({ decision }) => decision.attribution.reasonCode)).size).toBeGreaterThan(8)
  for (const { arithmetic, decision, commission } of explained) {
    const groups = arithmetic.filter(({ step }: { step: string }) => step === 'group')
    const sum = groups.reduce((total: number, one: { cents: number }) => total + one.cents, 0)
    expect([sum, commission?.commissionAmountCents ?? 0]).toEqual([decision.amountCents, decision.amountCents])
  }
})

test('modified facts do not give the recorded decision', async ({ server, owner }) => {
  const { facts } = rowOf(server, 'orders', { orderId: 'api:o-1' })
  const modified = facts.replaceAll('"amountCents":', '"amountCents":1')
  expect(modified).not.toBe(facts)
  updateRows(server, 'orders', { facts: modified }, { orderId: 'api:o-1' })
  const { replay } = await expectOk(owner('GET', '/orders/o-1/explanation'))
  expect(replay.identical).toBe(false)
})

test('an order that an earlier engine version decided the same way is identical', async ({ server, owner }) => {
  const { decision } = rowOf(server, 'orders', { orderId: 'api:o-2' })
  const earlier = decision.replace(`"engineVersion":"${ENGINE_VERSION}"`, '"engineVersion":"1"')
  expect(earlier).not.toBe(decision)
  updateRows(server, 'orders', { decision: earlier }, { orderId: 'api:o-2' })
  const { replay } = await expectOk(owner('GET', '/orders/o-2/explanation'))
  expect(replay).toMatchObject({ identical: true, engineVersion: ENGINE_VERSION, recordedEngineVersion: '1' })
})
