import type { components } from '../contract/schema.d.ts'
import type { FileColumn } from '../core/csv.ts'
import * as commissions from '../domains/commissions/commissions.ts'
import { search } from '../domains/commissions/search.ts'
import { type CommissionFilter, isByAmount, readFilter } from './commission-filter.ts'
import { type CommissionNames, namesOf, orderOf } from './commission-table.ts'
import { amountsOf, findOfOrder, listFilter } from './commissions.ts'
import { amountCell, type FileRows, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './csv-download.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from './route.ts'

type Commission = components['schemas']['Commission']

export const commissionFileRoutes: Route[] = [
  { path: '/commissions.csv', roles: ALL_ROLES, audit: 'commissions.exported', show: download },
]

interface FileRow {
  commission: Commission
  names: CommissionNames
}

const columnsOf = (zone: string): FileColumn<FileRow>[] => [
  ['Order', ({ commission, names }) => orderOf(commission, names).order ?? null],
  ['Adjustment', ({ commission, names }) => orderOf(commission, names).reason ?? null],
  ['Affiliate', ({ commission, names }) => names.affiliates.get(commission.affiliateId) ?? null],
  [`Date (${zone})`, ({ commission }) => timeCell(commission.happenedAt, zone)],
  [
    'Goods',
    ({ commission }) =>
      isAdjustment(commission) ? null : amountCell(goodsCents(commission), commission.orderCurrency),
  ],
  ['Goods currency', ({ commission }) => (isAdjustment(commission) ? null : commission.orderCurrency)],
  ['Commission', ({ commission }) => amountCell(commission.commissionAmountCents, commission.currency)],
  ['Tax withheld', ({ commission }) => amountCell(commission.taxWithheldCents, commission.currency)],
  ['Currency', ({ commission }) => commission.currency],
  ['Status', ({ commission }) => commission.orderStatus],
  ['Restriction', ({ commission }) => commission.restrictionReasonCode],
  ['Payout', ({ commission }) => commission.payoutBatchId],
  ['Commission ID', ({ commission }) => commission.id],
  ['Affiliate ID', ({ commission }) => commission.affiliateId],
  ['Order ID', ({ commission }) => commission.orderId],
]

const isAdjustment = ({ trackingMethod }: Commission): boolean => trackingMethod === 'ADJUSTMENT'
const goodsCents = (commission: Commission): number => commission.orderSubtotalCents - commission.orderDiscountCents

/** The list of commissions with the same filter. */
async function download(request: PageRequest): Promise<View> {
  const filter = await readFilter(request, request.query)
  const columns = columnsOf(request.zone)
  return listFile(request, { name: 'commissions', columns }, (after: string | undefined) =>
    read(request, filter, after),
  )
}

async function read(
  request: PageRequest,
  filter: CommissionFilter,
  after: string | undefined,
): Promise<FileRows<FileRow, string>> {
  const { data, next } = await page(request, filter, after)
  const names = await namesOf(request, data)
  return { rows: data.map((commission) => ({ commission, names })), next }
}

async function page(
  { ctx }: PageRequest,
  filter: CommissionFilter,
  after: string | undefined,
): Promise<{ data: Commission[]; next: string | undefined }> {
  if (filter.order) return { data: await findOfOrder(ctx, filter), next: undefined }
  if (isByAmount(filter)) {
    const { data, next } = await search(ctx, {
      ...listFilter(filter),
      ...amountsOf(filter),
      after,
      limit: ROWS_AT_ONCE,
    })
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
