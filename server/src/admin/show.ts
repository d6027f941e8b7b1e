import { minorUnitDigits } from '../core/currencies.ts'
import { type Html, html } from './html.ts'
import { type IconName, icon } from './icon.ts'

/** Formats minor units as `1,440.00 USD`. */
export function money(cents: number | bigint, currency: string): string {
  const digits = minorUnitDigits(currency)
  const text = String(cents < 0 ? -cents : cents).padStart(digits + 1, '0')
  const units = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${cents < 0 ? '−' : ''}${units}${digits ? `.${text.slice(-digits)}` : ''} ${currency}`
}

/** Goods of an order, and what is left of them after refunds. */
export const goods = (cents: number, refundedCents: number, currency: string): Html =>
  html`${money(cents, currency)}${refundedCents > 0 ? html`<small>${money(cents - refundedCents, currency)} after refunds</small>` : ''}`

/** Statuses of commissions of which nothing is owed. */
export const UNDONE: ReadonlySet<string> = new Set(['REJECTED', 'CANCELED', 'REVERSED', 'REFUNDED'])

/** A commission; crossed out if its status is one of {@link UNDONE}. */
export const earned = (cents: number, currency: string, status: string): Html =>
  cents !== 0 && UNDONE.has(status)
    ? html`<s>${money(cents, currency)}</s><span class="visually-hidden"> (not owed)</span>`
    : html`${money(cents, currency)}`

/** A sign, whole units with or without a separator of thousands, and decimals. */
const AMOUNT = /^(-?)(\d{1,13}|\d{1,3}(?:,\d{3}){1,4}|\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4})(?:\.(\d{1,4}))?$/

/**
 * Parses a typed amount to minor units: `1440`, `1,440.00`, `1 440.00 USD`. Returns undefined when it is not an amount, and
 * for `10,50`, which is ten and a half to some and a thousand and fifty to others.
 */
export function typedCents(text: string, currency: string): number | undefined {
  const digits = minorUnitDigits(currency)
  const [, sign, units = '', fraction] = AMOUNT.exec(withoutCurrency(text.trim(), currency).replace('−', '-')) ?? []
  if (sign === undefined || (fraction !== undefined && fraction.length !== digits)) return undefined
  // 1,440 dinars have three decimals: it may be one of them or a thousand.
  if (digits === 3 && fraction === undefined && units.includes(',')) return undefined
  return Number(`${sign}${units.replace(/\D/g, '')}${fraction ?? '0'.repeat(digits)}`)
}

function withoutCurrency(text: string, currency: string): string {
  const [upper, code] = [text.toUpperCase(), currency.toUpperCase()]
  if (code === '') return text
  if (upper.endsWith(code)) return text.slice(0, -code.length).trimEnd()
  return upper.startsWith(code) ? text.slice(code.length).trimStart() : text
}

/** Minor units as they are typed into a field: `1440.00`. */
export const typedAmount = (cents: number, currency: string): string =>
  money(cents, currency).replace(` ${currency}`, '').replaceAll(',', '').replace('−', '-')

/** Amounts in sentences of the API, such as `1618 USD cents` or `100 cents`, as money. */
export const withMoney = (sentence: string, currency: string): string =>
  sentence.replace(/(-?\d+)(?: ([A-Z]{3}))? cents\b/g, (_all, cents, own) => money(Number(cents), own ?? currency))

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

/** Formats an instant to the minute: `Nov 22, 2026 14:03`. The exact instant is the title. */
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
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

/** A rate of a program: `16% of goods`, or `5.00 USD per order`. */
export function rateText(commissionType: string, rate: number, currency: string): string {
  if (commissionType === 'PERCENT_OF_SALE') return `${rate / 100}% of goods`
  return `${money(rate, currency)} ${commissionType === 'FLAT_PER_ITEM' ? 'per item' : 'per order'}`
}

type Tone = 'good' | 'wait' | 'bad' | 'info'
const TONES: Record<string, Tone> = {
  APPROVED: 'good',
  ACTIVE: 'good',
  ACCEPTED: 'good',
  PAID: 'good',
  SENT: 'good',
  PUBLISH: 'good',
  active: 'good',
  enabled: 'good',
  CREDITED: 'good',
  WON: 'good',
  PENDING: 'wait',
  RESTRICTED: 'wait',
  OPEN: 'wait',
  PROCESSING: 'wait',
  RETRYING: 'wait',
  SETTLED: 'good',
  READY: 'info',
  PAYABLE: 'info',
  PRIVATE: 'info',
  FAILED: 'bad',
  REJECTED: 'bad',
  CANCELED: 'bad',
  REVERSED: 'bad',
  REFUNDED: 'bad',
  BLOCKED: 'bad',
  RETURNED: 'bad',
  REVIEW: 'wait',
  revoked: 'bad',
  expired: 'bad',
  disabled: 'bad',
}
/** Statuses whose name of the API is not what people say. */
const NAMES: Record<string, string> = {
  PUBLISH: 'Published',
  NOBODY: 'No affiliate',
  PAYPAL: 'PayPal',
  SEPA: 'SEPA',
  CSV: 'CSV',
}

/** The name of a status or another constant of the API: `Late in kind`. */
export function nameOf(status: string): string {
  const text = status.toLowerCase().replaceAll('_', ' ')
  return NAMES[status] ?? `${text[0]?.toUpperCase()}${text.slice(1)}`
}

/** Renders a status as a colored badge. */
export const badge = (status: string): Html =>
  html`<span class="badge ${TONES[status] ?? 'plain'}">${nameOf(status)}</span>`

/** Renders an empty state: what is missing, and what to do. */
export const empty = (title: Html | string, next: Html | string, name?: IconName): Html =>
  html`<div class="empty">${name ? icon(name) : ''}<p><strong>${title}</strong></p><p>${next}</p></div>`

/** Renders a text that can be copied. */
export const copyable = (id: string, label: string, value: string): Html =>
  html`<span class="copy"><code id="${id}" aria-label="${label}">${value}</code> <button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></span>`

/** Renders names and values. Values that are undefined are left out. */
export const facts = (
  list: (readonly [name: string, value: Html | Html[] | string | number | undefined])[],
  kind = 'facts',
): Html =>
  html`<dl class="${kind}">${list
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

export const urlWithQuery = (path: string, query: Record<string, string | undefined>): string => {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const text = new URLSearchParams(given).toString()
  return text ? `${path}?${text}` : path
}

interface TabLink {
  to: string
  text: string
  isCurrent: boolean
  /** How many rows it lists, if that is known without reading them. */
  count?: number | undefined
}

/** The filters of a list that are set, each a link to the list without it. */
export function chips(
  path: string,
  query: Record<string, string | undefined>,
  names: Record<string, Html | string>,
): Html {
  const set = Object.keys(names).filter((name) => query[name])
  if (set.length === 0) return html``
  const without = (some: string[]) =>
    urlWithQuery(path, Object.fromEntries(Object.entries(query).filter(([name]) => !some.includes(name))))
  return html`<ul class="chips" aria-label="Filters">${set.map((name) => html`<li><a href="${without([name])}">${names[name]}<span class="visually-hidden"> (remove)</span></a></li>`)}${set.length > 1 ? html`<li><a class="all" href="${without(set)}">Clear all</a></li>` : ''}</ul>`
}

/** The number of rows of a tab: of its status, or of all. */
export function countOf(counts: Map<string, number> | undefined, status: string | undefined): number | undefined {
  if (!counts) return undefined
  return status === undefined ? [...counts.values()].reduce((sum, one) => sum + one, 0) : (counts.get(status) ?? 0)
}

/** Links that filter the same list, with the current one marked. */
export const tabs = (label: string, links: TabLink[], kind: 'tabs' | 'segments' = 'tabs'): Html =>
  html`<nav class="${kind}" aria-label="${label}"><ul>${links.map(
    ({ to, text, isCurrent, count: rows }) =>
      html`<li><a href="${to}"${isCurrent ? html` aria-current="true"` : ''}>${text}${rows === undefined ? '' : html` <span class="count">${count(rows)}</span>`}</a></li>`,
  )}</ul></nav>`
