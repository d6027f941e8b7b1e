import { money } from '../../core/currencies.ts'
import { type Html, html } from './html.ts'

export { money }

/** An order's goods, with the amount left after refunds below it. */
export const goods = (cents: number, refundedCents: number, currency: string): Html =>
  html`${money(cents, currency)}${refundedCents > 0 ? html`<small>${money(cents - refundedCents, currency)} after refunds</small>` : ''}`

/** Statuses of commissions that are no longer owed. */
export const UNDONE: ReadonlySet<string> = new Set(['REJECTED', 'CANCELED', 'REVERSED', 'REFUNDED'])

/** A commission, crossed out if its status is in {@link UNDONE}. */
export const earned = (cents: number, currency: string, status: string): Html =>
  cents !== 0 && UNDONE.has(status)
    ? html`<s>${money(cents, currency)}</s><span class="visually-hidden"> (not owed)</span>`
    : html`${money(cents, currency)}`

const formats = new Map<string, Intl.DateTimeFormat>()

function partsOf(at: string, zone: string): Record<string, string> {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
    formats.set(zone, format)
  }
  return Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]))
}

/** Formats an instant to the minute: `Nov 22, 2026 14:03`. The `title` has the exact instant. */
export function time(at: string | null, none = '–', zone = 'UTC'): Html {
  if (at === null) return html`${none}`
  return html`<time datetime="${at}" title="${at}">${timeText(at, zone)}${zone === 'UTC' ? html` <span class="zone">UTC</span>` : ''}</time>`
}

/** An instant to the minute, as text. */
export function timeText(at: string, zone: string): string {
  const { hour, minute } = partsOf(at, zone)
  return `${dayText(at, zone)} ${hour}:${minute}`
}

/** The day of an instant: `Nov 22, 2026`. A date without a time is shown unchanged in every zone. */
export function dayText(at: string, zone = 'UTC'): string {
  const { month, day, year } = partsOf(at, at.length === 10 ? 'UTC' : zone)
  return `${month} ${day}, ${year}`
}

export const day = (at: string, zone = 'UTC'): Html =>
  html`<time datetime="${at}" title="${at}">${dayText(at, zone)}</time>`

/** A month in words: `October 2026`. @param month `YYYY-MM` */
export function monthText(month: string): string {
  const name = new Intl.DateTimeFormat('en-US', { month: 'long', timeZone: 'UTC' }).format(new Date(`${month}-01`))
  return `${name} ${Number(month.slice(0, 4))}`
}

/** A count with separators: `12,000`. */
export const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',')

/** A count with its noun: `1 order`, `2 orders`. */
export const counted = (value: number, singular: string, many = `${singular}s`): string =>
  `${count(value)} ${value === 1 ? singular : many}`

/** A program's rate without its unit: `16%`, or `5.00 USD`. */
export const shortRate = (commissionType: string, rate: number, currency: string): string =>
  commissionType === 'PERCENT_OF_SALE' ? `${rate / 100}%` : money(rate, currency)

const RATE_UNITS: Record<string, string> = { PERCENT_OF_SALE: 'of goods', FLAT_PER_ITEM: 'per item' }

/** A program's rate: `16% of goods`, or `5.00 USD per order`. */
export const rateText = (commissionType: string, rate: number, currency: string): string =>
  `${shortRate(commissionType, rate, currency)} ${RATE_UNITS[commissionType] ?? 'per order'}`

/** The discount that a code gives: `10%`, or `5.00 USD`; empty without one. */
export const discountText = (
  { discountType, discountValue: value }: { discountType: string | null; discountValue: number | null },
  currency: string,
): string => {
  if (value === null) return ''
  return discountType === 'PERCENT' ? `${value}%` : money(Math.round(value * 100), currency)
}
