import type { FoundAffiliate } from '../affiliates/lookup.ts'
import { invalid } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { isLargeList } from '../core/list-size.ts'
import { endOfDay, isDay, startOfDay } from '../core/time-zone.ts'
import { field, input, select } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { icon } from './icon.ts'
import { readKept } from './kept.ts'
import { findAffiliates, programOptions } from './lookup.ts'
import type { PageRequest } from './route.ts'
import { chips, dayText, tabs, typedAmount, typedCents, urlWithQuery } from './show.ts'

type Status = components['schemas']['CommissionStatus']

const PATH = '/admin/commissions'
export const STATUS_TABS = ['PENDING', 'APPROVED', 'PAYABLE', 'PAID', 'REJECTED', 'REFUNDED', 'ALL'] as const
type StatusTab = (typeof STATUS_TABS)[number]

/** The filter of the list of commissions, from the query or from a form that repeats it. */
export interface CommissionFilter {
  tab: StatusTab
  status: Status | undefined
  /** An order by its own name or id. */
  order: string | undefined
  /** As it was typed. */
  affiliate: string | undefined
  /** What the typed affiliate means. */
  matches: FoundAffiliate[]
  /** It is still being searched, and nothing matches before that. */
  isSearching: boolean
  affiliateId: string | undefined
  programId: string | undefined
  from: string | undefined
  to: string | undefined
  currency: string | undefined
  minAmountCents: number | undefined
  maxAmountCents: number | undefined
  /** The parameters that are set, as in the address of the list. */
  given: Record<string, string>
}

const NAMES = ['status', 'order', 'affiliate', 'programId', 'from', 'to', 'currency', 'min', 'max']

/**
 * Reads the filter. A typed affiliate that is not exactly one matches no commission.
 *
 * @throws ApiError 400 for an amount that is not one: without it, the filter would match more.
 */
export async function readFilter(request: PageRequest, sent: URLSearchParams): Promise<CommissionFilter> {
  const given = Object.fromEntries(
    NAMES.flatMap((name) => {
      const text = field(sent, name)
      return text ? [[name, text]] : []
    }),
  )
  const tab = STATUS_TABS.find((one) => one === given.status) ?? 'PENDING'
  const affiliate = given.affiliate
  const searched = affiliate ? await searchAffiliates(request, affiliate) : []
  const matches = searched ?? []
  const hasAmount = Boolean(given.min || given.max)
  const currency = given.currency?.toUpperCase() || (hasAmount ? request.ctx.shop.currency : undefined)
  if (currency && !/^[A-Z]{3}$/.test(currency))
    throw invalid('invalid_parameter', 'A currency has three letters, such as EUR.')
  return {
    tab,
    status: tab === 'ALL' ? undefined : tab,
    order: given.order,
    affiliate,
    matches,
    isSearching: searched === undefined,
    affiliateId: affiliate ? (matches.length === 1 ? matches[0]?.id : 'none') : undefined,
    programId: given.programId,
    from: given.from && firstInstantOf(given.from, request.zone),
    to: given.to && lastInstantOf(given.to, request.zone),
    currency,
    minAmountCents: given.min ? requireAmount(given.min, currency ?? '') : undefined,
    maxAmountCents: given.max ? requireAmount(given.max, currency ?? '') : undefined,
    given,
  }
}

/** The affiliates that a text means; undefined while a page of a large shop searches. A form waits for the search. */
async function searchAffiliates(request: PageRequest, text: string): Promise<FoundAffiliate[] | undefined> {
  const { value } = await readKept(request.ctx, {
    key: ['affiliate', text],
    isLarge: request.form.size === 0 && (await isLargeList(request.ctx, { list: 'affiliates' })),
    read: (own) => findAffiliates({ ...request, ctx: own }, text),
  })
  return value
}

function requireAmount(text: string, currency: string): number {
  const cents = typedCents(text, currency)
  if (cents === undefined)
    throw invalid('invalid_parameter', `An amount must be written like ${typedAmount(1050, currency)}.`)
  return cents
}

/** The first and the last instant of a typed day. Other text is left to the validation of the API. */
export const firstInstantOf = (text: string, zone: string): string => (isDay(text) ? startOfDay(text, zone) : text)
export const lastInstantOf = (text: string, zone: string): string => (isDay(text) ? endOfDay(text, zone) : text)

/** Whether the filter needs a search that reads rows one by one. */
export const isByAmount = ({ currency, minAmountCents, maxAmountCents }: CommissionFilter): boolean =>
  currency !== undefined || minAmountCents !== undefined || maxAmountCents !== undefined

/** Whether it narrows the list in another way than by status. */
export const isNarrowed = ({ given }: CommissionFilter): boolean => Object.keys(given).some((name) => name !== 'status')

const tabName = (one: StatusTab) => (one === 'PENDING' ? 'Awaiting approval' : one[0] + one.slice(1).toLowerCase())

export const statusTabs = ({ tab, given }: CommissionFilter): Html =>
  tabs(
    'By status',
    STATUS_TABS.map((one) => ({
      to: urlWithQuery(PATH, { ...given, status: one }),
      text: tabName(one),
      isCurrent: one === tab,
    })),
  )

/** The form above the list. Fields that are used rarely are behind a button; what is set is shown as links that remove it. */
export async function filterForm(
  request: PageRequest,
  { tab, given, matches, affiliate, currency, isSearching }: CommissionFilter,
): Promise<Html> {
  const programs = await programOptions(request)
  const program = programs.find(([id]) => id === given.programId)?.[1] ?? given.programId
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Filter">
<input type="hidden" name="status" value="${tab}">
${input({ name: 'order', label: 'Order', value: given.order, placeholder: '#1001', maxlength: 260 })}
${input({ name: 'affiliate', label: 'Affiliate', value: given.affiliate, placeholder: 'Name, email or code', maxlength: 320 })}
<details><summary>${icon('filter')}More filters</summary><div>
<div class="wide">${select('programId', 'Program', [['', 'All'], ...programs], given.programId ?? '')}</div>
${input({ name: 'from', label: 'From', type: 'date', value: given.from, maxlength: 10 })}
${input({ name: 'to', label: 'To', type: 'date', value: given.to, maxlength: 10 })}
${input({ name: 'min', label: 'At least', value: given.min, placeholder: typedAmount(1000, request.ctx.shop.currency), maxlength: 20 })}
${input({ name: 'max', label: 'At most', value: given.max, maxlength: 20 })}
${input({ name: 'currency', label: 'Currency', value: currency, placeholder: request.ctx.shop.currency, maxlength: 3 })}</div></details>
<div class="row"><button>Filter</button></div></form>
${chips(
  PATH,
  { ...given, status: tab },
  {
    order: html`Order ${isolated(given.order ?? '')}`,
    affiliate: html`Affiliate ${isolated((matches.length === 1 && matches[0]?.name) || (affiliate ?? ''))}`,
    programId: html`Program ${isolated(program ?? '')}`,
    from: html`From ${isolated(dayOr(given.from))}`,
    to: html`To ${isolated(dayOr(given.to))}`,
    min: html`At least ${isolated(given.min ?? '')}`,
    max: html`At most ${isolated(given.max ?? '')}`,
    currency: html`In ${isolated(given.currency ?? '')}`,
  },
)}
${affiliate && matches.length !== 1 && !isSearching ? ambiguous(affiliate, matches, given) : ''}`
}

const dayOr = (text = ''): string => (isDay(text) ? dayText(text) : text)

const ambiguous = (text: string, matches: FoundAffiliate[], given: Record<string, string>): Html =>
  matches.length === 0
    ? html`<p class="notice wait" role="status">No affiliate matches ${isolated(text)}.</p>`
    : html`<p class="notice wait" role="status">Several affiliates match ${isolated(text)}. Choose one: ${matches.map(
        ({ id, name }, index) =>
          html`${index > 0 ? ', ' : ''}<a href="${urlWithQuery(PATH, { ...given, affiliate: id })}">${isolated(name)}</a>`,
      )}</p>`
