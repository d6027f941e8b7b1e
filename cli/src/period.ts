import { DAY_ONLY, endOfDay, type Period } from './days.ts'
import { usageError } from './errors.ts'

export interface PeriodOptions {
  month?: string
  from?: string
  to?: string
  timeZone?: string
}

/** A whole month in UTC, from its first to its last millisecond. `last` and `this` are relative to `now`. */
export function monthPeriod(month: string, now: number): Period {
  const today = new Date(now)
  const shift = { last: -1, this: 0 }[month]
  const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? []
  if (shift === undefined && year === undefined)
    throw usageError(`--month must be a month such as 2026-10, or last or this, not ${month}.`)
  const first =
    shift === undefined
      ? Date.UTC(Number(year), Number(number) - 1)
      : Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + shift)
  const start = new Date(first)
  const end = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1) - 1
  return { from: start.toISOString(), to: new Date(end).toISOString() }
}

/** The source of a period's current time and the shop's time zone. */
interface PeriodSource {
  context: { now: () => number }
  timeZone: () => Promise<string>
}

/**
 * Parses --month, or --from and --to, with days in --time-zone, by default the shop's. Returns undefined if none is
 * set.
 */
export async function readPeriod(options: PeriodOptions, source: PeriodSource): Promise<Partial<Period> | undefined> {
  const { month, from, to } = options
  const now = source.context.now()
  // Rejects invalid options before the shop is read.
  const inUtc = parsePeriod(options, now)
  const hasDays = [from, to].some((text) => text !== undefined && DAY_ONLY.test(text))
  if (!month && !hasDays) return inUtc
  const timeZone = options.timeZone ?? (await source.timeZone())
  if (timeZone.toUpperCase() === 'UTC') return inUtc
  const { zonedDays, zonedMonth } = await import('./zoned-period.ts')
  return month ? zonedMonth(month, timeZone, now) : zonedDays({ from, to }, timeZone)
}

/** Like {@link readPeriod}, but both ends are required. */
export async function requirePeriod(options: PeriodOptions, source: PeriodSource): Promise<Period> {
  const period = await readPeriod(options, source)
  if (period?.from && period.to) return { from: period.from, to: period.to }
  throw usageError('A period is required. Pass --month 2026-10, or --from and --to.')
}

/** Parses the options with months and days in UTC. */
function parsePeriod({ month, from, to }: PeriodOptions, now: number): Partial<Period> | undefined {
  if (month && (from || to)) throw usageError('Pass --month, or --from and --to, not both.')
  if (month) return monthPeriod(month, now)
  if (!from && !to) return undefined
  return { ...(from ? { from } : {}), ...(to ? { to: endOfDay(to) } : {}) }
}
