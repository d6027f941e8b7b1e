// Local days and months of a time zone.
import type { Temporal as Polyfill } from 'temporal-polyfill'

// Node.js 26 has `Temporal`. The polyfill costs 5 MB and some milliseconds at startup.
const native = (globalThis as { Temporal?: typeof Polyfill }).Temporal
const Temporal = native ?? (await import('temporal-polyfill')).Temporal

/** The IANA name of a time zone in its usual spelling; undefined when it does not exist. Offsets such as `+02:00` are not names. */
export function timeZoneName(text: string): string | undefined {
  if (!/^[A-Za-z]/.test(text)) return undefined
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

const zonedTime = (at: string, timeZone: string) => Temporal.Instant.from(at).toZonedDateTimeISO(timeZone)

const instantOf = ({ epochMilliseconds }: { epochMilliseconds: number }): string =>
  new Date(epochMilliseconds).toISOString()

/** The date of an instant in a time zone, as `YYYY-MM-DD`. */
export const localDate = (at: string, timeZone: string): string =>
  timeZone === 'UTC' ? at.slice(0, 10) : zonedTime(at, timeZone).toPlainDate().toString()

/** The date and time of an instant in a time zone, as spreadsheets read them: `YYYY-MM-DD HH:MM:SS`. */
export const localTime = (at: string, timeZone: string): string =>
  zonedTime(at, timeZone).toPlainDateTime().toString({ smallestUnit: 'second' }).replace('T', ' ')

/**
 * The first instant of a local day. Usually midnight; where clocks skip midnight, the end of the gap, and where they
 * repeat it, the first one.
 *
 * @param date `YYYY-MM-DD`
 */
export const startOfDay = (date: string, timeZone: string): string =>
  instantOf(Temporal.PlainDate.from(date).toZonedDateTime(timeZone))

/** The instant of a local time; the first one where clocks repeat it. @param local `YYYY-MM-DDTHH:MM`, with or without seconds */
export const atLocalTime = (local: string, timeZone: string): string =>
  instantOf(Temporal.PlainDateTime.from(local).toZonedDateTime(timeZone))

/** Whether a text is an existing day, `YYYY-MM-DD`, that has a next day. */
export function isDay(text: string): boolean {
  if (!/^(?!0000|9999)\d{4}-\d\d-\d\d$/.test(text)) return false
  const at = new Date(`${text}T00:00:00.000Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** The day `days` after another, as `YYYY-MM-DD`. */
export const addDays = (date: string, days: number): string => Temporal.PlainDate.from(date).add({ days }).toString()

/**
 * The length of the prefix of an instant in UTC that is in one local day for all instants with this prefix: an hour, ten
 * minutes, or a minute, depending on the offsets of the zone between two instants. In UTC it is the date.
 */
export function slotLength(from: string, to: string, timeZone: string): number {
  if (timeZone === 'UTC') return 'YYYY-MM-DD'.length
  const offsets = [from, to, new Date((Date.parse(from) + Date.parse(to)) / 2).toISOString()].map(
    (at) => zonedTime(at, timeZone).offsetNanoseconds / 60_000_000_000,
  )
  if (offsets.every((minutes) => minutes % 60 === 0)) return 'YYYY-MM-DDTHH'.length
  return offsets.every((minutes) => minutes % 10 === 0) ? 'YYYY-MM-DDTHH:M'.length : 'YYYY-MM-DDTHH:MM'.length
}

/** The local date for an instant's prefix of {@link slotLength}. */
export const dateOfSlot = (slot: string, timeZone: string): string =>
  localDate(`${slot}${'0000-01-01T00:00:00.000Z'.slice(slot.length)}`, timeZone)

/** The last millisecond of a local day. */
export const endOfDay = (date: string, timeZone: string): string =>
  new Date(Date.parse(startOfDay(addDays(date, 1), timeZone)) - 1).toISOString()

/** The first and the last day of a month, as `YYYY-MM-DD`. @param month `YYYY-MM` */
export const daysOfMonth = (month: string): { first: string; last: string } => ({
  first: `${month}-01`,
  last: `${month}-${Temporal.PlainYearMonth.from(month).daysInMonth}`,
})

/** The first and the last instant of a local month. @param month `YYYY-MM` */
export function monthPeriod(month: string, timeZone: string): { from: string; to: string } {
  const { first, last } = daysOfMonth(month)
  return { from: startOfDay(first, timeZone), to: endOfDay(last, timeZone) }
}

/** The first instant of the local month that contains an instant. */
export const startOfMonth = (at: string, timeZone: string): string =>
  startOfDay(`${localDate(at, timeZone).slice(0, 7)}-01`, timeZone)

/**
 * Whole calendar months from one instant to a later one, at the same local time. A month that lacks the day counts from its
 * last day: from 31 January, the first month ends on 28 or 29 February.
 */
export function monthsBetween(from: string, to: string, timeZone: string): number {
  const [start, end] = [zonedTime(from, timeZone), zonedTime(to, timeZone)]
  const { months } = start.until(end, { largestUnit: 'months' })
  // The difference does not count a month that lacks the day.
  return start.add({ months: months + 1 }).epochMilliseconds <= end.epochMilliseconds ? months + 1 : months
}

/** Adds calendar months to an instant, as {@link monthsBetween} counts them. Null after the year 9999. */
export function addMonths(at: string, months: number, timeZone: string): string | null {
  const start = zonedTime(at, timeZone)
  if (start.year + months / 12 > MAX_YEAR) return null
  const end = start.add({ months })
  return end.withTimeZone('UTC').year > MAX_YEAR ? null : instantOf(end)
}

const MAX_YEAR = 9999

/** The month before an instant's month, as `YYYY-MM`. */
export const lastMonth = (at: string, timeZone: string): string =>
  zonedTime(at, timeZone).toPlainDate().toPlainYearMonth().subtract({ months: 1 }).toString()
