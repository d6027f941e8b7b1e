import { Temporal } from 'temporal-polyfill'
import { usageError } from '../exit.ts'

const LOCAL = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?$/
const ZONED = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}):?(\d{2})?$/

/** @throws CliError usage for a name that is no time zone. */
export function checkTimezone(timezone: string | undefined): void {
  if (timezone === undefined) return
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    throw usageError(`${timezone} is not a time zone.`, 'Use a name like Europe/Berlin or America/New_York.')
  }
}

/**
 * A time as the API reads it. Shops write `2026-10-31 14:00:00 +0200`, or no offset at all; then it is read in the
 * given zone. Of an hour that clocks repeat it is the first; an hour that they skip counts by the offset before. A time that cannot
 * be placed stays as it is.
 */
export function toInstant(text: string, timezone: string | undefined): string {
  const zoned = ZONED.exec(text)
  if (zoned) {
    const [, day, time, zone = '', minutes] = zoned
    return /^[+-]/.test(zone) ? `${day}T${time}${zone}:${minutes ?? '00'}` : `${day}T${time}Z`
  }
  if (timezone === undefined || !LOCAL.test(text)) return text
  try {
    const local = Temporal.PlainDateTime.from(text.replace(' ', 'T'))
    const { epochMilliseconds } = local.toZonedDateTime(timezone, { disambiguation: 'compatible' })
    return new Date(epochMilliseconds).toISOString()
  } catch {
    // The 31st of June.
    return text
  }
}
