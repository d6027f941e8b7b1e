import { invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { reconcile } from '../payouts/reconcile.ts'
import { form, textarea } from './form.ts'
import { html } from './html.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View, validateBody } from './route.ts'
import { counted, nameOf, typedCents } from './show.ts'

const PATH = '/admin/payouts/reconcile'

type Result = components['schemas']['ReconciledResult']

export const reconcileRoutes: Route[] = [
  { path: '/payouts/reconcile', roles: OWNER_ONLY, show },
  { path: '/payouts/reconcile', ...rolesAndAuditOf('reconcilePayouts'), act: submit, page: show },
]

async function show(request: PageRequest): Promise<View> {
  return {
    title: 'Reconcile payments',
    crumb: { to: '/admin/payouts', text: 'Payouts' },
    lead: 'Record which payments were settled or returned. A returned amount becomes payable again with the next batch.',
    body: html`<section class="card narrow">${form(
      request,
      PATH,
      html`${textarea({
        name: 'report',
        label: 'Report',
        value: request.form.get('report') ?? '',
        maxlength: 60_000,
        hint: html`One payment per line: <code>reference,settled</code> or <code>reference,returned,reason</code>. Optional columns with a heading: <code>reference,outcome,amount,currency,date,reason</code>. Drop a CSV file on the field to read it.`,
      })}
<div class="sticky"><button class="main">Record</button> <a class="button" href="/admin/payouts">Back</a></div>`,
    )}</section>`,
  }
}

const COLUMNS = ['reference', 'outcome', 'amount', 'currency', 'date', 'reason']
/** Without a heading. */
const SHORT = ['reference', 'outcome', 'reason']

const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|[,;\t])\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )

/** The results of a report. @throws ApiError 400 for a line that is not one. */
function readReport(text: string): Record<string, unknown>[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim())
  const heading = cellsOf(lines[0] ?? '').map((name) => name.toLowerCase())
  const hasHeading = heading.includes('outcome')
  if (hasHeading && !heading.every((name) => COLUMNS.includes(name)))
    throw invalidBody(`The heading must only have ${COLUMNS.join(', ')}.`)
  const names = hasHeading ? heading : SHORT
  const results = (hasHeading ? lines.slice(1) : lines).map((line, index) => toResult(cellsOf(line), names, index + 1))
  if (results.length === 0) throw invalidBody('Enter at least one payment.')
  return results
}

function toResult(cells: string[], names: string[], number: number): Record<string, unknown> {
  const { reference, outcome, amount, currency, date, reason } = Object.fromEntries(
    names.map((name, index) => [name, cells[index] ?? '']),
  )
  const state = outcome?.toUpperCase()
  if (!reference || (state !== 'SETTLED' && state !== 'RETURNED'))
    throw invalidBody(`Payment ${number} must have a reference, and settled or returned.`)
  const amountCents = amount ? typedCents(amount, currency?.toUpperCase() ?? '') : undefined
  if (amount && amountCents === undefined)
    throw invalidBody(`The amount of payment ${number} must be written like 10.50.`)
  return {
    paymentReference: reference,
    outcome: state,
    ...(amountCents !== undefined && { amountCents }),
    ...(currency && { currency: currency.toUpperCase() }),
    ...(date && { date }),
    ...(reason && { reason }),
  }
}

const CHANGED: Result['result'][] = ['settled', 'returned']

async function submit({ ctx, form }: PageRequest) {
  const body = validateBody('reconcilePayouts', { results: readReport(form.get('report') ?? '') })
  const { settled, returned, results } = await reconcile(ctx, body)
  const others = results.filter(({ result }) => !CHANGED.includes(result))
  const rest = others
    .slice(0, MAX_NAMED)
    .map(({ paymentReference, result }) => `${paymentReference}: ${nameOf(result).toLowerCase()}`)
  const left = others.length
    ? ` ${counted(others.length, 'payment')} unchanged (${rest.join(', ')}${others.length > MAX_NAMED ? ', …' : ''}).`
    : ''
  return { to: '/admin/payouts', flash: { text: `${settled} settled, ${returned} returned.${left}` } }
}

const MAX_NAMED = 5
