// PostgreSQL only: SQLite has no round trips.
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  await withAffiliate(server)
})
afterAll(() => server.close())

/** The round trips of the transaction that `work` causes: statements sent without waiting for a result share one. */
async function roundTripsOf(work: () => Promise<unknown>): Promise<number> {
  let trips = 0
  let isAnswered = true
  let writer: unknown
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    if (args[0] === 'begin') writer = this
    const sent = (query as (...all: unknown[]) => unknown).apply(this, args) as Promise<unknown>
    if (this !== writer) return sent as never
    if (isAnswered) trips++
    isAnswered = false
    const answered = () => {
      isAnswered = true
    }
    sent.then(answered, answered)
    return sent as never
  })
  await work()
  spy.mockRestore()
  return trips
}

let count = 0
const order = (body: object) => () =>
  expectOk(convert(server, { externalOrderId: `trips-${++count}`, amountCents: 1000, ...body }))

test('an order with a code and a customer takes three round trips, and one without evidence two', async () => {
  await order({ couponCode: 'NISA16' })()
  expect(await roundTripsOf(order({ couponCode: 'NISA16', customerEmail: 'buyer@example.com' }))).toBe(3)
  expect(await roundTripsOf(order({ customerEmail: 'other@example.com' }))).toBe(2)
})
