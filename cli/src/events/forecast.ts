import type { ReferralClient } from '@referral/sdk'
import { formatMoney } from '../money.ts'
import type { Run } from '../run.ts'
import { CouponOwners } from './codes.ts'
import { RateLimiter, rateLimitedClient } from './pace.ts'
import type { PendingOrder } from './plan.ts'

/** What the engine would decide about some orders of a file. */
export interface Forecast {
  /** How many orders were asked about. */
  orders: number
  attributed: number
  /** Cents by currency, of these orders. */
  commissionCents: Record<string, number>
}

/**
 * Asks the service what it would decide, without recording anything: about every order, or about so many that are spread
 * evenly over the file. Each answer costs one request of the rate limit.
 */
export async function forecast(
  run: Run,
  client: ReferralClient,
  { orders, sample }: { orders: readonly PendingOrder[]; sample: number },
): Promise<Forecast> {
  const pace = new RateLimiter({
    signal: new AbortController().signal,
    onWait: (seconds) => run.reporter.info(`waiting ${seconds} s for the next window`),
  })
  const asking = rateLimitedClient(client, pace)
  const owners = new CouponOwners(asking)
  const found: Forecast = { orders: 0, attributed: 0, commissionCents: {} }
  for (const { order, codes } of sampleEvenly(orders, sample)) {
    const settled = codes.length > 1 ? (await owners.chooseCoupon(order, codes)).order : order
    const { attribution, trace, commission } = await asking.rateLimited(() => client.events.dryRun(settled))
    found.orders += 1
    if (attribution.affiliateId === null) continue
    found.attributed += 1
    found.commissionCents[trace.currency] = (found.commissionCents[trace.currency] ?? 0) + commission.amountCents
  }
  const money = Object.entries(found.commissionCents).map(([currency, cents]) => formatMoney(cents, currency))
  const part = found.orders < orders.length ? `Of ${found.orders} sampled orders` : `Of ${found.orders} orders`
  run.reporter.info(
    `${part}, ${found.attributed} would be credited${money.length ? `, with ${money.join(' and ')}` : ''}.`,
  )
  return found
}

function sampleEvenly<T>(all: readonly T[], sample: number): T[] {
  if (all.length <= sample) return [...all]
  return Array.from({ length: sample }, (_, i) => all[Math.floor((i * all.length) / sample)] as T)
}
