import { usageError } from './errors.ts'

/** Both ends are inclusive. */
export interface Period {
  from: string
  to: string
}

export interface PeriodOptions {
  month?: string
  from?: string
  to?: string
  timeZone?: string
}

export const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/

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

/** An instant's date in a time zone, such as 2026-10-01. */
export const dayIn = (instant: string, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date(instant))

/** An instant's date and time of day in a time zone, such as 2026-10-01 14:30. */
export const timeIn = (instant: string, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(instant))

/** Extends a date to the end of its day. The API reads a date as midnight, which would exclude the day. */
export const endOfDay = (to: string): string => (DAY_ONLY.test(to) ? `${to}T23:59:59.999Z` : to)

/** Where a period gets the current time and the time zone of the shop from. */
interface PeriodSource {
  context: { now: () => number }
  timeZone: () => Promise<string>
}

/**
 * Parses --month, or --from and --to, whose days are in --time-zone, by default that of the shop. Returns undefined when
 * none is set.
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
