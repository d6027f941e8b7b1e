// Full: it compares a clock with a bound.
// SQLite only: the time measured is that of the arithmetic, not of the database.
import { expect } from 'vitest'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { Till } from './money.ts'

const LINES = 200
const ITEMS = 1000

let till: Till
test.beforeAll(async ({ server }) => {
  till = new Till(server)
  await till.affiliate()
})

const variants = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ variantId: `${i % LINES}`, quantity: 1 }))

/** Milliseconds that each of these refunds takes. */
async function refundTimes(id: string, names: string[]): Promise<number[]> {
  const times: number[] = []
  for (const externalRefundId of names) {
    const start = performance.now()
    const body = { externalRefundId, lineItems: variants(ITEMS) }
    await expectOk(till.admin('POST', `/commissions/${id}/refund`, body))
    times.push(performance.now() - start)
  }
  return times
}

test('a refund takes no longer after many earlier refunds', async () => {
  const lineItems = variants(LINES).map((line) => ({ ...line, quantity: 1000, priceCents: 100 }))
  const [warm, id] = [
    await till.order({ amountCents: undefined, lineItems }),
    await till.order({ amountCents: undefined, lineItems }),
  ]
  const names = Array.from({ length: 40 }, (_, i) => `r-${i}`)
  await refundTimes(warm, names.slice(0, 5))
  const times = await refundTimes(id, names)
  // Reading the earlier refunds again makes the last ones about 40 times as slow as the first.
  expect(Math.min(...times.slice(-5))).toBeLessThan(5 * Math.min(...times.slice(0, 5)))
  expect((await till.row(id)).commissionAmountCents).toBe(((LINES * 1000 - 40 * ITEMS) * 100 * 1600) / 10_000)
})
