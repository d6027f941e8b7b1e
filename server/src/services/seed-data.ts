import type { Conversion } from './conversion-order.ts'

/** A stream of numbers from 0 to 1 that is the same on every machine for the same name. */
export function numbersOf(name: string): () => number {
  let state = 2_166_136_261
  for (const char of name) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16_777_619)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const FIRST = ['Nisa', 'Omar', 'Lena', 'Hugo', 'Aiko', 'Zora', 'Iván', 'Maëlle', 'Tom', 'Priya', 'Chidi', 'Sanna']
const LAST = ['Karim', 'Weber', 'Okafor', 'Lindqvist', 'Tanaka', 'Moreau', 'Silva', 'Novák', 'Brown', 'Rao']
const PAGES = ['/', '/shoes', '/shoes/runner', '/hats', '/sale', '/journal/autumn']
const COUNTRIES = ['US', 'US', 'US', 'DE', 'GB', 'FR', 'JP', 'BR']
const DEVICES = ['mobile', 'mobile', 'desktop', 'tablet']

const pick = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() * list.length)] as T

/** Who clicks and orders go to: the first affiliates have most of them, as in life. */
const skewed = <T>(next: () => number, list: readonly T[]): T => list[Math.floor(next() ** 2 * list.length)] as T

export interface SeedAffiliate {
  slug: string
  discountCode: string
}

/** The n-th affiliate, counted from 0: a person with an address of their own. */
export function seedPerson(n: number): { name: string; email: string; firstName: string; lastName: string } {
  const next = numbersOf(`affiliate ${n}`)
  const firstName = pick(next, FIRST)
  const lastName = `${pick(next, LAST)} ${n + 1}`
  return { name: `${firstName} ${lastName}`, email: `seed-${n + 1}@example.com`, firstName, lastName }
}

export const seedClickId = (n: number): string => `seed-${n + 1}`

/** The n-th click, on a link of one of these affiliates. */
export function seedClick(n: number, affiliates: readonly SeedAffiliate[]) {
  const next = numbersOf(`click ${n}`)
  const { slug } = skewed(next, affiliates)
  const url = `https://shop.example.com${pick(next, PAGES)}?ref=${slug}`
  return {
    type: 'click' as const,
    clickId: seedClickId(n),
    sessionId: `seed-session-${n + 1}`,
    ref: slug,
    url,
    landingPage: url,
    country: pick(next, COUNTRIES),
    device: pick(next, DEVICES),
  }
}

/** The n-th order: with a coupon, or after following a link. */
export function seedOrder(n: number, affiliates: readonly SeedAffiliate[], occurredAt: string): Conversion {
  const next = numbersOf(`order ${n}`)
  const { slug, discountCode } = skewed(next, affiliates)
  const amountCents = 500 + Math.floor(next() ** 3 * 40_000)
  const hasCoupon = next() < 0.6
  return {
    type: 'conversion',
    externalOrderId: `seed-${n + 1}`,
    orderName: `#S${n + 1}`,
    occurredAt,
    amountCents,
    discountCents: hasCoupon ? Math.floor(amountCents / 10) : 0,
    shippingCents: amountCents < 5000 ? 490 : 0,
    customerId: `seed-customer-${Math.floor(next() * 1e6)}`,
    ...(hasCoupon ? { couponCode: discountCode } : { ref: slug }),
    lineItems: [{ productId: `product-${Math.floor(next() * 40)}`, quantity: 1, priceCents: amountCents }],
  }
}
