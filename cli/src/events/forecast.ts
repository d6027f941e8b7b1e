import type { ReferralClient } from '@referral/sdk'
import { showMoney } from '../money.ts'
import type { Run } from '../run.ts'
import { CodeOwners } from './codes.ts'
import { Pace, pacedClient } from './pace.ts'
import type { OpenOrder } from './plan.ts'

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
  { orders, sample }: { orders: readonly OpenOrder[]; sample: number },
): Promise<Forecast> {
  const pace = new Pace({
    signal: new AbortController().signal,
    onWait: (seconds) => run.talk.note(`waiting ${seconds} s for the next window`),
  })
  const asking = pacedClient(client, pace)
  const owners = new CodeOwners(asking)
  const found: Forecast = { orders: 0, attributed: 0, commissionCents: {} }
  for (const { order, codes } of spread(orders, sample)) {
    const settled = codes.length > 1 ? (await owners.settle(order, codes)).order : order
    const { attribution, trace, commission } = await asking.paced(() => client.events.dryRun(settled))
    found.orders += 1
    if (attribution.affiliateId === null) continue
    found.attributed += 1
    found.commissionCents[trace.currency] = (found.commissionCents[trace.currency] ?? 0) + commission.amountCents
  }
  const money = Object.entries(found.commissionCents).map(([currency, cents]) => showMoney(cents, currency))
  const part = found.orders < orders.length ? `Of ${found.orders} sampled orders` : `Of ${found.orders} orders`
  run.talk.note(`${part}, ${found.attributed} would be credited${money.length ? `, with ${money.join(' and ')}` : ''}.`)
  return found
}

function spread<T>(all: readonly T[], sample: number): T[] {
  if (all.length <= sample) return [...all]
  return Array.from({ length: sample }, (_, i) => all[Math.floor((i * all.length) / sample)] as T)
}
