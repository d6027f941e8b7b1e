import { createReferralClient, NotFoundError, type PayoutBatch, type ReferralClient } from '@referral/sdk'
import { credentials } from './credentials.ts'

/*
 * Pays last month's approved commissions, for cron: 0 6 2 * * node pay-last-month.ts 500000
 * The number is the most cents it may pay. Run again, also after a crash, it pays nothing twice.
 */

interface Period {
  periodStart: string
  periodEnd: string
}

export async function payLastMonth(client: ReferralClient, mostCents: number, now = new Date()): Promise<string> {
  const period = monthBefore(now)
  const month = period.periodStart.slice(0, 7)
  // A run that crashed leaves its batch open, and what is in a batch is in no preview.
  const left = await openBatch(client, period)
  const plan = left ?? (await preview(client, period))
  if (!plan) return `${month}: nothing to pay`

  const { netPayableCents } = plan.totals
  const sum = `${month}: ${netPayableCents} cents ${plan.currency}`
  if (netPayableCents > mostCents) throw new Error(`${sum} is more than ${mostCents}: pay it by hand.`)

  const batch = left ?? (await client.payouts.create(period))
  // Marks the batch as paid, or nothing when its total is not the one that was checked: the next run checks it again.
  // It moves no money: have your payment service do that, once per batch.id.
  await client.payouts.pay(batch.id, { expectedTotalCents: netPayableCents })
  return `${sum}, paid as ${batch.id}`
}

/** In UTC, as the service counts. Both ends belong to it. */
function monthBefore(now: Date): Period {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return {
    periodStart: new Date(Date.UTC(year, month - 1)).toISOString(),
    periodEnd: new Date(Date.UTC(year, month) - 1).toISOString(),
  }
}

async function openBatch(client: ReferralClient, period: Period): Promise<PayoutBatch | undefined> {
  for await (const batch of client.payouts.list({ status: 'OPEN' }))
    if (batch.periodStart === period.periodStart && batch.periodEnd === period.periodEnd) return batch
  return undefined
}

async function preview(client: ReferralClient, period: Period) {
  const { data, error } = await client.payouts.preview(period).safe()
  if (error instanceof NotFoundError) return undefined
  if (error) throw error
  return data
}

if (import.meta.main) {
  const most = Number(process.argv[2])
  if (!Number.isSafeInteger(most) || most <= 0) throw new Error('Say how many cents may be paid at most.')
  console.log(await payLastMonth(createReferralClient(credentials()), most))
}
