import { invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { yieldToEventLoop } from '../../database/event-loop.ts'
import { reconcile } from '../../domains/payments/reconcile.ts'
import {
  MAX_RESULTS,
  type PreviewedResult,
  previewResults,
  type ResultPreview,
} from '../../domains/payments/result-preview.ts'
import { facts } from '../kit/components.ts'
import { hidden, textarea, uploadForm } from '../kit/form.ts'
import { count, counted, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import {
  type FormRedirect,
  OWNER_ONLY,
  type PageRequest,
  type Route,
  rolesAndAuditOf,
  type View,
  validateBody,
} from '../kit/route.ts'
import { badge, nameOf } from '../kit/status.ts'
import { type Cell, type Column, inCard, nameColumn, numberColumn, table, wideColumn } from '../kit/table.ts'

const PATH = '/admin/payouts/reconcile'
/** Larger files need the CLI. */
const MAX_BYTES = 8 * 1024 * 1024

type PaymentResult = components['schemas']['PaymentResult']
type Decision = PreviewedResult['decision']

export const reconcileRoutes: Route[] = [
  { path: '/payouts/reconcile', roles: OWNER_ONLY, show },
  {
    path: '/payouts/reconcile',
    ...rolesAndAuditOf('reconcilePayouts'),
    maxUploadBytes: MAX_BYTES,
    act: preview,
    page: show,
  },
  {
    path: '/payouts/reconcile/record',
    ...rolesAndAuditOf('reconcilePayouts'),
    maxUploadBytes: MAX_BYTES,
    act: record,
    page: show,
  },
]

const HEADING = 'paymentReference,outcome,reason'

async function show(request: PageRequest): Promise<View> {
  return {
    title: 'Reconcile payments',
    crumb: { to: '/admin/payouts', text: 'Payouts' },
    lead: 'Upload a report from your bank or payment service. You can review every change before it is recorded. A returned amount becomes payable again in the next batch.',
    body: html`<section class="card narrow">${uploadForm(
      request,
      PATH,
      html`<div class="field drop" data-drop><label for="file">File from your bank or payment service</label>
<input id="file" name="file" type="file" accept=".xml,.csv,.json,.txt,text/csv,application/xml,application/json" aria-describedby="file-hint">
<p class="hint" id="file-hint">A bank’s account statement (camt.053, camt.054) or status report (pain.002), a PayPal payout report, or a Wise transfer export. Up to 8 MiB; use the CLI for larger files.</p></div>
<details${request.form.size && !request.file ? html` open` : ''}><summary>Type the payments instead</summary>
${textarea(request, {
  name: 'report',
  label: 'Report',
  value: request.form.get('report') ?? `${HEADING}\n`,
  maxlength: MAX_TYPED,
  hint: html`One payment per line: its reference, <code>settled</code> or <code>returned</code>, and the reason if there is one. You can add the columns <code>amount</code>, <code>currency</code>, <code>date</code>, and <code>reference</code> (the bank’s).`,
})}</details>
<div class="sticky"><button class="main">Preview</button> <a class="button" href="/admin/payouts">Back</a></div>`,
    )}</section>`,
  }
}

/** In characters. Enough for the hint's columns and a few more. */
const MAX_TYPED = 60_000
const MAX_TYPED_COLUMNS = 20

/** Typed lines may omit their last cells. */
function typedReport(typed: string): Uint8Array {
  const text = typed.replaceAll('\r\n', '\n')
  if (text.length > MAX_TYPED) throw invalidBody('The typed payments are too long. Choose a file.')
  const [heading = '', ...lines] = text.trim().split('\n')
  const commas = (line: string) => line.split(',').length - 1
  const commaCount = commas(heading)
  if (commaCount >= MAX_TYPED_COLUMNS) throw invalidBody('The first line has too many columns. Choose a file.')
  const missing = (line: string) => (line.includes('"') ? 0 : Math.max(0, commaCount - commas(line)))
  const rows = lines.filter((line) => line.trim()).map((line) => line + ','.repeat(missing(line)))
  if (rows.length === 0) throw invalidBody('Choose a file, or type at least one payment.')
  return Buffer.from([heading, ...rows].join('\n'))
}

async function preview(request: PageRequest): Promise<View> {
  const { ctx, file, form } = request
  const preview = await previewResults(ctx, file ?? typedReport(form.get('report') ?? ''))
  return previewPage(request, preview)
}

/** Each decision's text, in display order. */
const DECISIONS: Record<Decision, Html> = {
  unknown: html`${badge('REVIEW')} No payment with this reference was sent`,
  amount_mismatch: html`${badge('REVIEW')} Amount or currency differs from what was sent`,
  settled_twice: html`${badge('REVIEW')} Already settled under a different bank reference`,
  returned: html`Becomes ${badge('RETURNED')}`,
  settled: html`Becomes ${badge('SETTLED')}`,
  already_returned: html`Already returned`,
  already_settled: html`Already settled`,
}
const ORDER = Object.keys(DECISIONS)
const NEEDS_REVIEW: Decision[] = ['unknown', 'amount_mismatch', 'settled_twice']
const CHANGES: Decision[] = ['settled', 'returned']
const MAX_SHOWN = 100

const COLUMNS: Column[] = [
  nameColumn('Affiliate'),
  inCard('lead', numberColumn('Amount')),
  inCard('bare', wideColumn('What it changes')),
  inCard('bare', 'Reference'),
]

function previewPage(
  request: PageRequest,
  { kind, results, pending, unreadable, problems, others }: ResultPreview,
): View {
  const changing = results.filter(({ decision }) => CHANGES.includes(decision))
  const shown = results.toSorted((a, b) => ORDER.indexOf(a.decision) - ORDER.indexOf(b.decision)).slice(0, MAX_SHOWN)
  const of = (decisions: Decision[]) => results.filter(({ decision }) => decisions.includes(decision))
  const sums = (decision: Decision) => html`${count(of([decision]).length)}${sumsOf(of([decision]))}`
  const review = of(NEEDS_REVIEW)
  return {
    title: 'Reconcile payments',
    crumb: { to: '/admin/payouts', text: 'Payouts' },
    lead: `Read as ${kind === 'results as CSV' ? 'CSV' : kind}. Nothing is recorded yet.`,
    body: html`${facts(
      [
        ['Will be settled', sums('settled')],
        ['Will be returned', sums('returned')],
        ['Already recorded', count(of(['already_settled', 'already_returned']).length)],
        ['Needs review', count(review.length)],
        ['Unreadable rows', unreadable ? count(unreadable) : undefined],
        ['Not final yet', pending ? count(pending) : undefined],
        ['Other payments', others ? count(others) : undefined],
      ],
      'stats',
    )}
${problems.length ? html`<div class="notice wait"><p>${counted(unreadable, 'row')} cannot be read, and ${unreadable === 1 ? 'is' : 'are'} left out:</p><ul>${problems.map((problem) => html`<li>${isolated(problem)}</li>`)}</ul></div>` : ''}
${review.length ? html`<p class="notice wait">${counted(review.length, 'payment needs', 'payments need')} review and will not be changed.</p>` : ''}
${results.length ? table('Payments of the file', COLUMNS, shown.map(row)) : html`<p>The file contains no final result of a payment that was sent.</p>`}
${results.length > MAX_SHOWN ? html`<p class="hint">The first ${count(MAX_SHOWN)} of ${counted(results.length, 'payment')} are shown.</p>` : ''}
${uploadForm(
  request,
  `${PATH}/record`,
  html`${hidden('results', serialize(changing.map(({ result }) => result)))}
<div class="sticky">${changing.length ? html`<button class="main">Record ${counted(changing.length, 'result')}</button>` : ''} <a class="button" href="${PATH}">Choose another file</a></div>`,
)}`,
  }
}

/** Payment totals by currency. */
function sumsOf(results: PreviewedResult[]): Html {
  const sums = new Map<string, number>()
  for (const { sent } of results) if (sent) sums.set(sent.currency, (sums.get(sent.currency) ?? 0) + sent.amountCents)
  return html`${[...sums].map(([currency, cents]) => html`<small>${money(cents, currency)}</small>`)}`
}

function row({ result, decision, sent }: PreviewedResult): Cell[] {
  const { amountCents, currency, reason } = result
  const reported =
    decision === 'amount_mismatch' && typeof amountCents === 'number' && currency
      ? `reported: ${money(amountCents, currency)}`
      : (reason ?? '')
  return [
    sent ? html`<a href="/admin/affiliates/${sent.affiliateId}">${isolated(sent.name)}</a>` : 'Unknown',
    sent ? money(sent.amountCents, sent.currency) : amountCents && currency ? money(amountCents, currency) : '–',
    html`${DECISIONS[decision]}${reported ? html`<small>${isolated(reported)}</small>` : ''}`,
    html`<code>${result.paymentReference}</code>`,
  ]
}

/** The API's limit for one request. */
const RESULTS_AT_ONCE = 500
/** After this time, the page shows its progress. Recording a result twice changes nothing. */
const RECORDING_MS = 15_000

async function record(request: PageRequest): Promise<FormRedirect | View> {
  const { ctx, form } = request
  const all = parseResults(form.get('results') ?? '')
  const startedAt = performance.now()
  const done: components['schemas']['ReconciledResult'][] = []
  while (done.length < all.length && performance.now() - startedAt < RECORDING_MS) {
    const body = { results: all.slice(done.length, done.length + RESULTS_AT_ONCE) }
    done.push(...(await reconcile(ctx, validateBody('reconcilePayouts', body))).results)
    await yieldToEventLoop()
  }
  if (done.length < all.length) return continuation(request, all.slice(done.length), done.length)
  const batches = new Set(done.map(({ batchId }) => batchId).filter((id) => id !== null))
  const [only] = batches.size === 1 ? batches : []
  return { to: only ? `/admin/payouts/${only}` : '/admin/payouts', flash: { text: summaryOf(done) } }
}

/** More than the longest result needs. */
const MAX_LINE = 2000

/** One result per line, so that each can be parsed on its own. */
const serialize = (results: PaymentResult[]): string => results.map((result) => JSON.stringify(result)).join('\n')

/** Parses a field that only this server's preview writes. */
function parseResults(text: string): PaymentResult[] {
  const lines = text.split(/\r?\n/, MAX_RESULTS + 1).filter(Boolean)
  if (lines.length > MAX_RESULTS || lines.some((line) => line.length > MAX_LINE))
    throw invalidBody('These results do not come from a preview. Choose the file again.')
  try {
    const results: PaymentResult[] = lines.map((line) => JSON.parse(line))
    if (results.length > 0) return results
  } catch {
    // Handled like an empty list.
  }
  throw invalidBody('There is nothing to record. Choose a file.')
}

const continuation = (request: PageRequest, rest: PaymentResult[], done: number): View => ({
  title: 'Reconcile payments',
  crumb: { to: '/admin/payouts', text: 'Payouts' },
  body: html`<p class="notice info" role="status">${count(done)} of ${counted(done + rest.length, 'result')} recorded.</p>
${uploadForm(
  request,
  `${PATH}/record`,
  html`${hidden('results', serialize(rest))}<div class="sticky"><button class="main">Record the next ${counted(rest.length, 'result')}</button></div>`,
)}`,
})

const MAX_NAMED = 5

function summaryOf(done: components['schemas']['ReconciledResult'][]): string {
  const of = (decision: Decision) => done.filter(({ result }) => result === decision).length
  const others = done.filter(({ result }) => !CHANGES.includes(result))
  const named = others
    .slice(0, MAX_NAMED)
    .map(({ paymentReference, result }) => `${paymentReference}: ${nameOf(result).toLowerCase()}`)
  const rest = others.length > MAX_NAMED ? ', …' : ''
  const left = others.length ? ` ${counted(others.length, 'payment')} unchanged (${named.join(', ')}${rest}).` : ''
  return `${of('settled')} settled, ${of('returned')} returned.${left}`
}
