import type { JourneyEntry, JourneyQuery } from '@referral/sdk'
import { type Command, Option } from 'commander'
import { defineCommand } from '../command.ts'
import { pageLimits } from '../contract.ts'
import { usageError } from '../errors.ts'
import { addPeriodOptions, integerBetween } from '../options.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, readPeriod } from '../period.ts'

const COLUMNS: Column<JourneyEntry>[] = [
  'occurredAt',
  'type',
  'affiliateId',
  'sessionId',
  'ref',
  'url',
  'externalOrderId',
  'attributed',
]

interface JourneyOptions extends PeriodOptions {
  session?: string
  affiliate?: string
  email?: string
  limit: number
}

export function addJourney(program: Command): void {
  addPeriodOptions(
    defineCommand<JourneyOptions>(program, 'journey', {
      summary: 'list the clicks, page views and orders of a session, a customer or an affiliate, oldest first',
      output: 'JourneyEntry[]',
      examples: ['referral journey --email ada@example.com', 'referral journey --session s-81f3 --json'],
      action: async (run, { options }) => {
        const { session: sessionId, affiliate: affiliateId, email: customerEmail, limit } = options
        if (!sessionId && !affiliateId && !customerEmail)
          throw usageError('A filter is required. Pass --session, --affiliate or --email.')
        const query = { sessionId, affiliateId, customerEmail, limit, ...(await readPeriod(options, run)) }
        const { journey, total } = await (await run.client()).journey.get(query as JourneyQuery)
        run.printRows(journey, COLUMNS)
        if (journey.length < total)
          run.reporter.info(`showing the latest ${journey.length} of ${total}, use --limit or --from and --to`)
      },
    }),
    'start of the period, a date or a time (default: 90 days ago)',
  )
    .option('--session <id>', 'filter by session')
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--email <address>', 'filter by customer')
    .addOption(
      new Option('--limit <n>', 'maximum number of entries')
        .argParser(integerBetween(1, pageLimits.journey.max))
        .default(pageLimits.journey.default),
    )
}
