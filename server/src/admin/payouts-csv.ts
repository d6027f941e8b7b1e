import type { components } from '../contract/schema.d.ts'
import type { CsvCell } from '../core/csv.ts'
import { localDate } from '../core/time-zone.ts'
import * as payouts from '../payouts/payouts.ts'
import { amountCell, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './csv-download.ts'
import { readPayoutFilter } from './payout-filter.ts'
import { OWNER_ONLY, type PageRequest, type Route, type View } from './route.ts'

type Batch = components['schemas']['PayoutBatch']

/** The use case audits each page that it reads. */
export const payoutListFileRoutes: Route[] = [{ path: '/payouts.csv', roles: OWNER_ONLY, show: download }]

const headingOf = (zone: string) => [
  `First day (${zone})`,
  `Last day (${zone})`,
  'Status',
  'Affiliates',
  'Commissions',
  'Commission',
  'Tax withheld',
  'To pay',
  'Currency',
  `Created (${zone})`,
  `Paid (${zone})`,
  'Payout id',
]

async function download(request: PageRequest): Promise<View> {
  const { ctx, zone } = request
  const { listed } = readPayoutFilter(request)
  return listFile(request, { name: 'payouts', heading: headingOf(zone) }, async (after: string | undefined) => {
    const { data } = await payouts.list(ctx, { ...listed, page: 1, limit: ROWS_AT_ONCE, ...(after && { after }) })
    return { rows: data.map((one) => cells(one, zone)), next: nextAfter(data, ({ id }) => id ?? '') }
  })
}

const cells = ({ totals, ...batch }: Batch, zone: string): CsvCell[] => [
  localDate(batch.periodStart, zone),
  localDate(batch.periodEnd, zone),
  batch.status,
  totals.affiliates,
  totals.commissions,
  amountCell(totals.commissionCents, batch.currency),
  amountCell(totals.taxWithheldCents, batch.currency),
  amountCell(totals.netPayableCents, batch.currency),
  batch.currency,
  timeCell(batch.createdAt, zone),
  timeCell(batch.paidAt, zone),
  batch.id,
]
