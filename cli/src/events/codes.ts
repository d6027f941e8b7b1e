import type { ConversionInput, ReferralClient } from '@referral/sdk'

/** Keeps to the pace of the import. */
type RateLimited = <T>(call: () => PromiseLike<T>) => Promise<T>

/**
 * The coupon codes of one cell: `SUMMER, NISA16`, or `code:nisa16|amount:10.00` as WooCommerce writes them. Texts with
 * white space are names of automatic discounts, and no codes.
 */
export function splitCodes(text: string): string[] {
  const named = [...text.matchAll(/\bcode:([^|;,]+)/gi)].map(([, code = '']) => code)
  const parts = (named.length > 0 ? named : text.split(/[,;|]/)).map((part) => part.trim()).filter(Boolean)
  const codes = parts.filter((part) => !/\s/.test(part))
  return codes.length > 0 ? [...new Set(codes)] : parts.slice(0, 1)
}

/** Finds out which of several coupons belong to affiliates; each code is asked for once. */
export class CouponOwners {
  readonly #client: ReferralClient
  readonly #rateLimited: RateLimited
  readonly #owners = new Map<string, Promise<string | null>>()

  constructor({ client, rateLimited }: { client: ReferralClient; rateLimited: RateLimited }) {
    this.#client = client
    this.#rateLimited = rateLimited
  }

  /**
   * The order with the first coupon that belongs to an affiliate. With several it is the first as well, as for an order
   * that is reported with one coupon; `others` names the affiliates who get nothing.
   */
  async chooseCoupon(
    order: ConversionInput,
    codes: readonly string[],
  ): Promise<{ order: ConversionInput; others: string[] }> {
    const owners = await Promise.all(codes.map((code) => this.#findOwner(code)))
    const first = owners.findIndex((owner) => owner !== null)
    const couponCode = codes[Math.max(0, first)] ?? null
    const others = [...new Set(owners.filter((owner) => owner !== null && owner !== owners[first]))] as string[]
    return { order: { ...order, couponCode }, others }
  }

  #findOwner(code: string): Promise<string | null> {
    const key = code.toLowerCase()
    const known = this.#owners.get(key)
    if (known) return known
    const asked = this.#rateLimited(() =>
      this.#client.events.dryRun({ externalOrderId: 'import-code', amountCents: 1, couponCode: code }),
    ).then(({ attribution }) => attribution.affiliateId)
    this.#owners.set(key, asked)
    return asked
  }
}
