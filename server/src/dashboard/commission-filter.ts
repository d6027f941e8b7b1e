import type { components } from '../contract/schema.d.ts'
import { countsByStatus } from '../domains/commissions/commissions.ts'
import { chips, countOf, tabs } from './components.ts'
import { field, select } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import {
  type AffiliateFilter,
  affiliateChip,
  affiliateNotice,
  amountInputs,
  dateInputs,
  filterForm,
  filterInput,
  type Given,
  givenOf,
  monthLinks,
  rangeChips,
  readAffiliate,
  readAmounts,
  readPeriod,
} from './list-filter.ts'
import type { PageRequest } from './route.ts'
import { programOptions } from './select-options.ts'
import { urlWithQuery } from './url.ts'

type Status = components['schemas']['CommissionStatus']

const PATH = '/admin/commissions'
export const STATUS_TABS = [
  'PENDING',
  'APPROVED',
  'PAYABLE',
  'PAID',
  'REJECTED',
  'CANCELED',
  'REFUNDED',
  'REVERSED',
  'ACCEPTED',
  'ALL',
] as const
/** The service does not set it; its tab is shown when there is one. */
const RARE = 'ACCEPTED'
type StatusTab = (typeof STATUS_TABS)[number]

/** The filter of the list of commissions, from the query or from a form that repeats it. */
export interface CommissionFilter extends AffiliateFilter {
  tab: StatusTab
  status: Status | undefined
  /** An order by its own name or id. */
  order: string | undefined
  programId: string | undefined
  from: string | undefined
  to: string | undefined
  currency: string | undefined
  minAmountCents: number | undefined
  maxAmountCents: number | undefined
  /** The parameters that are set, as in the address of the list. */
  given: Given
  /** The rows of a page, as in the address. */
  size: string | undefined
}

const MORE = ['programId', 'from', 'to', 'min', 'max', 'currency']
export const COMMISSION_FILTERS = ['status', 'order', 'affiliate', ...MORE]

/**
 * Reads the filter. A typed affiliate that is not exactly one matches no commission.
 *
 * @throws ApiError 400 for a day or an amount that is not one: without it, the filter would match more.
 */
export async function readFilter(request: PageRequest, sent: URLSearchParams): Promise<CommissionFilter> {
  const given = givenOf(sent, COMMISSION_FILTERS)
  const { currency, min: minAmountCents, max: maxAmountCents } = readAmounts(request, given)
  const { from, to } = readPeriod(request, given)
  const affiliate = await readAffiliate(request, given)
  const tab = STATUS_TABS.find((one) => one === given.status) ?? (await firstTab(request, affiliate))
  return {
    ...affiliate,
    tab,
    status: tab === 'ALL' ? undefined : tab,
    order: given.order,
    programId: given.programId,
    from,
    to,
    currency,
    minAmountCents,
    maxAmountCents,
    given,
    size: field(sent, 'size'),
  }
}

/** The commissions that await approval; all of them where none does. */
async function firstTab({ ctx }: PageRequest, { affiliateId }: AffiliateFilter): Promise<StatusTab> {
  const counts = await countsByStatus(ctx, { ...(affiliateId && { affiliateId }) })
  return counts && !counts.get('PENDING') ? 'ALL' : 'PENDING'
}

/** Whether the filter needs a search that reads rows one by one. */
export const isByAmount = ({ currency, minAmountCents, maxAmountCents }: CommissionFilter): boolean =>
  currency !== undefined || minAmountCents !== undefined || maxAmountCents !== undefined

/** Whether it narrows the list in another way than by status. */
export const isNarrowed = ({ given }: CommissionFilter): boolean => Object.keys(given).some((name) => name !== 'status')

const tabName = (one: StatusTab) => (one === 'PENDING' ? 'Awaiting approval' : one[0] + one.slice(1).toLowerCase())

/** Filters with a stored count; others would have to count rows. */
const COUNTED = ['status', 'affiliate', 'programId']

export async function statusTabs({ ctx }: PageRequest, filter: CommissionFilter): Promise<Html> {
  const { tab, given, affiliateId, programId, isSearching, size } = filter
  const isCounted = !isSearching && Object.keys(given).every((name) => COUNTED.includes(name))
  const counts = isCounted
    ? await countsByStatus(ctx, { ...(affiliateId && { affiliateId }), ...(programId && { programId }) })
    : undefined
  return tabs(
    'By status',
    STATUS_TABS.filter((one) => one !== RARE || one === tab || countOf(counts, one)).map((one) => ({
      to: urlWithQuery(PATH, { ...given, status: one, size }),
      text: tabName(one),
      isCurrent: one === tab,
      count: countOf(counts, one === 'ALL' ? undefined : one),
    })),
  )
}

/** The form above the list. Fields that are used rarely are behind a button; what is set is shown as links that remove it. */
export async function commissionFilterForm(request: PageRequest, filter: CommissionFilter): Promise<Html> {
  const { tab, given, size } = filter
  const programs = await programOptions(request)
  return html`${filterForm(request, {
    path: PATH,
    fields: html`<input type="hidden" name="status" value="${tab}">
${filterInput(request, { name: 'order', label: 'Order', placeholder: '#1001', maxlength: 260 })}
${filterInput(request, { name: 'affiliate', label: 'Affiliate', placeholder: 'Name, email or code', maxlength: 320 })}`,
    more: {
      names: MORE,
      fields: html`<div class="wide">${select('programId', 'Program', [['', 'All'], ...programs], given.programId ?? '')}</div>
${dateInputs(request)}
${amountInputs(request, 'commission')}`,
    },
  })}
${monthLinks(request, PATH, { ...given, status: tab })}
${chips(PATH, { ...given, status: tab, size }, conditionTexts(request, filter, programs))}
${affiliateNotice(PATH, filter, given)}`
}

/** Each condition of the filter as text, by its field. */
function conditionTexts(
  { ctx }: PageRequest,
  filter: CommissionFilter,
  programs: Awaited<ReturnType<typeof programOptions>>,
) {
  const { given } = filter
  const program = programs.find(([id]) => id === given.programId)?.[1] ?? given.programId
  return {
    order: html`Order ${isolated(given.order ?? '')}`,
    affiliate: affiliateChip(filter),
    programId: html`Program ${isolated(program ?? '')}`,
    ...rangeChips(given, { amount: 'Commission', own: ctx.shop.currency }),
  }
}

/** The conditions that are set, in a sentence. */
export async function conditionsText(request: PageRequest, filter: CommissionFilter): Promise<Html> {
  const texts = Object.entries(conditionTexts(request, filter, await programOptions(request)))
  const set = texts.filter(([name]) => filter.given[name])
  return set.length
    ? html`<p>Filter: ${set.map(([, text], index) => html`${index > 0 ? ' · ' : ''}${text}`)}</p>`
    : html``
}
