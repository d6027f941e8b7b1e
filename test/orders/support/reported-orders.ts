import { OCTOBER, Till } from '../../commissions/money.ts'
import type { Reply } from '../../support/server.ts'
import { convert, expectOk } from '../../support/shop.ts'
import { test } from '../../support/test.ts'

/** A new shop with one affiliate for every test of the file. */
export let till: Till
let orders = 0

/** Registers the shop and returns the calls that report its orders, refunds and cancellations. */
export function useReportedOrders() {
  test.beforeEach(async ({ server }) => {
    till = new Till(server, await server.createShop())
    await till.affiliate()
  })
  return { nextId, refund, cancelRefund, cancel, order, rowOf, explain, payOctober, sumOf }
}

const nextId = () => `o-${++orders}`
interface Options {
  query?: string | undefined
  headers?: Record<string, string>
}
const send = (path: string, body: object, { query = '', headers }: Options = {}): Promise<Reply> =>
  till.server.request('POST', `/api/v1/${path}${query}`, { key: till.shop.key, body, ...(headers && { headers }) })
const refund = (
  externalOrderId: string,
  externalRefundId: string,
  amountCents?: number,
  given: object = {},
  options?: Options,
) => send('refunds', { externalOrderId, externalRefundId, amountCents, ...given }, options)
const cancelRefund = (externalOrderId: string, externalRefundId: string): Promise<Reply> =>
  till.server.request('DELETE', `/api/v1/refunds?${new URLSearchParams({ externalOrderId, externalRefundId })}`, {
    key: till.shop.key,
  })
const cancel = (externalOrderId: string, options?: Options) => send('cancellations', { externalOrderId }, options)
/** An order of 90.00 at 16%, which earns 14.40. */
const order = (externalOrderId: string, given: object = {}) =>
  convert(
    till.server,
    { externalOrderId, amountCents: 9000, couponCode: 'NISA16', occurredAt: '2026-10-20T12:00:00Z', ...given },
    { key: till.shop.key },
  )
const rowOf = async (externalOrderId: string) =>
  (await till.rows()).find((row) => row.externalOrderId === externalOrderId)!
const explain = (externalOrderId: string) => expectOk(till.admin('GET', `/orders/${externalOrderId}/explanation`))
const payOctober = async () => expectOk(till.pay((await expectOk(till.batch(OCTOBER))).id))
const sumOf = async () => (await till.rows()).reduce((sum, row) => sum + row.commissionAmountCents, 0)
