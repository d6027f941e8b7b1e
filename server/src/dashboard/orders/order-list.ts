import { affiliateNames } from '../../domains/affiliates/affiliates.ts'
import { listReported, type ReportedOrder } from '../../domains/orders/reported.ts'
import { NO_AFFILIATE, type Outcome } from '../../domains/orders/search.ts'
import { affiliateLink } from '../commissions/commission-list.ts'
import { empty } from '../kit/components.ts'
import { amountCell } from '../kit/csv-download.ts'
import { earned, goods, UNDONE } from '../kit/format.ts'
import { html, isolated } from '../kit/html.ts'
import { type ListColumn, timeColumn } from '../kit/list-columns.ts'
import { affiliateField, amountsField, daysField, filterInput, rare, selectField } from '../kit/list-filter.ts'
import { isNarrowed, type ListFilter, type ListPage, NO_MATCH, type ShownRows, searchedTo } from '../kit/list-page.ts'
import { readListForPage } from '../kit/report-cache.ts'
import type { PageRequest } from '../kit/route.ts'
import { badge, nameOf } from '../kit/status.ts'
import { nextPage, pageOf, pager } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'

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

/** Small pages, because each order contains its facts, which are long. */
const ORDERS_AT_ONCE = 50

/** Every reported order, newest first, with or without a commission. The first field opens an order. */
export const orderListPage = (request: PageRequest): ListPage<ReportedOrder> => ({
  path: PATH,
  title: 'Orders',
  lead: 'Every order that was reported, with or without a commission. Open an order to see the decision and its reasons.',
  filters: [
    {
      names: [],
      input: filterInput(request, { name: 'id', label: 'Order', maxlength: 260, placeholder: '#1001' }),
    },
    affiliateField(request),
    selectField(request, {
      name: 'outcome',
      label: 'Outcome',
      options: OUTCOMES.map((outcome) => [outcome, nameOf(outcome)] as const),
    }),
    rare(daysField(request)),
    rare(amountsField(request, 'Goods', 'goods value')),
  ],
  button: 'Find',
  columns: (_filter, rows) => orderColumns(request, rows),
  read: (filter) => read(request, filter),
  readFile: (filter) => async (after) => {
    const { data, next } = await listReported(request.ctx, { ...queryOf(filter), after, limit: ORDERS_AT_ONCE })
    return { rows: data, next: next?.after }
  },
  none: (filter) =>
    isNarrowed(filter)
      ? NO_MATCH
      : empty('No orders yet', html`Report one. The <a href="/api/v1/docs">quick start</a> shows how.`, 'orders'),
})

/** Columns of orders, for the page and the CSV file. */
export async function orderColumns(
  { ctx, zone }: PageRequest,
  rows: ReportedOrder[],
): Promise<ListColumn<ReportedOrder>[]> {
  const ids = rows.flatMap(({ affiliateId }) => affiliateId ?? [])
  const names = await affiliateNames(ctx, ids)
  const affiliateCell = ({ affiliateId: id }: ReportedOrder) => (id === null ? '–' : affiliateLink(id, names.get(id)))
  const affiliateName = ({ affiliateId: id }: ReportedOrder) => id && (names.get(id) ?? null)
  return [
    { label: 'Order', cell: orderCell, file: ({ name }) => name },
    timeColumn({ label: 'Date', card: 'bare', zone }, ({ orderAt }) => orderAt),
    { label: 'Goods', kind: 'number', card: 'inline', cell: goodsCell, file: goodsAmount },
    { label: 'Goods currency', file: ({ orderCurrency }) => orderCurrency },
    { label: 'Outcome', card: 'bare', cell: outcomeCell, file: ({ outcome }) => outcome },
    { label: 'Affiliate', kind: 'name', card: 'bare', cell: affiliateCell, file: affiliateName },
    { label: 'Commission', kind: 'number', card: 'lead', cell: earnedCell, file: earnedAmount },
    { label: 'Currency', file: ({ commission }) => commission?.currency ?? null },
    { label: 'Affiliate ID', file: ({ affiliateId }) => affiliateId },
    { label: 'Order ID', file: ({ orderId }) => orderId },
  ]
}

const orderCell = ({ orderId, name }: ReportedOrder) =>
  html`<a href="${urlWithQuery(PATH, { id: orderId })}">${isolated(name)}</a>`
const outcomeCell = ({ outcome, restriction }: ReportedOrder) =>
  html`${badge(outcome)}${restriction ? html`<small>${nameOf(restriction)}</small>` : ''}`
const goodsCell = ({ goodsCents, refundedCents, orderCurrency }: ReportedOrder) =>
  goods(goodsCents, refundedCents, orderCurrency)
const goodsAmount = ({ goodsCents, orderCurrency }: ReportedOrder) => amountCell(goodsCents, orderCurrency)
const earnedCell = ({ commission, outcome }: ReportedOrder) =>
  commission ? earned(commission.cents, commission.currency, outcome) : '–'
/** The amounts add up to what the orders earn. */
const earnedAmount = ({ commission, outcome }: ReportedOrder) =>
  commission && amountCell(UNDONE.has(outcome) ? 0 : commission.cents, commission.currency)

const queryOf = ({ affiliateId, currency, min: minGoodsCents, max: maxGoodsCents, period, values }: ListFilter) => ({
  ...period,
  outcome: values.outcome as Outcome | undefined,
  affiliateId,
  currency,
  minGoodsCents,
  maxGoodsCents,
})

/** One page of the list, with links to the others. */
async function read(request: PageRequest, filter: ListFilter): Promise<ShownRows<ReportedOrder>> {
  const { query, zone } = request
  const listQuery = { ...queryOf(filter), ...pageOf(query), after: query.get('after') || undefined }
  const { list, notice } = await readListForPage(request, listReported, listQuery, 'Searching orders…')
  if (!list) return { rest: notice }
  const { data, next, total } = list
  if (total !== undefined) {
    const pagination = {
      page: listQuery.page,
      limit: listQuery.limit,
      total,
      totalPages: Math.ceil(total / listQuery.limit),
    }
    return { rows: data, rest: html`${notice}${pager(PATH, query, pagination)}` }
  }
  const shown = new URLSearchParams(query)
  shown.delete('page')
  const links = html`${searchedTo(next, { isFull: data.length === listQuery.limit, zone })}${notice}${nextPage(PATH, shown, next?.after, true)}`
  // A search that found nothing so far continues on the next page.
  return { ...((data.length || !next) && { rows: data }), rest: links }
}
