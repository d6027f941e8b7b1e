// Local days and months of a time zone. `Intl` has the rules of all zones; Node.js 22 has no `Temporal`.

const DAY_MS = 86_400_000
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  formats.set(timeZone, format)
  return format
}

/** The IANA name of a time zone in its usual spelling; undefined when it does not exist. Offsets such as `+02:00` are not names. */
export function timeZoneName(text: string): string | undefined {
  if (!/^[A-Za-z]/.test(text)) return undefined
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** The local time of an instant, as if it were UTC, in milliseconds. */
function localMs(at: number, timeZone: string): number {
  const whole = Math.floor(at / 1000) * 1000
  const parts = formatOf(timeZone).formatToParts(whole)
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local + (at - whole)
}

/** The date of an instant in a time zone, as `YYYY-MM-DD`. */
export const localDate = (at: string, timeZone: string): string =>
  timeZone === 'UTC' ? at.slice(0, 10) : new Date(localMs(Date.parse(at), timeZone)).toISOString().slice(0, 10)

/** The date and time of an instant in a time zone, as spreadsheets read them: `YYYY-MM-DD HH:MM:SS`. */
export const localTime = (at: string, timeZone: string): string =>
  new Date(localMs(Date.parse(at), timeZone)).toISOString().slice(0, 19).replace('T', ' ')

/**
 * The first instant of a local day. Usually midnight; where clocks skip midnight, the end of the gap, and where they
 * repeat it, the first one.
 *
 * @param date `YYYY-MM-DD`
 */
export const startOfDay = (date: string, timeZone: string): string => atLocalTime(`${date}T00:00:00.000`, timeZone)

/** The instant of a local time, chosen as by {@link startOfDay}. @param local `YYYY-MM-DDTHH:MM`, with or without seconds */
export function atLocalTime(local: string, timeZone: string): string {
  const wanted = Date.parse(`${local}Z`)
  if (timeZone === 'UTC') return new Date(wanted).toISOString()
  const offsets = [wanted - DAY_MS, wanted + DAY_MS].map((at) => localMs(at, timeZone) - at)
  const candidates = offsets.map((offset) => wanted - offset).sort((a, b) => a - b)
  const [first = wanted, last = wanted] = candidates
  const found = candidates.find((at) => localMs(at, timeZone) === wanted)
  return new Date(found ?? endOfGap(first, last, { wanted, timeZone })).toISOString()
}

/** The local time does not exist: finds the instant at which the clocks change, between both candidates. */
function endOfGap(first: number, last: number, { wanted, timeZone }: { wanted: number; timeZone: string }): number {
  let [before, after] = [first - 1, last]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (localMs(middle, timeZone) >= wanted) after = middle
    else before = middle
  }
  return after
}

/** Whether a text is a day that exists, `YYYY-MM-DD`, and has a next one. */
export function isDay(text: string): boolean {
  if (!/^(?!0000|9999)\d{4}-\d\d-\d\d$/.test(text)) return false
  const at = new Date(`${text}T00:00:00.000Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** The day `days` after another, as `YYYY-MM-DD`. */
export const addDays = (date: string, days: number): string =>
  new Date(Date.parse(`${date}T00:00:00.000Z`) + days * DAY_MS).toISOString().slice(0, 10)

/**
 * The length of the prefix of an instant in UTC that is in one local day for all instants with this prefix: an hour, ten
 * minutes, or a minute, depending on the offsets of the zone between two instants. In UTC it is the date.
 */
export function slotLength(from: string, to: string, timeZone: string): number {
  if (timeZone === 'UTC') return 'YYYY-MM-DD'.length
  const offsets = [from, to, new Date((Date.parse(from) + Date.parse(to)) / 2).toISOString()].map(
    (at) => (localMs(Date.parse(at), timeZone) - Date.parse(at)) / 60_000,
  )
  if (offsets.every((minutes) => minutes % 60 === 0)) return 'YYYY-MM-DDTHH'.length
  return offsets.every((minutes) => minutes % 10 === 0) ? 'YYYY-MM-DDTHH:M'.length : 'YYYY-MM-DDTHH:MM'.length
}

/** The local date of a prefix of an instant, as {@link slotLength} has it. */
export const dateOfSlot = (slot: string, timeZone: string): string =>
  localDate(`${slot}${'0000-01-01T00:00:00.000Z'.slice(slot.length)}`, timeZone)

/** The last millisecond of a local day. */
export const endOfDay = (date: string, timeZone: string): string =>
  new Date(Date.parse(startOfDay(addDays(date, 1), timeZone)) - 1).toISOString()

/** The first and the last day of a month, as `YYYY-MM-DD`. @param month `YYYY-MM` */
export function daysOfMonth(month: string): { first: string; last: string } {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return { first: `${month}-01`, last: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) }
}

/** The first and the last instant of a local month. @param month `YYYY-MM` */
export function monthPeriod(month: string, timeZone: string): { from: string; to: string } {
  const { first, last } = daysOfMonth(month)
  return { from: startOfDay(first, timeZone), to: endOfDay(last, timeZone) }
}

/** The month before the one of an instant, as `YYYY-MM`. */
export function lastMonth(at: string, timeZone: string): string {
  const [year = 0, number = 1] = localDate(at, timeZone).split('-').map(Number)
  return new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7)
}
