import type { PayoutCreate, ReferralClient } from '@referral/sdk'
import { formatMoney } from '../money.ts'
import { type BatchesByCurrency, createPerCurrency, isNothingToPay } from './currencies.ts'

const EPOCH = '1970-01-01T00:00:00.000Z'
const END_OF_DAY = 'T23:59:59.999Z'

/**
 * What no batch has taken from before a period: orders that were approved, or reported, after their month was paid.
 * A month's run never looks there again. Undefined when nothing waits.
 */
export async function describeUnpaid(client: ReferralClient, body: PayoutCreate): Promise<string | undefined> {
  const end = new Date(Date.parse(body.periodStart) - 1).toISOString()
  if (end <= EPOCH) return undefined
  const earlier = { ...body, periodStart: EPOCH, periodEnd: end }
  const waiting = await createPerCurrency(async (asked) => client.payouts.preview(asked), earlier).catch((error) => {
    if (!isNothingToPay(error)) throw error
    return error.code === 'no_eligible_commissions' ? undefined : { batches: [], rejected: [{ currency: '', error }] }
  })
  if (!waiting) return undefined
  const from = await oldestDay(client, earlier)
  return describe(waiting, { body, from, end })
}

interface UnpaidPeriod {
  body: PayoutCreate
  from: string
  end: string
}

function describe({ batches, rejected: refused }: BatchesByCurrency, { body, from, end }: UnpaidPeriod): string {
  const before = `from before ${dayOf(body.periodStart)}`
  const few = 'together with this period they may reach the minimum'
  if (batches.length === 0)
    return `Approved commissions ${before} are in no batch and below the minimum payout; ${few}: ${previewCommand(body, from, body.periodEnd)}`
  const count = batches.reduce((sum, { totals }) => sum + totals.commissions, 0)
  const money = batches.map(({ totals, currency }) => formatMoney(totals.netPayableCents, currency)).join(', ')
  const what =
    count === 1
      ? `1 approved commission ${before} is in no batch`
      : `${count} approved commissions ${before} are in no batch`
  const isMixed = batches.length + refused.length > 1
  return `${what} (${money}): ${previewCommand(body, from, end)}${isMixed ? ' --each-currency' : ''}`
}

/** The preview that shows them, with the same conditions. */
function previewCommand({ currency, affiliateIds, programId }: PayoutCreate, from: string, to: string): string {
  const conditions = [
    currency ? ` --currency ${currency}` : '',
    ...(affiliateIds ?? []).map((id) => ` --affiliate ${id}`),
    programId ? ` --program ${programId}` : '',
  ]
  return `referral payouts preview --from ${from} --to ${dayOf(to)}${conditions.join('')}`
}

/** A day where the instant is the first or the last of one: both ends are read so. */
const dayOf = (instant: string) =>
  instant.endsWith(END_OF_DAY) || instant.endsWith('T00:00:00.000Z') ? instant.slice(0, 10) : instant

/** Where to begin. A key that may not read commissions begins at the beginning. */
async function oldestDay(
  client: ReferralClient,
  { periodEnd, affiliateIds, programId }: PayoutCreate,
): Promise<string> {
  const [affiliateId] = affiliateIds?.length === 1 ? affiliateIds : []
  const query = {
    status: 'APPROVED' as const,
    to: periodEnd,
    ...(affiliateId ? { affiliateId } : {}),
    ...(programId ? { programId } : {}),
    limit: 1,
  }
  const { data: first } = await client.commissions.list(query).safe()
  const total = first?.pagination.total ?? 0
  if (total === 0) return dayOf(EPOCH)
  const { data: last } = await client.commissions.list({ ...query, page: total }).safe()
  return (last?.data[0] ?? first?.data[0])?.happenedAt.slice(0, 10) ?? dayOf(EPOCH)
}
