// What checks of refunds share.
import type { Context, Json } from '../context.ts'

export const reportRefund = (t: Context, externalOrderId: string, body: Json, query?: Record<string, string>) =>
  t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), ...body }, query ? { query } : {})
export const refund = async (t: Context, externalOrderId: string, body: Json): Promise<Json> =>
  t.expect(await reportRefund(t, externalOrderId, body), 200)
export const cancel = async (t: Context, externalOrderId: string): Promise<Json> =>
  t.expect(await t.post('/cancellations', { externalOrderId }), 200)

/** Records an order of 90.00 and returns its id. */
export async function ordered(t: Context, given: Json = {}, program?: Json): Promise<string> {
  const { discountCode } = program ? await t.affiliateOf(program) : await t.sharedAffiliate()
  const order = { externalOrderId: t.id('o'), amountCents: 9000, couponCode: discountCode, ...given }
  await t.order(order)
  return order.externalOrderId
}
