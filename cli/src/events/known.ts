import type { Commission, Conversion, ConversionInput, ReferralClient } from '@referral/sdk'
import { formatMoney } from '../money.ts'

/** Keeps to the pace of the import. */
type RateLimited = <T>(call: () => PromiseLike<T>) => Promise<T>

/**
 * Why an order that the service has already is another one there; undefined when it is the same. An order counts once,
 * as it was reported first, so that a correction would vanish without a word.
 */
export async function findConflict(
  { client, rateLimited }: { client: ReferralClient; rateLimited: RateLimited },
  order: ConversionInput,
  { commission }: Conversion,
): Promise<string | undefined> {
  const known = await rateLimited(() => findCommission(client, String(order.externalOrderId).trim(), commission.id))
  const currency = order.currency ?? 'USD'
  if (known) {
    const was = known.orderSubtotalCents - known.orderDiscountCents
    if (was !== netOf(order) || known.orderCurrency !== currency)
      return `recorded before with ${formatMoney(was, known.orderCurrency)}, not ${formatMoney(netOf(order), currency)}; an order counts once`
  }
  if (!order.couponCode && !order.affiliateCode && !order.ref) return undefined
  const { attribution } = await rateLimited(() => client.events.dryRun(order))
  if (!attribution.affiliateId || attribution.affiliateId === commission.affiliateId) return undefined
  return `recorded before for ${commission.affiliateId}, not ${attribution.affiliateId}; an order counts once`
}

const netOf = ({ amountCents, discountCents }: ConversionInput) => (amountCents ?? 0) - (discountCents ?? 0)

/** A key that may not read commissions is told nothing of their amounts. */
async function findCommission(
  client: ReferralClient,
  id: string,
  commissionId: string | null,
): Promise<Commission | undefined> {
  const { data, error } = await client.commissions.list({ externalOrderId: `api:${id}`, limit: 1 }).safe()
  if (error && error.code !== 'scope_missing') throw error
  return data?.data.find((row) => row.id === commissionId)
}
