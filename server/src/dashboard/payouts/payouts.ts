import { invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { daysOfMonth, lastMonth } from '../../core/time-zone.ts'
import * as commissions from '../../domains/commissions/commissions.ts'
import * as payoutFiles from '../../domains/payments/files.ts'
import { sumUnsent } from '../../domains/payments/lines.ts'
import * as payouts from '../../domains/payouts/payouts.ts'
import { commissionColumns } from '../commissions/commission-list.ts'
import { typedCents } from '../kit/amount-input.ts'
import { empty, tabs } from '../kit/components.ts'
import { checkbox, confirmation, field, form, input } from '../kit/form.ts'
import { counted, count as counts, dayText, money } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { listTable } from '../kit/list-columns.ts'
import { downloadList, showList } from '../kit/list-page.ts'
import { asOfNotice, loadingNotice, readForPage } from '../kit/report-cache.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View } from '../kit/route.ts'
import { pageOf, pager } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import {
  type BatchPayments,
  fileSection,
  lineSection,
  nextSteps,
  payoutLineRoutes,
  readPayments,
} from './payout-lines.ts'
import { payoutPage, stateOf } from './payout-list.ts'
import { type BatchInput, bodyFrom, preview, problemWith } from './payout-preview.ts'
import { batchAbout, batchFacts } from './payout-summary.ts'
import { currencyChoice, payoutWaitingRoutes } from './payout-waiting.ts'
import { reconcileRoutes } from './reconcile.ts'

type Schemas = components['schemas']
type Batch = Schemas['PayoutBatch']

const PATH = '/admin/payouts'
export const payoutRoutes: Route[] = [
  { path: '/payouts', roles: OWNER_ONLY, show: (request) => showList(request, payoutPage(request)), hasFilter: true },
  // The use case writes an audit record for each page it reads.
  { path: '/payouts.csv', roles: OWNER_ONLY, show: (request) => downloadList(request, payoutPage(request)) },
  { path: '/payouts/new', roles: OWNER_ONLY, audit: 'payout.previewed', show: showNew },
  { path: '/payouts', roles: OWNER_ONLY, act: create, page: showNew },
  ...payoutWaitingRoutes,
  ...reconcileRoutes,
  { path: '/payouts/:id', roles: OWNER_ONLY, audit: 'payout.shown', show },
  ...payoutLineRoutes,
  { path: '/payouts/:id/pay', roles: OWNER_ONLY, act: pay, page: show },
  { path: '/payouts/:id/cancel', roles: OWNER_ONLY, audit: 'payout.shown', show: confirmCancel },
  { path: '/payouts/:id/cancel', ...rolesAndAuditOf('cancelPayout'), act: cancelBatch, page: show },
]

/** Previews a period's batch, then creates it. */
async function showNew(request: PageRequest): Promise<View> {
  const submittedFields = request.form.size ? request.form : request.query
  const { zone } = request
  const defaults = { ...lastMonthOf(request), ...submitted(submittedFields) }
  const { field: currencyField, currency } = await currencyChoice(request, defaults.currency)
  const batchInput = { ...defaults, currency }
  const isSubmitted = submittedFields.has('from') && !request.form.size
  const problem = isSubmitted ? problemWith(request, batchInput) : undefined
  if (problem) request.problem = problem
  return {
    title: 'New payout batch',
    crumb: { to: PATH, text: 'Payouts' },
    lead: `A batch contains the approved commissions of a period that are not in another batch. Dates are in the time zone ${zone}.`,
    skipAudit: !isSubmitted,
    body: html`<form class="filters" method="get" action="${PATH}/new">
${input(request, { name: 'from', field: 'periodStart', label: 'First day', type: 'date', value: batchInput.from, required: true })}
${input(request, { name: 'until', field: 'periodEnd', label: 'Last day', type: 'date', value: batchInput.until, required: true })}
${currencyField}
${checkbox('includeEarlier', 'Include earlier commissions', batchInput.includeEarlier, 'Commissions from before the first day that were approved late or were below the minimum.')}
<div class="row"><button class="${isSubmitted ? '' : 'main'}">Preview</button></div></form>
${isSubmitted ? await preview(request, batchInput) : empty('Preview a period', 'The preview shows what is paid, and who is not paid and why. It changes nothing.', 'payouts')}`,
  }
}

const submitted = (fields: URLSearchParams): Partial<BatchInput> => {
  const [from, until, currency] = [field(fields, 'from'), field(fields, 'until'), field(fields, 'currency')]
  return {
    ...(from && { from }),
    ...(until && { until }),
    ...(currency && { currency: currency.toUpperCase() }),
    includeEarlier: field(fields, 'includeEarlier') === '1',
  }
}

function lastMonthOf({ ctx, zone }: PageRequest): BatchInput {
  const { first, last } = daysOfMonth(lastMonth(nowIso(ctx), zone))
  return { from: first, until: last, currency: undefined, includeEarlier: false }
}

async function create(request: PageRequest) {
  const input = { ...lastMonthOf(request), ...submitted(request.form) }
  const batch = await payouts.create(request.ctx, bodyFrom(request, input))
  const text = `Batch created. ${counted(batch.totals.commissions, 'commission is', 'commissions are')} now payable.`
  return { to: `${PATH}/${batch.id}`, flash: { text } }
}

const find = ({ ctx, params }: PageRequest) => payouts.find(ctx, params.id ?? '')

const VIEWS = ['payments', 'files', 'commissions'] as const

async function show(request: PageRequest): Promise<View> {
  const { query, zone } = request
  const batch = await find(request)
  const path = `${PATH}/${batch.id}`
  const view = VIEWS.find((view) => view === query.get('view')) ?? 'payments'
  const { status, totals } = batch
  const [payments, commissionList, canCancel] = await Promise.all([
    readPayments(request, batch),
    view === 'commissions' ? commissionSection(request, batch) : '',
    status === 'OPEN' || (status === 'FAILED' && hasCommissions(request, batch.id)),
  ])
  const tab = (name: (typeof VIEWS)[number], text: string) => ({
    to: name === 'payments' ? path : urlWithQuery(path, { view: name }),
    text,
    isCurrent: name === view,
  })
  return {
    title: `Payout of ${dayText(batch.periodStart, zone)} – ${dayText(batch.periodEnd, zone)}`,
    crumb: { to: PATH, text: 'Payouts' },
    subjectId: batch.id,
    badges: stateOf(batch),
    actions: canCancel ? html`<a class="button danger" href="${path}/cancel">Cancel this batch</a>` : undefined,
    body: html`${batchFacts(batch, request.zone)}
${status === 'OPEN' ? nextSteps(payments, payment(request, payments)) : ''}
${tabs('Content of this batch', [
  tab('payments', 'Payments'),
  tab('files', `Files ${counts(payments.files.length)}`),
  tab('commissions', `Commissions ${counts(totals.commissions)}`),
])}
${view === 'files' ? fileSection(request, payments) : view === 'commissions' ? commissionList : lineSection(request, payments)}
<section class="card" aria-labelledby="about"><h2 id="about">About</h2>${batchAbout(batch, zone)}</section>`,
  }
}

/** A batch's totals stay the same when commissions leave it. */
async function hasCommissions({ ctx }: PageRequest, payoutBatchId: string): Promise<boolean> {
  const { data } = await commissions.list(ctx, { payoutBatchId, page: 1, limit: 1, isUncounted: true })
  return data.length > 0
}

async function commissionSection(request: PageRequest, batch: Batch & { id: string }): Promise<Html> {
  const { query, zone } = request
  const listQuery = { ...pageOf(query), payoutBatchId: batch.id }
  const { value: readCtx, readAt } = await readForPage(request.ctx, {
    key: ['batch', batch, listQuery],
    cost: batch.totals.commissions,
    read: (readCtx) => commissions.list(readCtx, listQuery),
  })
  const notice = readCtx ? asOfNotice(readAt, zone) : loadingNotice('Counting matching rows…')
  const rows = readCtx?.data ?? []
  return html`${rows.length ? listTable('Commissions of this batch', await commissionColumns(request, rows), rows) : readCtx && html`<p>This batch contains no commissions.</p>`}
${notice}${readCtx && pager(`${PATH}/${batch.id}`, query, readCtx.pagination)}`
}

/** Typing the total prevents marking the wrong batch as paid, or one that changed after the page was loaded. */
function payment(request: PageRequest, { batch: { id, totals, currency }, files, lines }: BatchPayments): Html {
  const [ready, blocked] = [lines?.totals.READY, lines?.totals.BLOCKED]
  const unsent = ready && blocked && { lines: ready.lines + blocked.lines, cents: ready.cents + blocked.cents }
  const outside = unsent?.lines
    ? `I made ${files.length === 0 ? 'all' : 'the other'} ${counted(unsent.lines, 'payment')} (${money(unsent.cents, currency)}) outside of payment files.`
    : 'I made all other payments outside of payment files.'
  const returnedCents = returnedOf(files)
  const returned = returnedCents
    ? `Not including ${money(returnedCents, currency)} that was returned, which the next batch pays. `
    : ''
  return html`<details${files.length === 0 || request.form.has('total') ? html` open` : ''}><summary>Mark as paid</summary>
${form(
  request,
  `${PATH}/${id}/pay`,
  html`${input(request, { name: 'total', field: 'expectedTotalCents', label: 'Type the total to pay', suffix: `, ${money(totals.netPayableCents - returnedCents, currency)}`, required: true, maxlength: 30, hint: `${returned}Send the money first. This only records the payment, and cannot be undone.` })}
${unsent?.lines === 0 ? '' : checkbox('outside', outside, request.form.has('outside'))}
<button class="main">Mark as paid</button>`,
)}</details>`
}

/** The batch's total includes returned payments, which become payable again in the next batch. */
const returnedOf = (files: BatchPayments['files']): number => files.reduce((sum, file) => sum + file.returnedCents, 0)

async function pay(request: PageRequest) {
  const { id, currency, totals } = await find(request)
  const typed = typedCents(request.form.get('total') ?? '', currency)
  if (typed === undefined) throw invalidBody('Type the total exactly as shown, such as 1,440.00.')
  const expectedTotalCents = totals.netPayableCents
  const dueCents = expectedTotalCents - returnedOf(await payoutFiles.findAll(request.ctx, id))
  if (typed !== dueCents) throw payouts.totalMismatch(dueCents, typed, currency)
  const unsent = request.form.has('outside') ? { lines: 0, cents: 0 } : await sumUnsent(request.ctx, id)
  if (unsent.lines > 0)
    throw invalidBody(
      `${counted(unsent.lines, 'payment is', 'payments are')} not in a payment file (${money(unsent.cents, currency)}). Create a file for them, or confirm that you paid them another way.`,
    )
  await payouts.pay(request.ctx, { id, expectedTotalCents, action: 'pay' })
  return { to: `${PATH}/${id}`, flash: { text: 'Batch and commissions marked as paid.' } }
}

async function confirmCancel(request: PageRequest): Promise<View> {
  const { id, totals, currency } = await find(request)
  const unpaidCents = totals.netPayableCents - returnedOf(await payoutFiles.findAll(request.ctx, id))
  const text = html`<p>The unpaid commissions of this batch (${money(unpaidCents, currency)}) become approved again and can be added to another batch.</p>`
  return confirmation(request, {
    title: 'Cancel this batch?',
    crumb: { to: `${PATH}/${id}`, text: 'Payout' },
    subjectId: id,
    text,
    action: `${PATH}/${id}/cancel`,
    button: 'Cancel batch',
  })
}

async function cancelBatch({ ctx, params }: PageRequest) {
  const { id } = await payouts.cancel(ctx, params.id ?? '')
  return { to: `${PATH}/${id}`, flash: { text: 'Batch canceled. Its commissions are approved again.' } }
}
