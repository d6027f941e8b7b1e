import { type ErrorCode, invalidField } from '../contract/errors.ts'
import { CLOCK_TOLERANCE_MS } from '../engine/attribution.ts'
import { type Context, nowIso } from './context.ts'

const FORMAT = /^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:[Zz]|([+-])(\d\d):(\d\d)))?$/

/**
 * Parses a query's instant to the form in which instants are stored and compared: `YYYY-MM-DDTHH:mm:ss.SSSZ`. A date
 * alone is midnight UTC; digits below a millisecond are truncated. Returns undefined for a missing value.
 *
 * @throws ApiError 400 `invalid_parameter` for a text without an offset or an instant that does not exist.
 */
export function parseQueryInstant(name: string, text: string): string
export function parseQueryInstant(name: string, text: string | null | undefined): string | undefined
export function parseQueryInstant(name: string, text: string | null | undefined): string | undefined {
  return read('invalid_parameter', name, text)
}

/** Like {@link parseQueryInstant}, for a body property. @throws ApiError 400 `invalid_body`. */
export function parseBodyInstant(name: string, text: string): string
export function parseBodyInstant(name: string, text: string | null | undefined): string | undefined
export function parseBodyInstant(name: string, text: string | null | undefined): string | undefined {
  return read('invalid_body', name, text)
}

/**
 * Checks both inclusive bounds of a filter; either can be open. Equal bounds are one instant.
 *
 * @throws ApiError 400 `period_invalid` when they are reversed.
 */
export function checkPeriod<From extends string | undefined, To extends string | undefined>(from: From, to: To) {
  const [first, last]: (string | undefined)[] = [from, to]
  if (first !== undefined && last !== undefined && last < first) {
    throw invalidField('period_invalid', 'to', 'must not be before the start of the period.')
  }
  return { from, to }
}

const DAY_MS = 86_400_000

/**
 * A query's bounds, by default the `days` × 24 hours before `to`, or before now. Without `to` the end stays open:
 * the caller's clock may be slightly ahead of the server's.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export function lastDays(ctx: Context, query: { from?: string; to?: string }, days: number) {
  const to = parseQueryInstant('to', query.to)
  const from =
    parseQueryInstant('from', query.from) ?? new Date(Date.parse(to ?? nowIso(ctx)) - days * DAY_MS).toISOString()
  return checkPeriod(from, to)
}

function read(code: ErrorCode, name: string, text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined
  const instant = normalize(text)
  if (instant) return instant
  const forms = 'an ISO 8601 date (2026-10-31) or a timestamp with an offset (2026-10-31T23:59:59.999Z)'
  throw invalidField(code, name, `must be ${forms}.`)
}

function normalize(text: string): string | undefined {
  const match = FORMAT.exec(text)
  if (!match) return undefined
  const [, date, minutes = '00:00', seconds = '00', fraction = '', sign, hoursOff = '00', minutesOff = '00'] = match
  const local = `${date}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  const at = new Date(local)
  // Date rolls 30 February and 24:00 over to another day; an instant that does not round-trip does not exist.
  if (Number.isNaN(at.getTime()) || at.toISOString() !== local) return undefined
  if (Number(hoursOff) > 23 || Number(minutesOff) > 59) return undefined
  const offset = (Number(hoursOff) * 60 + Number(minutesOff)) * 60_000
  const instant = new Date(at.getTime() - (sign === '-' ? -offset : offset)).toISOString()
  // Years outside 0001–9999 have a sign or are 0000, and would sort incorrectly as text.
  return /^(?!0000)\d{4}-/.test(instant) ? instant : undefined
}

/**
 * When an order or refund took place. Defaults to now. @throws ApiError 400 `invalid_body` or `occurred_at_in_future`.
 */
export function readOccurredAt(ctx: Context, occurredAt: string | null | undefined): string {
  const at = parseBodyInstant('occurredAt', occurredAt || null)
  if (!at) return nowIso(ctx)
  rejectFuture(ctx, at)
  return at
}

/**
 * Rejects an instant in the future, with a tolerance for differing clocks. @throws ApiError 400
 * `occurred_at_in_future`.
 */
export function rejectFuture(ctx: Context, at: string): void {
  if (Date.parse(at) <= ctx.now() + CLOCK_TOLERANCE_MS) return
  throw invalidField('occurred_at_in_future', 'occurredAt', 'must not be more than 5 minutes in the future.')
}
