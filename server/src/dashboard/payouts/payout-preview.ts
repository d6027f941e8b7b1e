import { ApiError } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { parseBodyInstant } from '../../core/time.ts'
import { parseCandidateFilter } from '../../domains/payouts/batch.ts'
import * as payouts from '../../domains/payouts/payouts.ts'
import { describe } from '../../domains/payouts/unpaid.ts'
import { countWaiting, IN_NEW_BATCH, readWaiting } from '../../domains/payouts/waiting.ts'
import { form, hidden } from '../kit/form.ts'
import { counted, count as counts, day, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { firstInstantOf, lastInstantOf } from '../kit/list-filter.ts'
import { Problem } from '../kit/problem.ts'
import { figuresNotice, loadingNotice, readForPage } from '../kit/report-cache.ts'
import { type PageRequest, validateBody } from '../kit/route.ts'
import { type Cell, type Column, nameColumn, numberColumn, pageOf, pager, table } from '../kit/table.ts'
import { batchAbout, batchFacts } from './payout-summary.ts'
import { affiliateTable, BALANCE_NAMES, minimumsOf } from './payout-waiting.ts'

type Schemas = components['schemas']
type Batch = Schemas['PayoutBatch']

const PATH = '/admin/payouts'

export interface BatchInput {
  from: string
  until: string
  currency: string | undefined
  /** Whether approved commissions from before the period are included. */
  includeEarlier: boolean
}

/** The batch that would be created and what it leaves out, or why none can be created. */
interface Preview {
  batch?: Batch
  rejected?: ApiError
  unpaid: Schemas['Unpaid'] | undefined
  payees?: Awaited<ReturnType<typeof readWaiting>>
}

/** The preview of a batch, with the form that creates it. */
export async function preview(request: PageRequest, batchInput: BatchInput): Promise<Html> {
  if (request.problem) return problemNotice(request.problem)
  const { ctx, zone } = request
  const { value, readAt } = await readForPage(request.ctx, {
    key: ['preview', minimumsOf(request), batchInput, pageOf(request.query, PAYEES)],
    cost: await countWaiting(ctx),
    read: (readCtx) => readPreview({ ...request, ctx: readCtx }, batchInput),
  })
  if (!value) return loadingNotice('Calculating the approved commissions of this period…')
  const { batch, rejected, unpaid, payees } = value
  const asOf = figuresNotice(readAt, zone)
  const rest = html`${unpaid ? unpaidAfter(request, unpaid, !batch) : ''}${asOf}`
  if (batch)
    return html`${offer(request, batchInput, batch)}${payees ? payeeSection(request, batch, payees) : ''}${rest}`
  return html`${rejected ? problemNotice(new Problem(rejected)) : ''}${rest}`
}

const problemNotice = ({ text }: Problem): Html => html`<p class="notice wait" role="status">${text}</p>`

async function readPreview(request: PageRequest, batchInput: BatchInput): Promise<Preview> {
  try {
    const body = bodyFrom(request, batchInput)
    const batch = await payouts.create(request.ctx, { ...body, dryRun: true })
    const list = { currency: batch.currency, parts: IN_NEW_BATCH, ...pageOf(request.query, PAYEES) }
    const payees = await readWaiting(request.ctx, { list, filter: parseCandidateFilter(request.ctx, body) })
    return { batch, payees, unpaid: await readUnpaid(request, batchInput) }
  } catch (error) {
    // A rejected preview is a valid result here.
    if (!(error instanceof ApiError) || error.status === 503) throw error
    return { rejected: error, unpaid: await readUnpaid(request, batchInput) }
  }
}

/** The error for an invalid period, currency, or date. */
export function problemWith(request: PageRequest, batchInput: BatchInput): Problem | undefined {
  try {
    parseCandidateFilter(request.ctx, bodyFrom(request, batchInput))
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return new Problem(error)
    throw error
  }
}

export const bodyFrom = ({ zone }: PageRequest, { from, until, currency, includeEarlier }: BatchInput) =>
  validateBody('createPayout', {
    periodStart: firstInstantOf(from, zone),
    periodEnd: lastInstantOf(until, zone),
    includeEarlier,
    ...(currency && { currency }),
  })

function readUnpaid(request: PageRequest, batchInput: BatchInput): Promise<Schemas['Unpaid']> {
  const { periodStart, periodEnd, includeEarlier, currency } = bodyFrom(request, batchInput)
  return describe(request.ctx, {
    periodStart: parseBodyInstant('periodStart', periodStart),
    periodEnd: parseBodyInstant('periodEnd', periodEnd),
    includeEarlier: includeEarlier === true,
    ...(currency && { currency }),
  })
}

/** The affiliates to be paid, largest amounts first. */
function payeeSection(
  { query }: PageRequest,
  { currency }: Batch,
  { sums, affiliates }: NonNullable<Preview['payees']>,
): Html {
  if (!affiliates?.data.length) return html``
  const blocked = sums.find((sum) => sum.currency === currency)?.parts.BLOCKED
  const notice = blocked
    ? html`<p class="notice wait">${counted(blocked.affiliates, 'payment')} (${money(blocked.netPayableCents, currency)}) cannot be sent until the payee details are entered or corrected.</p>`
    : ''
  return html`<h2>In this batch</h2>${notice}
${affiliateTable('Payees', affiliates.data, { currency, path: `${PATH}/new?${query}` })}
${pager(`${PATH}/new`, query, affiliates.pagination, PAYEES)}`
}

/** The query parameter for the page of payees. */
const PAYEES = 'payees'

/** Balances that the batch does not pay, with the reasons. */
function unpaidAfter(
  request: PageRequest,
  { reasons, affiliates, truncated }: Schemas['Unpaid'],
  isOpen: boolean,
): Html {
  if (affiliates.length === 0) return html``
  const rows = affiliates.map((total): Cell[] => [
    affiliateLink(total),
    total.minimumCents === null
      ? BALANCE_NAMES[total.reason]
      : `${BALANCE_NAMES[total.reason]} of ${money(total.minimumCents, total.currency)}`,
    counts(total.commissions),
    money(total.netPayableCents, total.currency),
    day(total.oldestAt, request.zone),
  ])
  const sums = Map.groupBy(reasons, ({ currency }) => currency)
  const texts = [...sums].map(([currency, rows]) => {
    const add = (value: (total: (typeof rows)[number]) => number) => rows.reduce((sum, total) => sum + value(total), 0)
    const total = money(
      add((total) => total.netPayableCents),
      currency,
    )
    return `${counted(
      add((total) => total.affiliates),
      'balance',
    )} of ${total}`
  })
  return html`<details class="numbers"${isOpen ? html` open` : ''}><summary>Not in this batch: ${texts.join(', ')}</summary>
${table('Unpaid balances', UNPAID, rows)}${truncated ? html`<p class="hint">Only the largest balances are shown.</p>` : ''}</details>`
}

const affiliateLink = ({ affiliateId, name }: { affiliateId: string; name: string }): Html =>
  html`<a href="/admin/affiliates/${affiliateId}">${isolated(name || affiliateId)}</a>`

const UNPAID: Column[] = [
  nameColumn('Affiliate'),
  'Why',
  numberColumn('Commissions'),
  numberColumn('Balance'),
  'Oldest',
]

const offer = (
  request: PageRequest,
  { from, until, currency, includeEarlier }: BatchInput,
  batch: Batch,
): Html => html`<section class="card" aria-labelledby="preview"><h2 id="preview">Preview</h2>
${batchFacts(batch, request.zone)}
${batchAbout(batch, request.zone)}
${form(
  request,
  PATH,
  html`${Object.entries({ from, until, includeEarlier: includeEarlier ? '1' : '', currency: currency ?? '' }).map(([name, value]) => hidden(name, value))}
<button class="main">Create batch of ${money(batch.totals.netPayableCents, batch.currency)}</button> <span class="hint">This does not pay the batch.</span>`,
  'row',
)}</section>`
