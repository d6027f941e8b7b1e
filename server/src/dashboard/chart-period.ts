import { invalidField } from '../contract/errors.ts'
import { nowIso } from '../core/context.ts'
import { addDays, endOfDay, isDay, localDate, startOfDay } from '../core/time-zone.ts'
import { tabs } from './components.ts'
import { day } from './format.ts'
import { type Html, html } from './html.ts'
import { dateInputs, type FilterValues, filterForm, filterValues } from './list-filter.ts'
import type { PageRequest } from './route.ts'
import { urlWithQuery } from './url.ts'

const PATH = '/admin'
const LENGTHS = [7, 30, 90]
const DEFAULT_DAYS = 30
/** Of one chart. */
const MAX_DAYS = 366
const DAY_MS = 86_400_000

export const PERIOD_FIELDS = ['from', 'to']

/** A period of whole days of the shop, and as many days before it. */
export interface Period {
  days: number
  firstDay: string
  lastDay: string
  before: string
  from: string
  to: string
  timeZone: string
  /** The parameters that select it, as in the address of the page. */
  values: FilterValues
}

/**
 * The period that was asked for: the last days including today, or those of the fields.
 *
 * @throws ApiError 400 for an invalid or future period.
 */
export function readPeriod({ ctx, query, zone, problem }: PageRequest): Period {
  const today = localDate(nowIso(ctx), zone)
  const values = filterValues(query, PERIOD_FIELDS)
  const range = (values.from || values.to) && !problem ? requireRange(values, today) : undefined
  if (range) return periodOf(range, zone, values)
  return lastDays({ ctx, query, zone })
}

/** The last days including today, of which a page has links to some. */
export function lastDays({ ctx, query, zone }: Pick<PageRequest, 'ctx' | 'query' | 'zone'>): Period {
  const today = localDate(nowIso(ctx), zone)
  const days = LENGTHS.find((length) => String(length) === query.get('days')) ?? DEFAULT_DAYS
  return periodOf({ first: addDays(today, 1 - days), last: today }, zone, { days: String(days) })
}

function requireRange({ from: first = '', to = '' }: FilterValues, today: string): { first: string; last: string } {
  const last = to || today
  for (const [name, text] of [
    ['from', first],
    ['to', last],
  ] as const)
    if (!isDay(text)) throw invalidField('period_invalid', name, `must be a day, such as ${today}.`)
  if (last > today) throw invalidField('period_invalid', 'to', 'must not be in the future.')
  if (last < first)
    throw to
      ? invalidField('period_invalid', 'to', 'must not be before the first day.')
      : invalidField('period_invalid', 'from', 'must not be in the future.')
  if (daysBetween(first, last) > MAX_DAYS)
    throw invalidField('period_invalid', 'from', `must be at most ${MAX_DAYS} days before the last day.`)
  return { first, last }
}

/** Including both. */
const daysBetween = (first: string, last: string): number => (Date.parse(last) - Date.parse(first)) / DAY_MS + 1

function periodOf({ first, last }: { first: string; last: string }, timeZone: string, values: FilterValues): Period {
  const days = daysBetween(first, last)
  return {
    days,
    firstDay: first,
    lastDay: last,
    before: startOfDay(addDays(first, -days), timeZone),
    from: startOfDay(first, timeZone),
    to: endOfDay(last, timeZone),
    timeZone,
    values,
  }
}

const daysText = (days: number): string => (days === 1 ? 'day' : `${days} days`)

/** The shown period and the one it is compared with. */
export const periodText = ({ days, firstDay, lastDay, values }: Period): Html =>
  values.days
    ? html`The last ${days} days, compared with the ${days} days before.`
    : html`${day(firstDay)}${days === 1 ? '' : html` – ${day(lastDay)}`}, compared with the ${daysText(days)} before.`

export const legendTexts = ({ days }: Period): [now: string, before: string] =>
  days === 1 ? ['This day', 'The day before'] : [`These ${days} days`, `The ${days} days before`]

/** Links to the last days. */
export const lengthTabs = ({ query }: PageRequest, path: string, current: string | undefined): Html =>
  tabs(
    'Period',
    LENGTHS.map((length) => ({
      to: urlWithQuery(path, { days: String(length), currency: query.get('currency') ?? '' }),
      text: `${length} days`,
      isCurrent: String(length) === current,
    })),
    'segments',
  )

/** Links to the last days, and a form for others. */
export const periodChoice = (request: PageRequest, { values }: Period): Html => {
  const currency = request.query.get('currency') ?? ''
  return html`${lengthTabs(request, PATH, request.problem ? undefined : values.days)}
${filterForm(request, {
  path: PATH,
  fields: html`${currency ? html`<input type="hidden" name="currency" value="${currency}">` : ''}${dateInputs(request)}`,
  button: 'Show',
  label: 'Other period',
})}`
}
