import type { components } from '../../contract/schema.d.ts'
import { sizesByStatus } from '../../core/lists.ts'
import { localDate } from '../../core/time-zone.ts'
import * as payouts from '../../domains/payouts/payouts.ts'
import { empty } from '../kit/components.ts'
import { amountCell, nextAfter, ROWS_AT_ONCE } from '../kit/csv-download.ts'
import { count, day } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { countColumn, type ListColumn, moneyColumn, timeColumn } from '../kit/list-columns.ts'
import { currencyField, daysField } from '../kit/list-filter.ts'
import { type ListFilter, type ListPage, NO_MATCH } from '../kit/list-page.ts'
import type { PageRequest } from '../kit/route.ts'
import { badge, nameOf } from '../kit/status.ts'
import { pageOf, pager } from '../kit/table.ts'
import { period } from './payout-summary.ts'
import { waitingSection } from './payout-waiting.ts'

type Batch = components['schemas']['PayoutBatch']

const PATH = '/admin/payouts'
const TABS = ['OPEN', 'PROCESSING', 'PAID', 'FAILED'] as const satisfies Batch['status'][]

/** What is awaiting payout, then the batches. A batch matches if its period includes one of the filter's days. */
export const payoutPage = (request: PageRequest): ListPage<Batch> => ({
  path: PATH,
  title: 'Payouts',
  name: 'Payout batches',
  lead: 'A batch contains a period’s approved commissions. Create a batch, send the money, then mark the batch as paid.',
  above: async () => html`${await waitingSection(request)}
<h2>Batches</h2>
`,
  tabs: {
    values: TABS,
    // Canceled batches have the status FAILED as well.
    text: (status) => (status === 'FAILED' ? 'Failed or canceled' : status ? nameOf(status) : 'All'),
    counts: () => sizesByStatus(request.ctx, { list: 'payoutBatches' }),
  },
  filters: [currencyField(request), daysField(request)],
  columns: () => columns(request),
  // Each access is audited, so the list is never cached.
  read: async (filter) => {
    const { data, pagination } = await payouts.list(request.ctx, { ...queryOf(filter), ...pageOf(request.query) })
    return { rows: data, rest: pager(PATH, request.query, pagination) }
  },
  readFile: (filter) => async (after) => {
    const page = { page: 1, limit: ROWS_AT_ONCE, ...(after && { after }) }
    const { data } = await payouts.list(request.ctx, { ...queryOf(filter), ...page })
    return { rows: data, next: nextAfter(data, ({ id }) => id ?? '') }
  },
  none: ({ values }) =>
    Object.keys(values).length
      ? NO_MATCH
      : empty('No payout batches yet', 'Approve commissions, then create the first batch.', 'payouts'),
  actions: () =>
    html`<a class="button" href="${PATH}/reconcile">Reconcile</a><a class="button main" href="${PATH}/new">New batch</a>`,
})

const queryOf = ({ status, currency, period }: ListFilter) => ({
  ...period,
  ...(status && { status: status as Batch['status'] }),
  ...(currency && { currency }),
})

const columns = ({ zone }: PageRequest): ListColumn<Batch>[] => [
  { label: 'Period', cell: (batch) => html`<a href="${PATH}/${batch.id}">${period(batch, zone)}</a>` },
  { label: `First day (${zone})`, file: ({ periodStart }) => localDate(periodStart, zone) },
  { label: `Last day (${zone})`, file: ({ periodEnd }) => localDate(periodEnd, zone) },
  { label: 'Status', card: 'bare', cell: stateOf, file: ({ status }) => status },
  countColumn({ label: 'Affiliates', card: 'inline' }, ({ totals }) => totals.affiliates),
  countColumn({ label: 'Commissions', card: 'inline' }, ({ totals }) => totals.commissions),
  { label: 'Commission', file: ({ totals, currency }) => amountCell(totals.commissionCents, currency) },
  moneyColumn({ label: 'Withheld', card: 'inline', fileLabel: 'Tax withheld' }, ({ totals, currency }) => [
    totals.taxWithheldCents,
    currency,
  ]),
  moneyColumn({ label: 'To pay', card: 'lead' }, ({ totals, currency }) => [totals.netPayableCents, currency]),
  { label: 'Currency', file: ({ currency }) => currency },
  timeColumn({ label: 'Created', card: 'inline', zone, show: day }, ({ createdAt }) => createdAt),
  timeColumn({ label: 'Paid', card: 'inline', zone, show: day }, ({ paidAt }) => paidAt),
  { label: 'Payout ID', file: ({ id }) => id },
]

/** The API reports a batch without commissions as `FAILED`, whatever the reason. */
export const stateOf = ({
  status,
  failureReason,
  progress,
}: Pick<Batch, 'status' | 'failureReason' | 'progress'>): Html =>
  html`${badge(status === 'FAILED' && failureReason === payouts.CANCELED_REASON ? 'CANCELED' : status)}${
    progress ? html` <small>${count(progress.movedCommissions)} of ${count(progress.commissions)}</small>` : ''
  }`
