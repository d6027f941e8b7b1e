// What checks of payouts share.
import type { Context, Json } from '../context.ts'

export const order = async (t: Context, affiliate: Json, given: Json = {}): Promise<string> => {
  const externalOrderId = t.id('o')
  await t.order({ externalOrderId, amountCents: 10_000, couponCode: affiliate.discountCode, ...given })
  return externalOrderId
}
export const create = async (t: Context, body: Json): Promise<Json> =>
  t.expect(await t.post('/payouts', body), 200).data
