import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { affiliateNames } from '../../domains/affiliates/affiliates.ts'
import * as commissions from '../../domains/commissions/commissions.ts'
import { findByOrderName, orderNameOf, orderNames, refundedCents, search } from '../../domains/commissions/search.ts'
import { empty } from '../kit/components.ts'
import { amountCell, ROWS_AT_ONCE, wholeList } from '../kit/csv-download.ts'
import { earned, goods, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { type ListColumn, timeColumn } from '../kit/list-columns.ts'
import { affiliateField, amountsField, daysField, rare, selectField, textField } from '../kit/list-filter.ts'
import {
  chipsOf,
  isNarrowed,
  type ListFilter,
  type ListPage,
  NO_MATCH,
  numberedRows,
  type ShownRows,
  searchedTo,
} from '../kit/list-page.ts'
import { readListForPage } from '../kit/report-cache.ts'
import type { PageRequest } from '../kit/route.ts'
import { programOptions } from '../kit/select-options.ts'
import { badge, nameOf } from '../kit/status.ts'
import { nextPage, PAGE_SIZE, sizeOf } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'

type Commission = components['schemas']['Commission']
type Status = components['schemas']['CommissionStatus']

const PATH = '/admin/commissions'
const TABS = [
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
] as const satisfies (Status | 'ALL')[]

/**
 * Names for commission rows: affiliates by ID, adjusted orders by commission ID, and refunded goods in cents by
 * commission ID.
 */
interface Names {
  affiliates: Map<string, string>
  orders: Map<string, string>
  refunded: Map<string, number>
}

/** The list of commissions, without actions. */
export async function commissionList(request: PageRequest): Promise<ListPage<Commission>> {
  const { ctx } = request
  const programs = await programOptions(request)
  const program = selectField(request, { name: 'programId', label: 'Program', options: programs, isOpen: true })
  return {
    path: PATH,
    title: 'Commissions',
    tabs: {
      values: TABS,
      text: (status) => (status === 'PENDING' ? 'Awaiting approval' : nameOf(status ?? '')),
      // Without a tab: commissions awaiting approval, or all if there are none.
      first: async ({ affiliateId }) => {
        const counts = await commissions.countsByStatus(ctx, { ...(affiliateId && { affiliateId }) })
        return counts.get('PENDING') ? 'PENDING' : 'ALL'
      },
      counts: ({ affiliateId, values: { programId } }) =>
        commissions.countsByStatus(ctx, { ...(affiliateId && { affiliateId }), ...(programId && { programId }) }),
      countedBy: ['affiliate', 'programId'],
      // The server never sets it.
      rare: 'ACCEPTED',
    },
    filters: [
      textField(request, { name: 'order', label: 'Order', placeholder: '#1001', maxlength: 260, chip: 'Order' }),
      affiliateField(request),
      rare({ ...program, input: html`<div class="wide">${program.input}</div>` }),
      rare(daysField(request)),
      rare(amountsField(request, 'Commission', 'commission')),
    ],
    columns: (_filter, rows) => commissionColumns(request, rows),
    read: (filter) => read(request, filter),
    readFile: (filter) => (after) => readFile(ctx, filter, after),
    none,
  }
}

/** Columns of commissions, for the page and the CSV file. */
export async function commissionColumns(
  { ctx, zone }: Pick<PageRequest, 'ctx' | 'zone'>,
  rows: Commission[],
): Promise<ListColumn<Commission>[]> {
  const names = await readNames(ctx, rows)
  const nameIn = ({ affiliateId }: Commission) => names.affiliates.get(affiliateId)
  return [
    {
      label: 'Order',
      cell: (commission) => orderCell(commission, names),
      file: (commission) => orderOf(commission, names).order ?? null,
    },
    { label: 'Adjustment', file: (commission) => orderOf(commission, names).reason ?? null },
    {
      label: 'Affiliate',
      kind: 'name',
      card: 'bare',
      cell: (commission) => affiliateLink(commission.affiliateId, nameIn(commission)),
      file: (commission) => nameIn(commission) ?? null,
    },
    timeColumn({ label: 'Date', card: 'bare', zone }, ({ happenedAt }) => happenedAt),
    {
      label: 'Goods',
      kind: 'number',
      card: 'inline',
      cell: (commission) => goodsCell(commission, names),
      file: goodsAmount,
    },
    { label: 'Goods currency', file: (commission) => (isAdjustment(commission) ? null : commission.orderCurrency) },
    { label: 'Commission', kind: 'number', card: 'lead', cell: earnedCell, file: earnedAmount },
    { label: 'Tax withheld', file: ({ taxWithheldCents, currency }) => amountCell(taxWithheldCents, currency) },
    { label: 'Currency', file: ({ currency }) => currency },
    { label: 'Status', card: 'bare', cell: statusCell, file: ({ orderStatus }) => orderStatus },
    { label: 'Restriction', file: ({ restrictionReasonCode }) => restrictionReasonCode },
    { label: 'Payout', file: ({ payoutBatchId }) => payoutBatchId },
    { label: 'Commission ID', file: ({ id }) => id },
    { label: 'Affiliate ID', file: ({ affiliateId }) => affiliateId },
    { label: 'Order ID', file: ({ orderId }) => orderId },
  ]
}

export const isAdjustment = ({ trackingMethod }: Commission): boolean => trackingMethod === 'ADJUSTMENT'
const goodsCents = (commission: Commission): number => commission.orderSubtotalCents - commission.orderDiscountCents
const goodsAmount = (commission: Commission) =>
  isAdjustment(commission) ? null : amountCell(goodsCents(commission), commission.orderCurrency)
const earnedAmount = (commission: Commission) => amountCell(commission.commissionAmountCents, commission.currency)

/** The order, linked to its explanation. For an adjustment, the reason and the adjusted order. */
function orderCell(commission: Commission, names: Names): Html {
  const { order, reason } = orderOf(commission, names)
  if (reason === undefined)
    return html`<a href="${urlWithQuery('/admin/orders', { id: commission.orderId })}">${isolated(order ?? '')}</a>`
  return html`${isolated(reason)}<small>${order ? html`of order ${isolated(order)}` : 'Adjustment'}</small>`
}

export const affiliateLink = (id: string, name: string | undefined): Html =>
  html`<a href="/admin/affiliates/${id}">${isolated(name || id)}</a>`

const goodsCell = (commission: Commission, { refunded }: Names): Html | string =>
  isAdjustment(commission)
    ? '–'
    : goods(Math.max(0, goodsCents(commission)), refunded.get(commission.id) ?? 0, commission.orderCurrency)

/** A negative adjustment claws back a paid commission, in its own row. */
const earnedCell = ({ orderStatus, payoutBatchId, commissionAmountCents, currency }: Commission) =>
  orderStatus === 'REVERSED' && payoutBatchId !== null
    ? money(commissionAmountCents, currency)
    : earned(commissionAmountCents, currency, orderStatus)

const statusCell = ({ orderStatus, restrictionReasonCode: reason }: Commission): Html =>
  html`${badge(orderStatus)}${reason ? html`<small>${nameOf(reason)}</small>` : ''}`

async function readNames(ctx: Context, list: Commission[]): Promise<Names> {
  const ids = list.map(({ id }) => id)
  const affiliateIds = list.map(({ affiliateId }) => affiliateId)
  const [affiliates, orders, refunded] = await Promise.all([
    affiliateNames(ctx, affiliateIds),
    adjustedOrders(ctx, list),
    refundedCents(ctx, ids),
  ])
  return { affiliates, orders, refunded }
}

const ADJUSTMENT = /^adj:([^:]+):(.*)$/s

/** Names of the orders that a list's adjustments are about, by commission ID. */
export const adjustedOrders = (ctx: Context, list: Commission[]): Promise<Map<string, string>> =>
  orderNames(
    ctx,
    list.flatMap(({ orderId }) => ADJUSTMENT.exec(orderId)?.[1] ?? []),
  )

/** Why an adjustment was recorded. Its order ID contains the reason. */
function reasonOf(text: string): string {
  if (text === 'reversal') return 'Reversal'
  if (text === 'carry') return 'Debt carried forward'
  return text === 'returned' ? 'Returned payment' : `Refund ${text}`
}

/** The order's name as the merchant knows it. For an adjustment, the adjusted order and the reason. */
export function orderOf(
  commission: Commission,
  { orders }: Pick<Names, 'orders'>,
): { order: string | undefined; reason?: string } {
  if (!isAdjustment(commission)) return { order: orderNameOf(commission) }
  const [, commissionId = '', reason = ''] = ADJUSTMENT.exec(commission.orderId) ?? []
  return { order: orders.get(commissionId), reason: reasonOf(reason) }
}

/** Filters that the API's list supports as well. */
export const apiFilter = ({ status, affiliateId, values: { programId }, period }: ListFilter) => ({
  ...period,
  ...(status && { status: status as Status }),
  ...(affiliateId && { affiliateId }),
  ...(programId && { programId }),
})

/** The query for a search by amount; undefined if the filter has no amount. */
const amountQuery = (filter: ListFilter) => {
  const { currency, min: minAmountCents, max: maxAmountCents } = filter
  return currency === undefined ? undefined : { ...apiFilter(filter), currency, minAmountCents, maxAmountCents }
}

async function read(request: PageRequest, filter: ListFilter): Promise<ShownRows<Commission>> {
  const { ctx, query, zone } = request
  if (filter.values.order) return { rows: await findOfOrder(ctx, filter), rest: html`` }
  const amounts = amountQuery(filter)
  if (!amounts) return numberedRows(request, { path: PATH, list: commissions.list, query: apiFilter(filter) })
  const listQuery = { ...amounts, after: query.get('after') ?? undefined, limit: sizeOf(query) }
  const { list, notice } = await readListForPage(request, search, listQuery, 'Searching commissions…')
  if (!list) return { rest: notice }
  const { data, next } = list
  const hint = searchedTo(next, { isFull: data.length === listQuery.limit, zone })
  return { rows: data, rest: html`${hint}${nextPage(PATH, query, next?.after, true)}${notice}` }
}

async function readFile(ctx: PageRequest['ctx'], filter: ListFilter, after: string | undefined) {
  if (filter.values.order) return { rows: await findOfOrder(ctx, filter), next: undefined }
  const amounts = amountQuery(filter)
  if (!amounts) return wholeList(ctx, commissions.list, { ...apiFilter(filter), after }, ({ id }) => id)
  const { data, next } = await search(ctx, { ...amounts, after, limit: ROWS_AT_ONCE })
  return { rows: data, next: next?.after }
}

/** Finds an order's commissions by its ID or name. */
async function findOfOrder(ctx: PageRequest['ctx'], filter: ListFilter): Promise<Commission[]> {
  const { order = '' } = filter.values
  const { from: _from, to: _to, ...shared } = apiFilter(filter)
  const { data } = await commissions.list(ctx, { ...shared, externalOrderId: order, page: 1, limit: PAGE_SIZE })
  const named = (await findByOrderName(ctx, order)).filter(({ id }) => data.every((commission) => commission.id !== id))
  return [...data, ...named].filter((commission) => matchesAll(commission, filter))
}

function matchesAll(commission: Commission, filter: ListFilter): boolean {
  const { status, affiliateId, currency, values } = filter
  const { from, to } = filter.period
  const { min = commission.commissionAmountCents, max = commission.commissionAmountCents } = filter
  return (
    (!status || commission.orderStatus === status) &&
    (!affiliateId || commission.affiliateId === affiliateId) &&
    (!values.programId || commission.programId === values.programId) &&
    (!from || commission.happenedAt >= from) &&
    (!to || commission.happenedAt <= to) &&
    (!currency || commission.currency === currency) &&
    commission.commissionAmountCents >= min &&
    commission.commissionAmountCents <= max
  )
}

function none(filter: ListFilter): Html {
  if (isNarrowed(filter)) return NO_MATCH
  return filter.status === 'PENDING'
    ? empty(
        'No commissions await approval',
        'Orders in programs without automatic approval appear here.',
        'commissions',
      )
    : empty(
        'No commissions',
        html`Report an order to see its commission. The <a href="/api/v1/docs">quick start</a> shows how.`,
        'commissions',
      )
}

/** The filter's conditions as one sentence. */
export function conditionsText(list: ListPage<Commission>, filter: ListFilter): Html {
  const set = Object.entries(chipsOf(list, filter)).filter(([name]) => filter.values[name])
  return set.length
    ? html`<p>Filter: ${set.map(([, text], index) => html`${index > 0 ? ' · ' : ''}${text}`)}</p>`
    : html``
}
