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
}

const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/

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

/** Extends a date to the end of its day. The API reads a date as midnight, which would exclude the day. */
export const endOfDay = (to: string): string => (DAY_ONLY.test(to) ? `${to}T23:59:59.999Z` : to)

/** Parses --month, or --from and --to. Returns undefined when none is set. */
export function parsePeriod({ month, from, to }: PeriodOptions, now: number): Partial<Period> | undefined {
  if (month && (from || to)) throw usageError('Pass --month, or --from and --to, not both.')
  if (month) return monthPeriod(month, now)
  if (!from && !to) return undefined
  return { ...(from ? { from } : {}), ...(to ? { to: endOfDay(to) } : {}) }
}

/** Like {@link parsePeriod}, but both ends are required. */
export function requirePeriod(options: PeriodOptions, now: number): Period {
  const period = parsePeriod(options, now)
  if (period?.from && period.to) return { from: period.from, to: period.to }
  throw usageError('A period is required. Pass --month 2026-10, or --from and --to.')
}
