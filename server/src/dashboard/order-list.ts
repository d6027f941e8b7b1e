import type { CsvCell, FileColumn } from '../core/csv.ts'
import { affiliateNames } from '../domains/affiliates/affiliates.ts'
import { type FoundOrders, listReported, type ReportedOrder } from '../domains/orders/reported.ts'
import { empty } from './components.ts'
import { amountCell, fileLink, listFile, timeCell } from './csv-download.ts'
import { earned, goods, time, UNDONE } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import { type OrderListFilter, orderFilterForm, readOrderFilter } from './order-filter.ts'
import { loadingNotice, readListForPage } from './report-cache.ts'
import type { PageRequest, View } from './route.ts'
import { badge } from './status.ts'
import { type Cell, type Column, inCard, nameColumn, nextPage, numberColumn, pageOf, pager, table } from './table.ts'
import { urlWithQuery } from './url.ts'

const PATH = '/admin/orders'
/** The names of affiliates by id. */
type Names = Map<string, string>

const COLUMNS: Column[] = [
  'Order',
  inCard('bare', 'Date'),
  inCard('inline', numberColumn('Goods')),
  inCard('bare', 'Outcome'),
  inCard('bare', nameColumn('Affiliate')),
  inCard('lead', numberColumn('Commission')),
]

/** Every reported order, newest first, whether somebody earns on it or not. */
export async function listOrders(request: PageRequest): Promise<View> {
  const filter = await readOrderFilter(request)
  const { found, notice } = request.problem ? NOTHING : await read(request, filter)
  const names = await affiliateNames(
    request.ctx,
    (found?.data ?? []).flatMap(({ affiliateId }) => affiliateId ?? []),
  )
  const rows = (found?.data ?? []).map((one) => row(one, names, request.zone))
  return {
    title: 'Orders',
    lead: 'Every order that was reported, with or without a commission. Open an order to see the decision and its reasons.',
    actions: rows.length ? fileLink(`${PATH}.csv`, new URLSearchParams(filter.given)) : undefined,
    body: html`${orderFilterForm(request, filter)}
${rows.length ? table('Orders', COLUMNS, rows) : found && emptyState(filter, found)}
${notice}`,
  }
}

/** A rejected filter matches nothing. */
const NOTHING = { found: undefined, notice: html`` }

/** A page of the list, and the links to the others. */
async function read(
  request: PageRequest,
  filter: OrderListFilter,
): Promise<{ found: FoundOrders | undefined; notice: Html }> {
  const { query, zone } = request
  if (filter.isSearching) return { found: undefined, notice: loadingNotice('Searching for the affiliate…') }
  const asked = { ...filter.listed, ...pageOf(query), after: query.get('after') || undefined }
  const { list: found, notice } = await readListForPage(request, listReported, asked, 'Searching orders…')
  if (!found) return { found, notice }
  const { data, next, total } = found
  const shown = new URLSearchParams(query)
  if (total !== undefined) {
    const pagination = { page: asked.page, limit: asked.limit, total, totalPages: Math.ceil(total / asked.limit) }
    return { found, notice: html`${notice}${pager(PATH, shown, pagination)}` }
  }
  shown.delete('page')
  const hint =
    next && data.length < asked.limit
      ? html`<p class="hint">Results go back to ${time(next.at, '–', zone)}. Continue on the next page.</p>`
      : ''
  return { found, notice: html`${hint}${notice}${nextPage(PATH, shown, next?.after, true)}` }
}

const row = (one: ReportedOrder, names: Names, zone: string): Cell[] => [
  html`<a href="${urlWithQuery(PATH, { id: one.orderId })}">${isolated(one.name)}</a>`,
  time(one.orderAt, '–', zone),
  goods(one.goodsCents, one.refundedCents, one.orderCurrency),
  badge(one.outcome),
  one.affiliateId === null
    ? '–'
    : html`<a href="/admin/affiliates/${one.affiliateId}">${isolated(names.get(one.affiliateId) || one.affiliateId)}</a>`,
  one.commission ? earned(one.commission.cents, one.commission.currency, one.outcome) : '–',
]

function emptyState({ given }: OrderListFilter, { next }: FoundOrders): Html {
  if (next) return html``
  return Object.keys(given).length
    ? empty('Nothing matches these filters', 'Change or clear them.', 'search')
    : empty('No orders yet', html`Report one. The <a href="/api/v1/docs">quick start</a> shows how.`, 'orders')
}

const fileColumns = (zone: string): FileColumn<{ order: ReportedOrder; names: Names }>[] => [
  ['Order', ({ order }) => order.name],
  [`Date (${zone})`, ({ order }) => timeCell(order.orderAt, zone)],
  ['Goods', ({ order }) => amountCell(order.goodsCents, order.orderCurrency)],
  ['Goods currency', ({ order }) => order.orderCurrency],
  ['Outcome', ({ order }) => order.outcome],
  ['Affiliate', ({ order, names }) => order.affiliateId && (names.get(order.affiliateId) ?? null)],
  ['Commission', ({ order: { outcome, commission } }) => commission && earnedCell(outcome, commission)],
  ['Currency', ({ order }) => order.commission?.currency ?? null],
  ['Affiliate ID', ({ order }) => order.affiliateId],
  ['Order ID', ({ order }) => order.orderId],
]

/** The sum of the column is what the orders earn. */
const earnedCell = (outcome: string, { cents, currency }: NonNullable<ReportedOrder['commission']>): CsvCell =>
  amountCell(UNDONE.has(outcome) ? 0 : cents, currency)

/** Orders contain their facts, which are long. */
const ORDERS_AT_ONCE = 50

/** The list with the same filter. */
export async function downloadOrders(request: PageRequest): Promise<View> {
  const { ctx, zone } = request
  const { listed } = await readOrderFilter(request)
  return listFile(request, { name: 'orders', columns: fileColumns(zone) }, async (after: string | undefined) => {
    const { data, next } = await listReported(ctx, { ...listed, after, limit: ORDERS_AT_ONCE })
    const ids = data.flatMap(({ affiliateId }) => affiliateId ?? [])
    const names = await affiliateNames(ctx, ids)
    return { rows: data.map((order) => ({ order, names })), next: next?.after }
  })
}
