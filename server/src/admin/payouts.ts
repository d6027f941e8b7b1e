import { html } from 'hono/html'
import type { components } from '../http/schema.d.ts'
import * as payouts from '../services/payouts.ts'
import { OWNERS } from './contract.ts'
import { pageOf, pager } from './paging.ts'
import { payoutRoute } from './payout.ts'
import { payoutNewRoutes } from './payout-new.ts'
import type { Html, Route, View, Visitor } from './route.ts'
import { badge, type Column, day, empty, money, table } from './show.ts'

type Batch = components['schemas']['PayoutBatch']

const PATH = '/admin/payouts'
const COLUMNS: Column[] = [
  'Period',
  'Status',
  { label: 'Affiliates', number: true },
  { label: 'Commissions', number: true },
  { label: 'Withheld', number: true },
  { label: 'To pay', number: true },
  'Created',
  'Paid',
]

export const payoutRoutes: Route[] = [
  { path: '/payouts', roles: OWNERS, show: list },
  ...payoutNewRoutes,
  ...payoutRoute,
]

async function list({ ctx, query }: Visitor): Promise<View> {
  const { data, pagination } = await payouts.list(ctx, pageOf(query))
  return {
    title: 'Payouts',
    body: html`<p class="row"><a class="button main" href="${PATH}/new">New batch</a></p>
${data.length ? table('Payout batches', COLUMNS, data.map(row)) : empty('No payout batches yet', 'A batch gathers the approved commissions of a period. Make one when you want to pay your affiliates.')}
${pager(PATH, query, pagination)}`,
  }
}

const row = ({
  totals,
  ...batch
}: Batch): Html => html`<tr><th scope="row"><a href="${PATH}/${batch.id}">${day(batch.periodStart)} – ${day(batch.periodEnd)}</a></th>
<td>${badge(batch.status)}</td><td class="number">${totals.affiliates}</td><td class="number">${totals.commissions}</td>
<td class="number">${money(totals.taxWithheldCents, batch.currency)}</td><td class="number">${money(totals.netPayableCents, batch.currency)}</td>
<td>${day(batch.createdAt)}</td><td>${batch.paidAt ? day(batch.paidAt) : '–'}</td></tr>`
