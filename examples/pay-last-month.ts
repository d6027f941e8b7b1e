import { createReferralClient, NotFoundError, type PayoutBatch, type ReferralClient } from '@referral/sdk'
import { credentials } from './credentials.ts'

/*
 * Pays last month's approved commissions. For cron: 0 6 2 * * node pay-last-month.ts 500000
 * The argument is the maximum total in cents. Safe to run again, also after a crash: nothing is paid twice.
 */

interface Period {
  periodStart: string
  periodEnd: string
}

export async function payLastMonth(client: ReferralClient, maxCents: number, now = new Date()): Promise<string> {
  const period = monthBefore(now)
  const month = period.periodStart.slice(0, 7)
  // A run that crashed leaves an open batch, whose commissions are no longer in a preview.
  const unfinished = await openBatch(client, period)
  const plan = unfinished ?? (await preview(client, period))
  if (!plan) return `${month}: nothing to pay`

  const { netPayableCents } = plan.totals
  const sum = `${month}: ${netPayableCents} cents ${plan.currency}`
  if (netPayableCents > maxCents) throw new Error(`${sum} exceeds the maximum of ${maxCents}. Pay it manually.`)

  const batch = unfinished ?? (await client.payouts.create(period))
  // Fails when the total is not the one that was checked; the next run checks it again.
  // This only marks the batch as PAID. Send the money with your payment service, once per batch.id.
  await client.payouts.pay(batch.id, { expectedTotalCents: netPayableCents })
  return `${sum}, paid as ${batch.id}`
}

/** Returns the previous month in UTC. Both ends are inclusive. */
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
  const maxCents = Number(process.argv[2])
  if (!Number.isSafeInteger(maxCents) || maxCents <= 0)
    throw new Error('Pass the maximum total in cents, for example 500000.')
  console.log(await payLastMonth(createReferralClient(credentials()), maxCents))
}
