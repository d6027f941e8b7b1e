import { minorUnitDigits } from '../core/currencies.ts'
import { type Html, html } from './html.ts'

/** Formats minor units as `1,440.00 USD`. */
export function money(cents: number, currency: string): string {
  const digits = minorUnitDigits(currency)
  const text = String(Math.abs(cents)).padStart(digits + 1, '0')
  const units = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${cents < 0 ? '−' : ''}${units}${digits ? `.${text.slice(-digits)}` : ''} ${currency}`
}

/** Parses a typed amount to minor units. Returns undefined when it is not an amount. */
export function typedCents(text: string, currency: string): number | undefined {
  const digits = minorUnitDigits(currency)
  const bare = text.replace(new RegExp(`${currency}|[\\s,]`, 'gi'), '').replace('−', '-')
  const match = (digits ? new RegExp(`^(-?\\d{1,13})(?:\\.(\\d{${digits}}))?$`) : /^(-?\d{1,13})$/).exec(bare)
  return match ? Number(match[1] + (match[2] ?? '0'.repeat(digits))) : undefined
}

/** Formats an instant in UTC, to the minute. */
export const time = (at: string | null, none = '–'): Html =>
  at === null
    ? html`${none}`
    : html`<time datetime="${at}" title="${at}">${at.slice(0, 16).replace('T', ' ')} <span class="zone">UTC</span></time>`

export const day = (at: string): Html => html`<time datetime="${at}" title="${at}">${at.slice(0, 10)}</time>`

const TONES: Record<string, 'good' | 'wait' | 'bad'> = {
  APPROVED: 'good',
  ACCEPTED: 'good',
  PAID: 'good',
  SENT: 'good',
  active: 'good',
  enabled: 'good',
  CREDITED: 'good',
  WON: 'good',
  PENDING: 'wait',
  PAYABLE: 'wait',
  OPEN: 'wait',
  PROCESSING: 'wait',
  RETRYING: 'wait',
  FAILED: 'bad',
  REJECTED: 'bad',
  CANCELED: 'bad',
  REVERSED: 'bad',
  REFUNDED: 'bad',
  RESTRICTED: 'bad',
  revoked: 'bad',
  expired: 'bad',
  disabled: 'bad',
}

/** Renders a status as a colored badge. */
export const badge = (status: string): Html => {
  const text = status.toLowerCase().replaceAll('_', ' ')
  return html`<span class="badge ${TONES[status] ?? 'plain'}">${text[0]?.toUpperCase()}${text.slice(1)}</span>`
}

/** Renders an empty state: what is missing, and what to do. */
export const empty = (title: string, next: Html | string): Html =>
  html`<div class="empty"><p><strong>${title}</strong></p><p>${next}</p></div>`

export const urlWithQuery = (path: string, query: Record<string, string | undefined>): string => {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const text = new URLSearchParams(given).toString()
  return text ? `${path}?${text}` : path
}
