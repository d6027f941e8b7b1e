import * as commissions from '../commissions/commissions.ts'
import { search } from '../commissions/search.ts'
import type { components } from '../contract/schema.d.ts'
import type { CsvCell } from '../core/csv.ts'
import { type CommissionFilter, isByAmount, readFilter } from './commission-filter.ts'
import { type CommissionNames, namesOf, orderOf } from './commission-table.ts'
import { findOfOrder, listFilter } from './commissions.ts'
import { amountCell, type FileRows, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './csv-download.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from './route.ts'

type Commission = components['schemas']['Commission']

export const commissionFileRoutes: Route[] = [
  { path: '/commissions.csv', roles: ALL_ROLES, audit: 'commissions.exported', show: download },
]

const headingOf = (zone: string) => [
  'Order',
  'Adjustment',
  'Affiliate',
  `Date (${zone})`,
  'Goods',
  'Goods currency',
  'Commission',
  'Tax withheld',
  'Currency',
  'Status',
  'Restriction',
  'Payout',
  'Commission id',
  'Affiliate id',
  'Order id',
]

/** The list of commissions with the same filter. */
async function download(request: PageRequest): Promise<View> {
  const filter = await readFilter(request, request.query)
  const heading = headingOf(request.zone)
  return listFile(request, { name: 'commissions', heading }, (after: string | undefined) =>
    read(request, filter, after),
  )
}

async function read(
  request: PageRequest,
  filter: CommissionFilter,
  after: string | undefined,
): Promise<FileRows<string>> {
  const { data, next } = await page(request, filter, after)
  const names = await namesOf(request, data)
  return { rows: data.map((one) => cells(one, names, request.zone)), next }
}

async function page(
  { ctx }: PageRequest,
  filter: CommissionFilter,
  after: string | undefined,
): Promise<{ data: Commission[]; next: string | undefined }> {
  if (filter.order) return { data: await findOfOrder(ctx, filter), next: undefined }
  if (isByAmount(filter)) {
    const { data, next } = await search(ctx, { ...filter, after }, ROWS_AT_ONCE)
    return { data, next: next?.after }
  }
  const { data } = await commissions.list(ctx, {
    ...listFilter(filter),
    page: 1,
    limit: ROWS_AT_ONCE,
    isUncounted: true,
    ...(after && { after }),
  })
  return { data, next: nextAfter(data, ({ id }) => id) }
}

function cells(one: Commission, names: CommissionNames, zone: string): CsvCell[] {
  const { order, reason } = orderOf(one, names)
  const isAdjustment = reason !== undefined
  return [
    order ?? null,
    reason ?? null,
    names.affiliates.get(one.affiliateId) ?? null,
    timeCell(one.happenedAt, zone),
    isAdjustment ? null : amountCell(one.orderSubtotalCents - one.orderDiscountCents, one.orderCurrency),
    isAdjustment ? null : one.orderCurrency,
    amountCell(one.commissionAmountCents, one.currency),
    amountCell(one.taxWithheldCents, one.currency),
    one.currency,
    one.orderStatus,
    one.restrictionReasonCode,
    one.payoutBatchId,
    one.id,
    one.affiliateId,
    one.orderId,
  ]
}
