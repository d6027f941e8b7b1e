import { NO_AFFILIATE, type OrderFilter, type Outcome } from '../domains/orders/search.ts'
import { chips } from './components.ts'
import { select } from './form.ts'
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
import { nameOf } from './status.ts'

const PATH = '/admin/orders'
const OUTCOMES: Outcome[] = [
  'PENDING',
  'APPROVED',
  'PAYABLE',
  'PAID',
  'REJECTED',
  'CANCELED',
  'REFUNDED',
  'REVERSED',
  NO_AFFILIATE,
]
const MORE = ['from', 'to', 'min', 'max', 'currency']
export const ORDER_FILTERS = ['outcome', 'affiliate', ...MORE]

/** The filter of the list of orders. */
export interface OrderListFilter extends AffiliateFilter {
  /** The parameters that are set, as in the address of the list. */
  given: Given
  listed: OrderFilter
}

/** @throws ApiError 400 for a day or an amount that is not one: without it, the filter would match more. */
export async function readOrderFilter(request: PageRequest): Promise<OrderListFilter> {
  const given = givenOf(request.query, ORDER_FILTERS)
  const outcome = OUTCOMES.find((one) => one === given.outcome)
  if (!outcome) delete given.outcome
  const { currency, min, max } = readAmounts(request, given)
  const period = readPeriod(request, given)
  const affiliate = await readAffiliate(request, given)
  const { affiliateId } = affiliate
  return {
    ...affiliate,
    given,
    listed: { outcome, affiliateId, currency, minGoodsCents: min, maxGoodsCents: max, ...period },
  }
}

/** The form above the list. The first field opens an order. */
export function orderFilterForm(request: PageRequest, filter: OrderListFilter): Html {
  const { given } = filter
  const outcomes = OUTCOMES.map((one) => [one, nameOf(one)] as const)
  return html`${filterForm(request, {
    path: PATH,
    fields: html`${filterInput(request, { name: 'id', label: 'Order', maxlength: 260, placeholder: '#1001' })}
${filterInput(request, { name: 'affiliate', label: 'Affiliate', placeholder: 'Name, email or code', maxlength: 320 })}
${select('outcome', 'Outcome', [['', 'All'], ...outcomes], given.outcome ?? '')}`,
    more: { names: MORE, fields: html`${dateInputs(request)}${amountInputs(request, 'goods value')}` },
    button: 'Find',
  })}
${monthLinks(request, PATH, given)}
${chips(PATH, given, {
  outcome: html`Outcome ${isolated(nameOf(given.outcome ?? ' '))}`,
  affiliate: affiliateChip(filter),
  ...rangeChips(given, { amount: 'Goods', own: request.ctx.shop.currency }),
})}
${affiliateNotice(PATH, filter, given)}`
}
