import type { components } from '../contract/schema.d.ts'
import type { FileColumn } from '../core/csv.ts'
import { localDate } from '../core/time-zone.ts'
import * as payouts from '../domains/payouts/payouts.ts'
import { amountCell, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './csv-download.ts'
import { readPayoutFilter } from './payout-filter.ts'
import { OWNER_ONLY, type PageRequest, type Route, type View } from './route.ts'

type Batch = components['schemas']['PayoutBatch']

/** The use case audits each page that it reads. */
export const payoutListFileRoutes: Route[] = [{ path: '/payouts.csv', roles: OWNER_ONLY, show: download }]

const columnsOf = (zone: string): FileColumn<Batch>[] => [
  [`First day (${zone})`, ({ periodStart }) => localDate(periodStart, zone)],
  [`Last day (${zone})`, ({ periodEnd }) => localDate(periodEnd, zone)],
  ['Status', ({ status }) => status],
  ['Affiliates', ({ totals }) => totals.affiliates],
  ['Commissions', ({ totals }) => totals.commissions],
  ['Commission', ({ totals, currency }) => amountCell(totals.commissionCents, currency)],
  ['Tax withheld', ({ totals, currency }) => amountCell(totals.taxWithheldCents, currency)],
  ['To pay', ({ totals, currency }) => amountCell(totals.netPayableCents, currency)],
  ['Currency', ({ currency }) => currency],
  [`Created (${zone})`, ({ createdAt }) => timeCell(createdAt, zone)],
  [`Paid (${zone})`, ({ paidAt }) => timeCell(paidAt, zone)],
  ['Payout ID', ({ id }) => id],
]

async function download(request: PageRequest): Promise<View> {
  const { ctx, zone } = request
  const { listed } = readPayoutFilter(request)
  return listFile(request, { name: 'payouts', columns: columnsOf(zone) }, async (after: string | undefined) => {
    const { data } = await payouts.list(ctx, { ...listed, page: 1, limit: ROWS_AT_ONCE, ...(after && { after }) })
    return { rows: data, next: nextAfter(data, ({ id }) => id ?? '') }
  })
}
