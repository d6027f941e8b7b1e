// What checks of owner operations share.
import type { Context, Json } from '../context.ts'

export const goods = { amountCents: 10_000 }

export const connect = async (t: Context, kind: string, value: string, affiliateId: string) =>
  t.owner('POST', '/connections', { kind, value, affiliateId })
export const decided = async (t: Context, body: Json) => (await t.decide({ ...goods, ...body })).attribution
