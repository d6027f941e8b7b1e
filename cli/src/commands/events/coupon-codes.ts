import type { ConversionInput, ReferralClient } from '@referral/sdk'
import type { RateLimited } from '../../rate-limiter.ts'

/**
 * Splits a cell with several coupon codes: `SUMMER, NISA16`, or `code:nisa16|amount:10.00` in WooCommerce. Text with
 * whitespace is an automatic discount's name, not a code.
 */
export function splitCodes(text: string): string[] {
  const named = [...text.matchAll(/\bcode:([^|;,]+)/gi)].map(([, code = '']) => code)
  const parts = (named.length > 0 ? named : text.split(/[,;|]/)).map((part) => part.trim()).filter(Boolean)
  const codes = parts.filter((part) => !/\s/.test(part))
  return codes.length > 0 ? [...new Set(codes)] : parts.slice(0, 1)
}

/** Finds the affiliates of coupon codes, with one request per code. */
export class CouponOwners {
  readonly #client: ReferralClient
  readonly #rateLimited: RateLimited
  readonly #ownerByCode = new Map<string, Promise<string | null>>()

  constructor({ client, rateLimited }: { client: ReferralClient; rateLimited: RateLimited }) {
    this.#client = client
    this.#rateLimited = rateLimited
  }

  /**
   * Chooses the first coupon that belongs to an affiliate.
   *
   * @returns the order with this coupon, and the other affiliates with a coupon in the order.
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
    const cached = this.#ownerByCode.get(key)
    if (cached) return cached
    const owner = this.#rateLimited(() =>
      this.#client.events.dryRun({ externalOrderId: 'import-code', amountCents: 1, couponCode: code }),
    ).then(({ attribution }) => attribution.affiliateId)
    this.#ownerByCode.set(key, owner)
    return owner
  }
}
