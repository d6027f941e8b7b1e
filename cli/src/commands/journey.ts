import type { JourneyEntry, JourneyQuery } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand } from '../command.ts'
import { pageLimits } from '../contract.ts'
import { usageError } from '../exit.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, parsePeriod } from '../period.ts'

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

const MAX_ENTRIES = pageLimits.journey.max

const parseLimit = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > MAX_ENTRIES)
    throw new InvalidArgumentError(`It must be from 1 to ${MAX_ENTRIES}.`)
  return value
}

export function addJourney(program: Command): void {
  defineCommand<JourneyOptions>(program, 'journey', {
    summary: 'what a session, a customer or an affiliate led to, oldest first',
    output: 'JourneyEntry[]',
    examples: ['referral journey --email ada@example.com', 'referral journey --session s-81f3 --json'],
    action: async (run, { options }) => {
      const { session: sessionId, affiliate: affiliateId, email: customerEmail, limit } = options
      if (!sessionId && !affiliateId && !customerEmail)
        throw usageError('Whose? Give --session, --affiliate or --email.')
      const query = { sessionId, affiliateId, customerEmail, limit, ...parsePeriod(options, run.context.now()) }
      const { journey, total } = await (await run.client()).journey.get(query as JourneyQuery)
      run.printRows(journey, COLUMNS)
      if (journey.length < total)
        run.reporter.info(`showing the latest ${journey.length} of ${total}, use --limit or --from and --to`)
    },
  })
    .option('--session <id>', 'of this session')
    .option('--affiliate <id>', 'of this affiliate')
    .option('--email <address>', 'of this customer')
    .option('--month <month>', '2026-10, last or this')
    .option('--from <time>', 'from this day or instant; 90 days back when left out')
    .option('--to <time>', 'to this day or instant, inclusive')
    .addOption(
      new Option('--limit <n>', 'at most so many entries').argParser(parseLimit).default(pageLimits.journey.default),
    )
}
