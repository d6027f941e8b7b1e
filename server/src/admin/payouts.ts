import type { components } from '../contract/schema.d.ts'
import * as payouts from '../payouts/payouts.ts'
import { html } from './html.ts'
import { payoutRoute } from './payout.ts'
import { payoutNewRoutes } from './payout-new.ts'
import type { PageRequest, Route, View } from './route.ts'
import { OWNER_ONLY } from './route.ts'
import { badge, day, empty, money } from './show.ts'
import { type Cell, type Column, numberColumn, pageOf, pager, table } from './table.ts'

type Batch = components['schemas']['PayoutBatch']

const PATH = '/admin/payouts'
const COLUMNS: Column[] = [
  'Period',
  'Status',
  numberColumn('Affiliates'),
  numberColumn('Commissions'),
  numberColumn('Withheld'),
  numberColumn('To pay'),
  'Created',
  'Paid',
]

export const payoutRoutes: Route[] = [
  { path: '/payouts', roles: OWNER_ONLY, show: list },
  ...payoutNewRoutes,
  ...payoutRoute,
]

async function list({ ctx, query }: PageRequest): Promise<View> {
  const { data, pagination } = await payouts.list(ctx, pageOf(query))
  return {
    title: 'Payouts',
    body: html`<p class="row"><a class="button main" href="${PATH}/new">New batch</a></p>
${data.length ? table('Payout batches', COLUMNS, data.map(row)) : empty('No payout batches yet', 'A batch contains the approved commissions of a period. Create one to pay your affiliates.')}
${pager(PATH, query, pagination)}`,
  }
}

const row = ({ totals, ...batch }: Batch): Cell[] => [
  html`<a href="${PATH}/${batch.id}">${day(batch.periodStart)} – ${day(batch.periodEnd)}</a>`,
  badge(batch.status),
  totals.affiliates,
  totals.commissions,
  money(totals.taxWithheldCents, batch.currency),
  money(totals.netPayableCents, batch.currency),
  day(batch.createdAt),
  batch.paidAt ? day(batch.paidAt) : '–',
]
