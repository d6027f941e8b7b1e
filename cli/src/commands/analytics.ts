import type { Analytics, AnalyticsQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { leaf } from '../command.ts'
import { showMoney } from '../money.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, readPeriod } from '../period.ts'
import type { Run } from '../run.ts'

type Day = Analytics['dailyBreakdown'][number]
type Top = Analytics['topAffiliates'][number]

interface AnalyticsOptions extends PeriodOptions {
  affiliate?: string
  program?: string
  currency?: string
  daily?: boolean
  top?: boolean
}

export function addAnalytics(program: Command): void {
  leaf<AnalyticsOptions>(program, 'analytics', {
    summary: 'orders, clicks and commissions of a period; the last 30 days by default',
    details: 'Prints the totals; --daily and --top print one row per day or affiliate. --json prints everything.',
    output: 'Analytics',
    examples: ['referral analytics --month last', 'referral analytics --from 2026-10-01 --daily -o csv'],
    work: async (run, { options }) => {
      const period = readPeriod(options, run.world.now())
      const { affiliate: affiliateId, program: programId, currency } = options
      const query = { affiliateId, programId, currency, ...period } as AnalyticsQuery
      print(run, await (await run.client()).analytics.get(query), options)
    },
  })
    .option('--month <month>', '2026-10, last or this')
    .option('--from <time>', 'from this day or instant')
    .option('--to <time>', 'to this day or instant, inclusive')
    .option('--affiliate <id>', 'only of this affiliate')
    .option('--program <id>', 'only of this program')
    .option('--currency <code>', "another currency than the shop's")
    .option('--daily', 'one row per day')
    .option('--top', 'the ten affiliates who earned most')
}

function print(run: Run, sums: Analytics, { daily, top }: AnalyticsOptions): void {
  const money = (field: string, title: string) => ({
    field,
    title,
    show: (row: object) => showMoney((row as Record<string, number>)[field] ?? 0, sums.currency),
  })
  if (sums.truncated) run.talk.warn('Older commissions were left out: the newest 10,000 are summed.')
  const others = sums.currencies.filter((one) => one !== sums.currency)
  if (others.length) run.talk.note(`sums in ${sums.currency}; there is also ${others.join(', ')}, see --currency`)
  const amounts = [money('revenueCents', 'revenue'), money('commissionCents', 'commission')]
  if (daily) run.rows<Day>(sums.dailyBreakdown, ['date', 'clicks', 'orders', ...amounts] as Column<Day>[])
  else if (top)
    run.rows<Top>(sums.topAffiliates, ['affiliateId', 'name', 'clicks', 'orders', ...amounts] as Column<Top>[])
  else if (run.style.format === 'json' || run.style.format === 'ndjson') run.record(sums)
  else run.record({ currency: sums.currency, ...sums.totals })
}
