import { sizesByStatus } from '../core/lists.ts'
import type { BatchFilter } from '../domains/payouts/payouts.ts'
import { chips, countOf, tabs } from './components.ts'
import { hidden } from './form.ts'
import { type Html, html } from './html.ts'
import {
  dateInputs,
  filterForm,
  filterInput,
  type Given,
  givenOf,
  monthLinks,
  rangeChips,
  readAmounts,
  readPeriod,
} from './list-filter.ts'
import type { PageRequest } from './route.ts'
import { nameOf } from './status.ts'
import { urlWithQuery } from './url.ts'

const PATH = '/admin/payouts'
const STATUSES = [undefined, 'OPEN', 'PROCESSING', 'PAID', 'FAILED'] as const
export const PAYOUT_FILTERS = ['status', 'currency', 'from', 'to']

interface PayoutFilter {
  /** The parameters that are set, as in the address of the list. */
  given: Given
  listed: BatchFilter
}

/** @throws ApiError 400 for a day or a currency that is not one. */
export function readPayoutFilter(request: PageRequest): PayoutFilter {
  const given = givenOf(request.query, PAYOUT_FILTERS)
  const status = STATUSES.find((one) => one === given.status)
  if (!status) delete given.status
  const { currency } = readAmounts(request, given)
  return { given, listed: { ...(status && { status }), ...(currency && { currency }), ...readPeriod(request, given) } }
}

/** The tabs and the form above the list. The days are those of periods: a batch matches if its period has one of them. */
export async function payoutFilterForm(request: PageRequest, { given, listed }: PayoutFilter): Promise<Html> {
  const { status } = listed
  const isCounted = Object.keys(given).every((name) => name === 'status')
  const counts = isCounted ? await sizesByStatus(request.ctx, { list: 'payoutBatches' }) : undefined
  return html`${tabs(
    'By status',
    STATUSES.map((one) => ({
      to: urlWithQuery(PATH, { ...given, status: one }),
      // Canceled batches are among those that failed.
      text: one === 'FAILED' ? 'Failed or canceled' : one ? nameOf(one) : 'All',
      isCurrent: one === status,
      count: countOf(counts, one),
    })),
  )}
${filterForm(request, {
  path: PATH,
  fields: html`${status ? hidden('status', status) : ''}
${filterInput(request, { name: 'currency', label: 'Currency', placeholder: request.ctx.shop.currency, maxlength: 3 })}
${dateInputs(request)}`,
})}
${monthLinks(request, PATH, given)}
${chips(PATH, given, rangeChips(given))}`
}
