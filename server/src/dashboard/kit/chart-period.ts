import { invalidField } from '../../contract/errors.ts'
import { nowIso } from '../../core/context.ts'
import { addDays, endOfDay, isDay, localDate, startOfDay } from '../../core/time-zone.ts'
import { tabs } from './components.ts'
import { day } from './format.ts'
import { type Html, html } from './html.ts'
import { dateInputs, type FilterValues, filterForm, filterValues } from './list-filter.ts'
import type { PageRequest } from './route.ts'
import { urlWithQuery } from './url.ts'

const PATH = '/admin'
const LENGTHS = [7, 30, 90]
const DEFAULT_DAYS = 30
/** The longest period of a chart. */
const MAX_DAYS = 366
const DAY_MS = 86_400_000

const PERIOD_FIELDS = ['from', 'to']

/** A period of whole days in the shop's time zone, and an earlier one with as many days that starts on the same weekday. */
export interface Period {
  days: number
  firstDay: string
  lastDay: string
  /** The earlier period's first day: a multiple of seven days before, so that each day is compared with its weekday. */
  earlierDay: string
  before: string
  from: string
  to: string
  timeZone: string
  /** The URL parameters that select it. */
  values: FilterValues
}

/**
 * The requested period: the last days including today, or the days in the form.
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

/** The last days, including today. Pages link to common lengths. */
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

/** The number of days, including both ends. */
const daysBetween = (first: string, last: string): number => (Date.parse(last) - Date.parse(first)) / DAY_MS + 1

function periodOf({ first, last }: { first: string; last: string }, timeZone: string, values: FilterValues): Period {
  const days = daysBetween(first, last)
  const earlierDay = addDays(first, -7 * Math.ceil(days / 7))
  return {
    days,
    firstDay: first,
    lastDay: last,
    earlierDay,
    before: startOfDay(earlierDay, timeZone),
    from: startOfDay(first, timeZone),
    to: endOfDay(last, timeZone),
    timeZone,
    values,
  }
}

const daysText = (first: string, days: number): Html =>
  days === 1 ? html`${day(first)}` : html`${day(first)} – ${day(addDays(first, days - 1))}`

/** Names the period and the one it is compared with. */
export const periodText = ({ days, firstDay, earlierDay, values }: Period): Html =>
  html`${values.days ? `The last ${days} days` : daysText(firstDay, days)}, compared with the same weekdays of ${daysText(earlierDay, days)}.`

export const legendTexts = ({ days, earlierDay }: Period): [now: Html, before: Html] => [
  html`${days === 1 ? 'This day' : `These ${days} days`}`,
  html`${daysText(earlierDay, days)}`,
]

/** Links to the common lengths. */
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

/** Links to the common lengths, and a form for any period. */
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
