import { invalidField } from '../../contract/errors.ts'
import { isCurrency } from '../../contract/is-currency.ts'
import { nowIso } from '../../core/context.ts'
import { rowsOf } from '../../core/lists.ts'
import { parseQueryInstant } from '../../core/time.ts'
import { daysOfMonth, endOfDay, isDay, lastMonth, localDate, startOfDay } from '../../core/time-zone.ts'
import type { FoundAffiliate } from '../../domains/affiliates/search.ts'
import { typedAmount, typedCents } from './amount-input.ts'
import { tabs } from './components.ts'
import { field, hidden, type Input, input, select } from './form.ts'
import { dayText, money } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import { icon } from './icon.ts'
import { readForPage } from './report-cache.ts'
import type { PageRequest } from './route.ts'
import { findAffiliates } from './select-options.ts'
import { PAGE_SIZE, sizeOf } from './table.ts'
import { urlWithQuery } from './url.ts'

/** A list's filter values, as in the URL. */
export type FilterValues = Record<string, string>

export const filterValues = (query: URLSearchParams, names: readonly string[]): FilterValues =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = field(query, name)
      return text ? [[name, text]] : []
    }),
  )

/** One field of a list's filter. */
export interface FilterField {
  /** Its parameters. */
  names: readonly string[]
  /** Other values are ignored. */
  values?: readonly string[]
  /** A fixed value that overrides the URL. */
  fixed?: string | undefined
  input: Html
  /** The text of each active condition, by parameter. */
  chips?: (filter: AffiliateFilter & { values: FilterValues }) => Record<string, Html>
  /** Shown only behind the “More filters” button. */
  isRare?: boolean
  /** Adds links to this month and last month. */
  hasMonths?: boolean
}

/** Marks a field as rarely used. */
export const rare = (field: FilterField): FilterField => ({ ...field, isRare: true })

/** @param name the condition's name, shown before the typed value */
export const textField = (request: PageRequest, field: Input & { chip: string }): FilterField => {
  const { chip, ...options } = field
  return {
    names: [field.name],
    input: filterInput(request, options),
    chips: (filter) => ({ [field.name]: html`${chip} ${isolated(filter.values[field.name] ?? '')}` }),
  }
}

type Options = readonly (readonly [value: string, text: string])[]

/** @param isOpen whether to accept values that are not options */
export const selectField = (
  { form, query }: PageRequest,
  {
    name,
    label,
    options,
    any = 'All',
    isOpen = false,
  }: { name: string; label: string; options: Options; any?: string; isOpen?: boolean },
): FilterField => {
  const value = field(form.size ? form : query, name) ?? ''
  const text = options.find(([option]) => option === value)?.[1] ?? value
  return {
    names: [name],
    ...(!isOpen && { values: options.map(([option]) => option) }),
    input: select(name, label, [['', any], ...options], value),
    chips: () => ({ [name]: html`${label} ${isolated(text)}` }),
  }
}

export const affiliateField = (request: PageRequest): FilterField => ({
  names: ['affiliate'],
  input: filterInput(request, {
    name: 'affiliate',
    label: 'Affiliate',
    placeholder: 'Name, email, or code',
    maxlength: 320,
  }),
  chips: (filter) => ({ affiliate: affiliateChip(filter) }),
})

export const daysField = (request: PageRequest): FilterField => ({
  names: ['from', 'to'],
  input: dateInputs(request),
  chips: ({ values: { from, to } }) => ({
    from: html`From ${isolated(dayOr(from))}`,
    to: html`To ${isolated(dayOr(to))}`,
  }),
  hasMonths: true,
})

/** @param amount the compared amount: `Commission`, and in the middle of a label */
export const amountsField = (request: PageRequest, amount: string, inLabel: string): FilterField => {
  const shopCurrency = request.ctx.shop.currency
  return {
    names: ['min', 'max', 'currency'],
    input: html`${filterInput(request, { name: 'min', label: `Minimum ${inLabel}`, placeholder: typedAmount(1000, shopCurrency), maxlength: 20 })}
${filterInput(request, { name: 'max', label: `Maximum ${inLabel}`, maxlength: 20 })}
${currencyField(request).input}`,
    chips: (filter) => {
      const { min, max, currency = shopCurrency } = filter.values
      return {
        min: html`${amount} at least ${isolated(amountOr(min, currency))}`,
        max: html`${amount} at most ${isolated(amountOr(max, currency))}`,
        ...currencyField(request).chips?.(filter),
      }
    },
  }
}

export const currencyField = (request: PageRequest): FilterField => ({
  names: ['currency'],
  input: filterInput(request, {
    name: 'currency',
    label: 'Currency',
    placeholder: request.ctx.shop.currency,
    maxlength: 3,
  }),
  chips: ({ values }) => ({ currency: html`Currency ${isolated(values.currency?.toUpperCase() ?? '')}` }),
})

/** A typed day's first and last instant. Other text is left for the API to reject. */
export const firstInstantOf = (text: string, zone: string): string => (isDay(text) ? startOfDay(text, zone) : text)
export const lastInstantOf = (text: string, zone: string): string => (isDay(text) ? endOfDay(text, zone) : text)

/** A typed day, formatted. */
export const dayOr = (text = ''): string => (isDay(text) ? dayText(text) : text)

export interface Period {
  from?: string
  to?: string
}

/**
 * The instants for the fields `from` and `to`.
 *
 * @throws ApiError 400 for text that is not a day, or an end before the start.
 */
export function readPeriod({ zone, problem }: PageRequest, values: FilterValues): Period {
  if (problem) return {}
  const from = parseQueryInstant('from', values.from && firstInstantOf(values.from, zone))
  const to = parseQueryInstant('to', values.to && lastInstantOf(values.to, zone))
  if (from && to && to < from) throw invalidField('period_invalid', 'to', 'must not be before the first day.')
  return { ...(from && { from }), ...(to && { to }) }
}

export interface Amounts {
  currency: string | undefined
  min: number | undefined
  max: number | undefined
}

/**
 * The fields `min` and `max` in cents of `currency`, by default the shop's.
 *
 * @throws ApiError 400 for an invalid amount or currency. Ignoring it would match more rows than requested.
 */
export function readAmounts({ ctx, problem }: PageRequest, values: FilterValues): Amounts {
  const shopCurrency = values.min || values.max ? ctx.shop.currency : undefined
  const currency = values.currency?.toUpperCase() ?? shopCurrency
  if (problem || currency === undefined) return { currency, min: undefined, max: undefined }
  if (!isCurrency(currency))
    throw invalidField('invalid_parameter', 'currency', 'must be an ISO 4217 currency, such as USD.')
  const [min, max] = ['min', 'max'].map((name) => requireAmount(values, name, currency))
  if (min !== undefined && max !== undefined && max < min)
    throw invalidField('invalid_parameter', 'max', 'must not be less than the minimum.')
  return { currency, min, max }
}

function requireAmount(values: FilterValues, name: string, currency: string): number | undefined {
  const text = values[name]
  if (!text) return undefined
  const cents = typedCents(text, currency)
  if (cents === undefined)
    throw invalidField('invalid_parameter', name, `must be an amount, such as ${typedAmount(1050, currency)}.`)
  return cents
}

/** A typed affiliate and the matching affiliates. */
export interface AffiliateFilter {
  /** The typed text. */
  affiliate: string | undefined
  matches: FoundAffiliate[]
  /** The search is still running; until it ends, nothing matches. */
  isSearching: boolean
  /** The affiliate's ID if exactly one matches, otherwise an ID that does not exist. */
  affiliateId: string | undefined
}

/** Reads the field `affiliate`. Pages of large shops do not wait for the search; forms do. */
export async function readAffiliate(request: PageRequest, { affiliate }: FilterValues): Promise<AffiliateFilter> {
  if (!affiliate || request.problem?.field === 'affiliate')
    return { affiliate: undefined, matches: [], isSearching: false, affiliateId: undefined }
  const { value } = await readForPage(request.ctx, {
    key: ['affiliate', affiliate],
    cost: request.form.size ? undefined : rowsOf({ list: 'affiliates' }),
    read: (readCtx) => findAffiliates({ ...request, ctx: readCtx }, affiliate),
  })
  const matches = value ?? []
  const affiliateId = matches.length === 1 ? matches[0]?.id : 'none'
  return { affiliate, matches, isSearching: value === undefined, affiliateId }
}

/** The matching affiliate's name, or the typed text. */
const affiliateChip = ({ affiliate, matches }: AffiliateFilter): Html =>
  html`Affiliate ${isolated((matches.length === 1 && matches[0]?.name) || (affiliate ?? ''))}`

/** A notice if no affiliate matches, or a link to each if several do. */
export function affiliateNotice(
  path: string,
  { affiliate, matches, isSearching }: AffiliateFilter,
  values: FilterValues,
): Html {
  if (!affiliate || matches.length === 1 || isSearching) return html``
  if (matches.length === 0)
    return html`<p class="notice wait" role="status">No affiliate matches ${isolated(affiliate)}.</p>`
  return html`<p class="notice wait" role="status">Several affiliates match ${isolated(affiliate)}. Choose one: ${matches.map(
    ({ id, name }, index) =>
      html`${index > 0 ? ', ' : ''}<a href="${urlWithQuery(path, { ...values, affiliate: id })}">${isolated(name)}</a>`,
  )}</p>`
}

/** A filter's input with the submitted value, marked if it was rejected. */
export const filterInput = (request: PageRequest, field: Input): Html =>
  input(request, {
    value: (request.form.size ? request.form : request.query).get(field.name)?.trim() ?? '',
    ...field,
  })

interface FilterFields {
  path: string
  fields: Html | Html[]
  /** Rarely used fields, behind a button. */
  more?: { names: readonly string[]; fields: Html | Html[] }
  button?: string
  /** The accessible name, for a form that does not filter a list. */
  label?: string
  /** Whether the button is the page's main action. */
  isMain?: boolean
}

/** The form above a list. A rejected filter is shown again with the reason. */
export function filterForm({ problem, query }: PageRequest, filterFields: FilterFields): Html {
  const { path, fields, more, button = 'Filter', label, isMain } = filterFields
  const isBehind = problem?.field !== undefined && more?.names.includes(problem.field)
  return html`<form class="filters" method="get" action="${path}"${label ? '' : html` role="search"`} aria-label="${label ?? 'Filter'}">
${sizeOf(query) === PAGE_SIZE ? '' : hidden('size', String(sizeOf(query)))}${fields}
${more ? html`<details${isBehind ? html` open` : ''}><summary>${icon('filter')}More filters</summary><div>${more.fields}</div></details>` : ''}
<div class="row"><button class="${isMain ? 'main' : ''}">${button}</button></div></form>`
}

export const dateInputs = (request: PageRequest): Html =>
  html`${filterInput(request, { name: 'from', label: 'From', type: 'date', maxlength: 10 })}
${filterInput(request, { name: 'to', label: 'To', type: 'date', maxlength: 10 })}`

/** Links to this month and last month in the shop's time zone. */
export function monthLinks({ ctx, query, zone }: PageRequest, path: string, values: FilterValues): Html {
  const now = nowIso(ctx)
  const months = { 'This month': localDate(now, zone).slice(0, 7), 'Last month': lastMonth(now, zone) }
  const links = Object.entries(months).map(([text, month]) => {
    const { first: from, last: to } = daysOfMonth(month)
    const isCurrent = values.from === from && values.to === to
    return { to: urlWithQuery(path, { ...values, from, to, size: query.get('size') ?? undefined }), text, isCurrent }
  })
  return html`<div class="toolbar">${tabs('Month', links, 'segments')}</div>`
}

/** A typed amount as money. */
function amountOr(text = '', currency: string): string {
  const code = currency.toUpperCase()
  const cents = isCurrency(code) ? typedCents(text, code) : undefined
  return cents === undefined ? text : money(cents, code)
}
