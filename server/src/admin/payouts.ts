import * as commissions from '../commissions/commissions.ts'
import { ApiError, invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { nowIso } from '../core/context.ts'
import { parseBodyInstant } from '../core/time.ts'
import { daysOfMonth, endOfDay, isDay, lastMonth, localDate, startOfDay } from '../core/time-zone.ts'
import * as payouts from '../payouts/payouts.ts'
import { describe } from '../payouts/unpaid.ts'
import { confirmation, field, form, input, select, withFormLabels } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View, validateBody } from './route.ts'
import { badge, day, empty, money, time, typedCents, urlWithQuery } from './show.ts'
import { type Cell, type Column, nameColumn, numberColumn, pageOf, pager, slice, table } from './table.ts'

type Schemas = components['schemas']
type Batch = Schemas['PayoutBatch']

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
  { path: '/payouts/new', roles: OWNER_ONLY, audit: 'payout.previewed', show: showNew },
  { path: '/payouts', roles: OWNER_ONLY, act: create, page: showNew },
  { path: '/payouts/:id', roles: OWNER_ONLY, show },
  { path: '/payouts/:id/pay', roles: OWNER_ONLY, act: pay, page: show },
  { path: '/payouts/:id/cancel', roles: OWNER_ONLY, audit: 'payout.shown', show: confirmCancel },
  { path: '/payouts/:id/cancel', ...rolesAndAuditOf('cancelPayout'), act: cancelBatch, page: show },
]

async function list({ ctx, query }: PageRequest): Promise<View> {
  const { data, pagination } = await payouts.list(ctx, pageOf(query))
  return {
    title: 'Payouts',
    body: html`<p class="row"><a class="button main" href="${PATH}/new">New batch</a></p>
${
  data.length
    ? table(
        'Payout batches',
        COLUMNS,
        data.map((batch) => row(batch, ctx.shop.timeZone)),
      )
    : empty(
        'No payout batches yet',
        'A batch contains the approved commissions of a period. Create one to pay your affiliates.',
      )
}
${pager(PATH, query, pagination)}`,
  }
}

const row = ({ totals, ...batch }: Batch, timeZone: string): Cell[] => [
  html`<a href="${PATH}/${batch.id}">${period(batch, timeZone)}</a>`,
  badge(batch.status),
  totals.affiliates,
  totals.commissions,
  money(totals.taxWithheldCents, batch.currency),
  money(totals.netPayableCents, batch.currency),
  day(batch.createdAt),
  batch.paidAt ? day(batch.paidAt) : '–',
]

/** Both days of a period in the time zone of the shop. */
const period = ({ periodStart, periodEnd }: Pick<Batch, 'periodStart' | 'periodEnd'>, timeZone: string): Html =>
  html`${dayIn(periodStart, timeZone)} – ${dayIn(periodEnd, timeZone)}`

const dayIn = (at: string, timeZone: string): Html =>
  html`<time datetime="${at}" title="${at}">${localDate(at, timeZone)}</time>`

interface BatchInput {
  from: string
  until: string
  currency: string | undefined
  /** What happens to approved commissions from before the period. */
  earlier: 'include' | 'exclude'
}

/** Previews the batch of a period, then creates it. */
async function showNew(request: PageRequest): Promise<View> {
  const sent = request.form.size ? request.form : request.query
  const { timeZone } = request.ctx.shop
  const batchInput = { ...lastMonthOf(request), ...submitted(sent) }
  const isSubmitted = sent.has('from') && !request.form.size
  return {
    title: 'New payout batch',
    isEmpty: !isSubmitted,
    body: html`<p class="lead">A batch contains the approved commissions of a period that are not in another batch.</p>
<form class="filters" method="get" action="${PATH}/new">
${input({ name: 'from', label: `First day (${timeZone})`, type: 'date', value: batchInput.from, required: true })}
${input({ name: 'until', label: `Last day (${timeZone})`, type: 'date', value: batchInput.until, required: true })}
${select('earlier', 'Earlier commissions', EARLIER, batchInput.earlier)}
${input({ name: 'currency', label: 'Currency', value: batchInput.currency, placeholder: request.ctx.shop.currency, maxlength: 3 })}
<button class="${isSubmitted ? '' : 'main'}">Preview</button></form>
${isSubmitted ? await preview(request, batchInput) : ''}`,
  }
}

const EARLIER = [
  ['include', 'Include those not paid yet'],
  ['exclude', 'Only this period'],
] as const

const submitted = (sent: URLSearchParams): Partial<BatchInput> => {
  const [from, until, currency] = [field(sent, 'from'), field(sent, 'until'), field(sent, 'currency')]
  return {
    ...(from && { from }),
    ...(until && { until }),
    ...(currency && { currency: currency.toUpperCase() }),
    ...(field(sent, 'earlier') === 'exclude' && { earlier: 'exclude' }),
  }
}

function lastMonthOf({ ctx }: PageRequest): BatchInput {
  const { first, last } = daysOfMonth(lastMonth(nowIso(ctx), ctx.shop.timeZone))
  return { from: first, until: last, currency: undefined, earlier: 'include' }
}

async function preview(request: PageRequest, batchInput: BatchInput): Promise<Html> {
  try {
    const batch = await payouts.create(request.ctx, { ...bodyFrom(request, batchInput), dryRun: true })
    return html`${offer(request, batchInput, batch)}${await unpaidAfter(request, batchInput)}`
  } catch (error) {
    // A rejected preview is a valid result of the page.
    if (!(error instanceof ApiError) || error.status === 503) throw error
    const notice = html`<p class="notice wait" role="status">${withFormLabels(error.message)}</p>`
    return error.status === 400 ? notice : html`${notice}${await unpaidAfter(request, batchInput)}`
  }
}

const bodyFrom = ({ ctx }: PageRequest, { from, until, currency, earlier }: BatchInput) =>
  validateBody('createPayout', {
    periodStart: firstInstantOf(from, ctx.shop.timeZone),
    periodEnd: lastInstantOf(until, ctx.shop.timeZone),
    includeEarlier: earlier === 'include',
    ...(currency && { currency }),
  })

/** Text that is not a day is left to the validation of the API. */
const firstInstantOf = (text: string, timeZone: string): string => (isDay(text) ? startOfDay(text, timeZone) : text)
const lastInstantOf = (text: string, timeZone: string): string =>
  isDay(text) ? endOfDay(text, timeZone) : `${text}T23:59:59.999Z`

const REASONS: Record<string, string> = {
  LATE: 'Approved after its month was paid',
  BELOW_MINIMUM: 'Below the minimum',
  DEBT: 'Owes for refunds',
  HELD_BACK: 'Archived or rejected',
}

/** What the batch does not pay, and why. */
async function unpaidAfter(request: PageRequest, batchInput: BatchInput): Promise<Html> {
  const { periodStart, periodEnd, includeEarlier, currency } = bodyFrom(request, batchInput)
  const { affiliates, truncated } = await describe(request.ctx, {
    periodStart: parseBodyInstant('periodStart', periodStart),
    periodEnd: parseBodyInstant('periodEnd', periodEnd),
    includeEarlier: includeEarlier === true,
    ...(currency && { currency }),
  })
  if (affiliates.length === 0) return html``
  const rows = affiliates.map((one): Cell[] => [
    one.name || one.affiliateId,
    one.minimumCents === null
      ? (REASONS[one.reason] ?? one.reason)
      : `${REASONS[one.reason]} of ${money(one.minimumCents, one.currency)}`,
    one.commissions,
    money(one.netPayableCents, one.currency),
    localDate(one.oldestAt, request.ctx.shop.timeZone),
  ])
  return html`<h2>Not in this batch</h2>
${table('Balances that wait', UNPAID, rows)}${truncated ? html`<p class="hint">Only the largest balances are shown.</p>` : ''}`
}

const UNPAID: Column[] = [
  nameColumn('Affiliate'),
  'Why',
  numberColumn('Commissions'),
  numberColumn('Balance'),
  'Oldest',
]

const offer = (
  request: PageRequest,
  { from, until, currency, earlier }: BatchInput,
  batch: Batch,
): Html => html`<section class="card" aria-labelledby="preview"><h2 id="preview">Preview</h2>
${batchFacts(batch, request)}
${form(
  request,
  PATH,
  html`<input type="hidden" name="from" value="${from}"><input type="hidden" name="until" value="${until}"><input type="hidden" name="currency" value="${currency ?? ''}"><input type="hidden" name="earlier" value="${earlier}">
<button class="main">Create batch of ${money(batch.totals.netPayableCents, batch.currency)}</button> <span class="hint">This does not pay the batch.</span>`,
  'row',
)}</section>`

async function create(request: PageRequest) {
  const input = { ...lastMonthOf(request), ...submitted(request.form) }
  const batch = await payouts.create(request.ctx, bodyFrom(request, input))
  const text = `The batch is created. Its ${batch.totals.commissions} commissions are now payable.`
  return { to: `${PATH}/${batch.id}`, flash: { text } }
}

const find = ({ ctx, params }: PageRequest) => payouts.find(ctx, params.id ?? '')

async function show(request: PageRequest): Promise<View> {
  const batch = await payouts.show(request.ctx, request.params.id ?? '')
  const own = await commissions.list(request.ctx, { ...pageOf(request.query), payoutBatchId: batch.id })
  return {
    title: `Payout batch of ${localDate(batch.periodStart, request.ctx.shop.timeZone)}`,
    body: html`${batchFacts(batch, request)}
${batch.status === 'OPEN' ? payment(request, batch) : ''}
${batch.status === 'OPEN' || (batch.status === 'FAILED' && own.data.length) ? html`<p><a class="button" href="${PATH}/${batch.id}/cancel">Cancel this batch</a></p>` : ''}
${lines(request, batch)}
<h2>Commissions</h2>
${own.data.length ? table('Commissions of this batch', ROWS, own.data.map(commissionRow)) : html`<p>This batch contains no commissions.</p>`}
${pager(`${PATH}/${batch.id}`, request.query, own.pagination)}`,
  }
}

function lines({ query }: PageRequest, batch: Batch): Html {
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
  { id, totals, currency }: Batch,
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
  const { id } = await payouts.cancel(ctx, params.id ?? '')
  return { to: `${PATH}/${id}`, flash: { text: 'The batch is canceled. Its commissions are approved again.' } }
}

/** The facts of a batch or of its preview. */
const batchFacts = (batch: Batch, { ctx }: PageRequest): Html => {
  const { totals, heldBack, currency } = batch
  return html`<dl class="facts">
<div><dt>Period</dt><dd>${period(batch, ctx.shop.timeZone)}${batch.includeEarlier ? ', and earlier' : ''}</dd></div>
${batch.id ? html`<div><dt>Status</dt><dd>${badge(batch.status)}${batch.failureReason ? html` <small>${batch.failureReason}</small>` : ''}</dd></div>` : ''}
<div><dt>To pay</dt><dd><strong>${money(totals.netPayableCents, currency)}</strong></dd></div>
<div><dt>Commissions</dt><dd>${totals.commissions}, ${money(totals.commissionCents, currency)}</dd></div>
<div><dt>Affiliates</dt><dd>${totals.affiliates}</dd></div>
<div><dt>Tax withheld</dt><dd>${money(totals.taxWithheldCents, currency)}</dd></div>
<div><dt>Held back</dt><dd>${heldBack.commissions ? `${heldBack.commissions}, ${money(heldBack.commissionCents, currency)} of archived or rejected affiliates` : 'none'}</dd></div>
${batch.id ? html`<div><dt>Created</dt><dd>${time(batch.createdAt)}</dd></div><div><dt>Paid</dt><dd>${time(batch.paidAt, 'not yet')}</dd></div>` : ''}
</dl>`
}
