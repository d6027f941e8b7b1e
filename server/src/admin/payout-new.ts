import { ApiError } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import * as payouts from '../payouts/payouts.ts'
import { field, form, input, withFormLabels } from './form.ts'
import { type Html, html } from './html.ts'
import { batchFacts } from './payout.ts'
import type { PageRequest, Route, View } from './route.ts'
import { OWNER_ONLY, validateBody } from './route.ts'
import { money } from './show.ts'

type Batch = components['schemas']['PayoutBatch']

const PATH = '/admin/payouts'

export const payoutNewRoutes: Route[] = [
  { path: '/payouts/new', roles: OWNER_ONLY, audit: 'payout.previewed', show },
  { path: '/payouts', roles: OWNER_ONLY, act: create, page: show },
]

interface BatchInput {
  from: string
  until: string
  currency: string | undefined
}

/** Previews the batch of a period, then creates it. */
async function show(request: PageRequest): Promise<View> {
  const given = request.form.size ? request.form : request.query
  const wanted = { ...lastMonth(request.ctx.now()), ...submitted(given) }
  const isSubmitted = given.has('from') && !request.form.size
  return {
    title: 'New payout batch',
    isEmpty: !isSubmitted,
    body: html`<p class="lead">A batch contains the approved commissions of a period that are not in another batch.</p>
<form class="filters" method="get" action="${PATH}/new">
${input({ name: 'from', label: 'First day (UTC)', type: 'date', value: wanted.from, required: true })}
${input({ name: 'until', label: 'Last day (UTC)', type: 'date', value: wanted.until, required: true })}
${input({ name: 'currency', label: 'Currency', value: wanted.currency, placeholder: request.ctx.shop.currency, maxlength: 3 })}
<button class="${isSubmitted ? '' : 'main'}">Preview</button></form>
${isSubmitted ? await preview(request, wanted) : ''}`,
  }
}

const submitted = (given: URLSearchParams): Partial<BatchInput> => {
  const [from, until, currency] = [field(given, 'from'), field(given, 'until'), field(given, 'currency')]
  return { ...(from && { from }), ...(until && { until }), ...(currency && { currency: currency.toUpperCase() }) }
}

function lastMonth(now: number): BatchInput {
  const today = new Date(now)
  const at = (months: number, date: number) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + months, date)).toISOString().slice(0, 10)
  return { from: at(-1, 1), until: at(0, 0), currency: undefined }
}

async function preview(request: PageRequest, wanted: BatchInput): Promise<Html> {
  try {
    const batch = await payouts.create(request.ctx, { ...bodyFrom(wanted), dryRun: true })
    return offer(request, wanted, batch)
  } catch (error) {
    // A rejected preview is a valid result of the page.
    if (!(error instanceof ApiError) || error.status === 503) throw error
    return html`<p class="notice wait" role="status">${withFormLabels(error.message)}</p>`
  }
}

const bodyFrom = ({ from, until, currency }: BatchInput) =>
  validateBody('createPayout', {
    periodStart: from,
    periodEnd: `${until}T23:59:59.999Z`,
    ...(currency && { currency }),
  })

const offer = (
  request: PageRequest,
  { from, until, currency }: BatchInput,
  batch: Batch,
): Html => html`<section class="card" aria-labelledby="preview"><h2 id="preview">Preview</h2>
${batchFacts(batch)}
${form(
  request,
  PATH,
  html`<input type="hidden" name="from" value="${from}"><input type="hidden" name="until" value="${until}"><input type="hidden" name="currency" value="${currency ?? ''}">
<button class="main">Create batch of ${money(batch.totals.netPayableCents, batch.currency)}</button> <span class="hint">This does not pay the batch.</span>`,
  'row',
)}</section>`

async function create({ ctx, form }: PageRequest) {
  const batch = await payouts.create(ctx, bodyFrom({ ...lastMonth(ctx.now()), ...submitted(form) }))
  const text = `The batch is created. Its ${batch.totals.commissions} commissions are now payable.`
  return { to: `${PATH}/${batch.id}`, flash: { text } }
}
