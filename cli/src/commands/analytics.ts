import type { Analytics, AnalyticsQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand } from '../command.ts'
import { formatMoney } from '../money.ts'
import { addPeriodOptions } from '../options.ts'
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
  addPeriodOptions(
    defineCommand<AnalyticsOptions>(program, 'analytics', {
      summary: 'show orders, clicks and commissions of a period; the last 30 days by default',
      details: 'Prints the totals. --daily and --top print one row per day or affiliate. --json prints everything.',
      output: 'Analytics',
      examples: ['referral analytics --month last', 'referral analytics --from 2026-10-01 --daily -o csv'],
      action: async (run, { options }) => {
        const period = await readPeriod(options, run)
        const { affiliate: affiliateId, program: programId, currency } = options
        const query = { affiliateId, programId, currency, ...period } as AnalyticsQuery
        print(run, await (await run.client()).analytics.get(query), options)
      },
    }),
  )
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--program <id>', 'filter by program')
    .option('--currency <code>', "currency of the amounts (default: the shop's)")
    .option('--daily', 'one row per day')
    .option('--top', 'the ten affiliates who earned the most')
}

function print(run: Run, sums: Analytics, { daily, top }: AnalyticsOptions): void {
  const money = (field: string, title: string) => ({
    field,
    title,
    show: (row: object) => formatMoney((row as Record<string, number>)[field] ?? 0, sums.currency),
  })
  if (sums.truncated)
    run.reporter.warn('Only the newest 10,000 commissions are included. Choose a shorter period to include all.')
  const others = sums.currencies.filter((currency) => currency !== sums.currency)
  if (others.length) run.reporter.info(`amounts in ${sums.currency}; for ${others.join(', ')}, use --currency`)
  const amounts = [money('revenueCents', 'revenue'), money('commissionCents', 'commission')]
  if (daily) run.printRows<Day>(sums.dailyBreakdown, ['date', 'clicks', 'orders', ...amounts] as Column<Day>[])
  else if (top)
    run.printRows<Top>(sums.topAffiliates, ['affiliateId', 'name', 'clicks', 'orders', ...amounts] as Column<Top>[])
  else if (run.style.format === 'json' || run.style.format === 'ndjson') run.printRecord(sums)
  else run.printRecord({ currency: sums.currency, ...sums.totals })
}
