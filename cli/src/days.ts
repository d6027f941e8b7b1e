/** A range of instants. Both ends are inclusive. */
export interface Period {
  from: string
  to: string
}

export const DAY_ONLY = /^\d{4}-\d{2}-\d{2}$/

/** An instant's date in a time zone, such as 2026-10-01. */
export const dayIn = (instant: string, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone }).format(new Date(instant))

/** An instant's date and time of day in a time zone, such as 2026-10-01 14:30. */
export const timeIn = (instant: string, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(instant))

/** Extends a date to the end of its day. The API reads a date as midnight, which would exclude the day. */
export const endOfDay = (to: string): string => (DAY_ONLY.test(to) ? `${to}T23:59:59.999Z` : to)
