import type { PayoutCreate, ReferralClient, Unpaid } from '@referral/sdk'
import { dayIn } from '../../days.ts'
import { formatMoney } from '../../money.ts'
import type { Column } from '../../output/render.ts'
import { counted } from '../../output/text.ts'
import { type PeriodOptions, requirePeriod } from '../../period.ts'
import type { Run } from '../../run.ts'

export interface UnpaidOptions extends PeriodOptions {
  currency?: string
  affiliate?: string
  program?: string
  includeEarlier?: boolean
}

type Balance = Unpaid['affiliates'][number]

const columnsFor = ({ timeZone }: { timeZone: string }): Column<Balance>[] => [
  'affiliateId',
  'name',
  'reason',
  'commissions',
  {
    field: 'netPayableCents',
    title: 'balance',
    format: ({ netPayableCents, currency }) => formatMoney(netPayableCents, currency),
  },
  { field: 'oldestAt', title: 'oldest', format: ({ oldestAt }) => dayIn(oldestAt, timeZone) },
]

/** Lists balances that a batch for the period does not pay. */
export async function listUnpaid(run: Run, options: UnpaidOptions): Promise<undefined> {
  const { from: periodStart, to: periodEnd } = await requirePeriod(options, run)
  const { affiliates, truncated, reasons } = await (await run.client()).payouts.unpaid({
    periodStart,
    periodEnd,
    ...(options.includeEarlier ? { includeEarlier: '1' as const } : {}),
    ...(options.currency ? { currency: options.currency.toUpperCase() } : {}),
    ...(options.affiliate ? { affiliateId: options.affiliate } : {}),
    ...(options.program ? { programId: options.program } : {}),
  })
  run.printRows(affiliates, columnsFor(await run.tableUnits()))
  if (truncated)
    run.reporter.info(`showing the largest ${counted(affiliates.length, 'balance')}, use --affiliate to find others`)
  for (const sum of reasons) run.reporter.info(toSentence(sum))
}

/** Describes balances that a batch does not pay, one sentence per reason and currency. */
export async function describeUnpaid(client: ReferralClient, body: PayoutCreate): Promise<string[]> {
  const { periodStart, periodEnd, includeEarlier, currency, affiliateIds, programId } = body
  const [affiliateId, ...others] = affiliateIds ?? []
  // One affiliate can be selected at a time.
  if (others.length > 0) return []
  const { reasons } = await client.payouts.unpaid({
    periodStart,
    periodEnd,
    ...(includeEarlier && { includeEarlier: '1' as const }),
    ...(currency && { currency }),
    ...(affiliateId && { affiliateId }),
    ...(programId && { programId }),
  })
  return reasons.map(toSentence)
}

function toSentence({ reason, currency, affiliates, commissions, netPayableCents }: Unpaid['reasons'][number]): string {
  const money = formatMoney(netPayableCents, currency)
  const isOne = (['BELOW_MINIMUM', 'DEBT'].includes(reason) ? affiliates : commissions) === 1
  const [who, what] = [counted(affiliates, 'affiliate'), counted(commissions, 'commission')]
  switch (reason) {
    case 'LATE':
      return `${what} (${money}) from before the period ${isOne ? 'is' : 'are'} approved and not paid. Add --include-earlier to include ${isOne ? 'it' : 'them'}.`
    case 'ON_HOLD':
      return `${what} (${money}) ${isOne ? 'is' : 'are'} on hold by the terms of the program; a later batch with --include-earlier pays ${isOne ? 'it' : 'them'}.`
    case 'BELOW_MINIMUM':
      return `${who} (${money}) ${isOne ? 'is' : 'are'} below the minimum payout per affiliate; the balance is carried to a later period.`
    case 'DEBT':
      return `${who} (${money}) ${isOne ? 'owes' : 'owe'} refunds of paid commissions; they are deducted from later earnings.`
    case 'HELD_BACK':
      return `${what} (${money}) of archived or rejected affiliates ${isOne ? 'is' : 'are'} not included.`
    default:
      return `${what} (${money}) ${isOne ? 'is' : 'are'} not included: ${reason}.`
  }
}
