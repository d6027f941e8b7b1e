import * as commissions from '../commissions/commissions.ts'
import { invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import * as payouts from '../payouts/payouts.ts'
import { cancel } from '../payouts/payouts.ts'
import { confirmation, form, input } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View } from './route.ts'
import { badge, day, money, time, typedCents, urlWithQuery } from './show.ts'
import { type Cell, type Column, nameColumn, numberColumn, pageOf, pager, slice, table } from './table.ts'

type Schemas = components['schemas']

const PATH = '/admin/payouts'

export const payoutRoute: Route[] = [
  { path: '/payouts/:id', roles: OWNER_ONLY, show },
  { path: '/payouts/:id/pay', roles: OWNER_ONLY, act: pay, page: show },
  { path: '/payouts/:id/cancel', roles: OWNER_ONLY, audit: 'payout.shown', show: confirmCancel },
  { path: '/payouts/:id/cancel', ...rolesAndAuditOf('cancelPayout'), act: cancelBatch, page: show },
]

const find = ({ ctx, params }: PageRequest) => payouts.find(ctx, params.id ?? '')

async function show(request: PageRequest): Promise<View> {
  const batch = await payouts.show(request.ctx, request.params.id ?? '')
  const own = await commissions.list(request.ctx, { ...pageOf(request.query), payoutBatchId: batch.id })
  return {
    title: `Payout batch of ${batch.periodStart.slice(0, 10)}`,
    body: html`${batchFacts(batch)}
${batch.status === 'OPEN' ? payment(request, batch) : ''}
${batch.status === 'OPEN' || (batch.status === 'FAILED' && own.data.length) ? html`<p><a class="button" href="${PATH}/${batch.id}/cancel">Cancel this batch</a></p>` : ''}
${lines(request, batch)}
<h2>Commissions</h2>
${own.data.length ? table('Commissions of this batch', ROWS, own.data.map(commissionRow)) : html`<p>This batch contains no commissions.</p>`}
${pager(`${PATH}/${batch.id}`, request.query, own.pagination)}`,
  }
}

function lines({ query }: PageRequest, batch: Schemas['PayoutBatch']): Html {
  const { data, pagination } = slice(batch.lines ?? [], query, 'lines')
  const rows = data.map((line) => lineRow(line, batch.currency))
  return html`<h2>Affiliates</h2>
${rows.length ? table('Affiliates', LINES, rows) : html`<p>This batch pays no affiliate.</p>`}
${pager(`${PATH}/${batch.id}`, query, pagination, 'lines')}`
}

const LINES: Column[] = [
  nameColumn('Affiliate'),
  nameColumn('Email'),
  numberColumn('Commissions'),
  numberColumn('Commission'),
  numberColumn('Withheld'),
  numberColumn('To pay'),
]
const ROWS: Column[] = ['Order', 'Happened', 'Status', numberColumn('Commission'), numberColumn('Withheld')]

const lineRow = (line: Schemas['PayoutLine'], currency: string): Cell[] => [
  line.name || line.affiliateId,
  line.email,
  line.commissions,
  money(line.commissionCents, currency),
  money(line.taxWithheldCents, currency),
  money(line.netPayableCents, currency),
]

const commissionRow = (one: Schemas['Commission']): Cell[] => [
  one.trackingMethod === 'ADJUSTMENT'
    ? 'Adjustment'
    : html`<a href="${urlWithQuery('/admin/orders', { id: one.orderId })}">${isolated(one.externalOrderId ?? one.orderId)}</a>`,
  time(one.happenedAt),
  badge(one.orderStatus),
  money(one.commissionAmountCents, one.currency),
  money(one.taxWithheldCents, one.currency),
]

/** Typing the total prevents paying the wrong batch, or one that has changed since the page was loaded. */
const payment = (
  request: PageRequest,
  { id, totals, currency }: Schemas['PayoutBatch'],
): Html => html`<section class="card" aria-labelledby="pay"><h2 id="pay">Mark as paid</h2>
${form(
  request,
  `${PATH}/${id}/pay`,
  html`${input({ name: 'total', label: `Type the total to pay, ${money(totals.netPayableCents, currency)}`, value: request.form.get('total') ?? '', required: true, maxlength: 30, hint: 'Send the money first. This only records the payment, and cannot be undone.' })}
<button class="main">Mark as paid</button>`,
)}</section>`

async function pay(request: PageRequest) {
  const { id, currency } = await find(request)
  const expectedTotalCents = typedCents(request.form.get('total') ?? '', currency)
  if (expectedTotalCents === undefined) throw invalidBody('Type the total exactly as shown, such as 1,440.00.')
  await payouts.pay(request.ctx, { id, expectedTotalCents, action: 'pay' })
  return { to: `${PATH}/${id}`, flash: { text: 'The batch and its commissions are marked as paid.' } }
}

async function confirmCancel(request: PageRequest): Promise<View> {
  const { id, totals, currency } = await find(request)
  const text = html`<p>The ${totals.commissions} commissions of this batch (${money(totals.netPayableCents, currency)} to pay) become approved again and can be added to another batch.</p>`
  const body = confirmation(request, {
    text,
    action: `${PATH}/${id}/cancel`,
    button: 'Cancel batch',
    back: `${PATH}/${id}`,
  })
  return { title: 'Cancel this batch?', body, subjectId: id }
}

async function cancelBatch({ ctx, params }: PageRequest) {
  const { id } = await cancel(ctx, params.id ?? '')
  return { to: `${PATH}/${id}`, flash: { text: 'The batch is canceled. Its commissions are approved again.' } }
}

type Batch = components['schemas']['PayoutBatch']

/** The facts of a batch or of its preview. */
export const batchFacts = (batch: Batch): Html => {
  const { totals, heldBack, currency } = batch
  return html`<dl class="facts">
<div><dt>Period</dt><dd>${day(batch.periodStart)} – ${day(batch.periodEnd)}</dd></div>
${batch.id ? html`<div><dt>Status</dt><dd>${badge(batch.status)}${batch.failureReason ? html` <small>${batch.failureReason}</small>` : ''}</dd></div>` : ''}
<div><dt>To pay</dt><dd><strong>${money(totals.netPayableCents, currency)}</strong></dd></div>
<div><dt>Commissions</dt><dd>${totals.commissions}, ${money(totals.commissionCents, currency)}</dd></div>
<div><dt>Affiliates</dt><dd>${totals.affiliates}</dd></div>
<div><dt>Tax withheld</dt><dd>${money(totals.taxWithheldCents, currency)}</dd></div>
<div><dt>Held back</dt><dd>${heldBack.commissions ? `${heldBack.commissions}, ${money(heldBack.commissionCents, currency)} of archived or rejected affiliates` : 'none'}</dd></div>
${batch.id ? html`<div><dt>Created</dt><dd>${time(batch.createdAt)}</dd></div><div><dt>Paid</dt><dd>${time(batch.paidAt, 'not yet')}</dd></div>` : ''}
</dl>`
}
