import { Temporal } from 'temporal-polyfill'
import { DAY_ONLY, type Period } from './days.ts'
import { usageError } from './errors.ts'

// Separate from the other options, because most shops use UTC and do not need to load time zone rules.

/** A whole month in a time zone, from its first to its last millisecond. `last` and `this` are relative to `now`. */
export function zonedMonth(month: string, timeZone: string, now: number): Period {
  checkTimeZone(timeZone)
  const shift = { last: -1, this: 0 }[month]
  const first =
    shift === undefined
      ? Temporal.PlainDate.from(`${month}-01`)
      : Temporal.Instant.fromEpochMilliseconds(now)
          .toZonedDateTimeISO(timeZone)
          .toPlainDate()
          .with({ day: 1 })
          .add({ months: shift })
  return { from: startOf(first, timeZone), to: before(first.add({ months: 1 }), timeZone) }
}

/** A period whose dates are whole days in a time zone. Other times are returned unchanged. */
export function zonedDays({ from, to }: { from?: string; to?: string }, timeZone: string): Partial<Period> {
  checkTimeZone(timeZone)
  return {
    ...(from && { from: DAY_ONLY.test(from) ? startOf(dayOf(from), timeZone) : from }),
    ...(to && { to: DAY_ONLY.test(to) ? before(dayOf(to).add({ days: 1 }), timeZone) : to }),
  }
}

function dayOf(text: string): Temporal.PlainDate {
  try {
    return Temporal.PlainDate.from(text)
  } catch {
    throw usageError(`${text} is not a date.`)
  }
}

const startMs = (day: Temporal.PlainDate, timeZone: string): number => day.toZonedDateTime(timeZone).epochMilliseconds
const startOf = (day: Temporal.PlainDate, timeZone: string) => new Date(startMs(day, timeZone)).toISOString()
const before = (day: Temporal.PlainDate, timeZone: string) => new Date(startMs(day, timeZone) - 1).toISOString()

function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw usageError(`${timeZone} is not a time zone.`, 'Use a name such as Europe/Berlin or America/New_York.')
  }
}
