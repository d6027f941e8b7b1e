import type { PayoutCreate, ReferralClient } from '@referral/sdk'
import { formatMoney } from '../../money.ts'
import { type BatchesByCurrency, createPerCurrency, isNothingToPay } from './batches.ts'

const EPOCH = '1970-01-01T00:00:00.000Z'
const END_OF_DAY = 'T23:59:59.999Z'

/**
 * Describes the approved commissions from before a period that are in no batch: they were approved or reported after
 * their month was paid, so that no monthly run includes them.
 *
 * @returns undefined when there are none.
 */
export async function describeUnpaid(client: ReferralClient, body: PayoutCreate): Promise<string | undefined> {
  const end = new Date(Date.parse(body.periodStart) - 1).toISOString()
  if (end <= EPOCH) return undefined
  const earlier = { ...body, periodStart: EPOCH, periodEnd: end }
  const unpaid = await createPerCurrency(async (request) => client.payouts.preview(request), earlier).catch((error) => {
    if (!isNothingToPay(error)) throw error
    return error.code === 'no_eligible_commissions' ? undefined : { batches: [], rejected: [{ currency: '', error }] }
  })
  if (!unpaid) return undefined
  const from = await oldestDay(client, earlier)
  return describe(unpaid, { body, from, end })
}

interface UnpaidPeriod {
  body: PayoutCreate
  from: string
  end: string
}

function describe({ batches, rejected }: BatchesByCurrency, { body, from, end }: UnpaidPeriod): string {
  const before = `from before ${dayOf(body.periodStart)}`
  const few = 'together with this period they may reach it'
  if (batches.length === 0)
    return `Approved commissions ${before} are in no batch because they are below the minimum payout; ${few}: ${previewCommand(body, from, body.periodEnd)}`
  const count = batches.reduce((sum, { totals }) => sum + totals.commissions, 0)
  const money = batches.map(({ totals, currency }) => formatMoney(totals.netPayableCents, currency)).join(', ')
  const what =
    count === 1
      ? `1 approved commission ${before} is in no batch`
      : `${count} approved commissions ${before} are in no batch`
  const isMixed = batches.length + rejected.length > 1
  return `${what} (${money}): ${previewCommand(body, from, end)}${isMixed ? ' --each-currency' : ''}`
}

/** The command that lists them, with the same filters. */
function previewCommand({ currency, affiliateIds, programId }: PayoutCreate, from: string, to: string): string {
  const filters = [
    currency ? ` --currency ${currency}` : '',
    ...(affiliateIds ?? []).map((id) => ` --affiliate ${id}`),
    programId ? ` --program ${programId}` : '',
  ]
  return `referral payouts preview --from ${from} --to ${dayOf(to)}${filters.join('')}`
}

/** Shortens the first or last instant of a day to a date, which the options interpret the same way. */
const dayOf = (instant: string) =>
  instant.endsWith(END_OF_DAY) || instant.endsWith('T00:00:00.000Z') ? instant.slice(0, 10) : instant

/** The day of the oldest commission; the epoch when the key may not read commissions. */
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
