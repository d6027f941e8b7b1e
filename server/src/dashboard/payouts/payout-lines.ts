import type { components } from '../../contract/schema.d.ts'
import * as payoutFiles from '../../domains/payments/files.ts'
import { describeAllLines, describeLines } from '../../domains/payments/lines.ts'
import { discard } from '../../domains/payouts/discard.ts'
import { blockedText } from '../../engine/payment-line.ts'
import { payeeLink } from '../affiliates/payee.ts'
import { empty, tabs } from '../kit/components.ts'
import { confirmation } from '../kit/form.ts'
import { count, counted, dayText, money, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { figuresNotice, loadingNotice, readForPage } from '../kit/report-cache.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View } from '../kit/route.ts'
import { badge, nameOf } from '../kit/status.ts'
import {
  ACTIONS,
  type Cell,
  type Column,
  inCard,
  nameColumn,
  numberColumn,
  pageOf,
  pager,
  table,
  wideColumn,
} from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { downloadLinks, payoutSendRoutes, sendLinks } from './payout-send.ts'

type Schemas = components['schemas']
type Line = Schemas['PaymentLine']
type Batch = Schemas['PayoutBatch'] & { id: string }

const STATES = ['READY', 'BLOCKED', 'SENT', 'SETTLED', 'RETURNED'] as const

export const payoutLineRoutes: Route[] = [
  ...payoutSendRoutes,
  { path: '/payouts/:id/lines.csv', roles: OWNER_ONLY, audit: 'payout_lines.listed', show: download },
  { path: '/payout-files/:id/discard', roles: OWNER_ONLY, audit: 'payout_file.shown', show: confirmDiscard },
  {
    path: '/payout-files/:id/discard',
    ...rolesAndAuditOf('discardPayoutFile'),
    act: discardFile,
    page: confirmDiscard,
  },
]

const LINES: Column[] = [
  nameColumn('Affiliate'),
  inCard('lead', numberColumn('Amount')),
  inCard('bare', 'State'),
  inCard('inline', 'Paid by'),
  inCard('inline', wideColumn('Reference')),
]

/** A batch's payments, and the files they were sent in. */
export interface BatchPayments {
  batch: Batch
  files: Schemas['PayoutFile'][]
  /** One per affiliate; undefined while they are being added up. */
  lines: Awaited<ReturnType<typeof describeLines>> | undefined
  readAt: string | null
}

const stateIn = (query: URLSearchParams) => STATES.find((state) => state === query.get('state'))

export async function readPayments({ ctx, query }: PageRequest, batch: Batch): Promise<BatchPayments> {
  const state = stateIn(query)
  const listQuery = { ...pageOf(query, 'lines'), ...(state && { state }) }
  const files = await payoutFiles.findAll(ctx, batch.id)
  const { value: lines, readAt } = await readForPage(ctx, {
    key: ['lines', batch, files, listQuery],
    cost: batch.totals.commissions,
    read: (readCtx) => describeLines(readCtx, batch.id, listQuery),
  })
  return { batch, files, lines, readAt }
}

/** An open batch's next steps: send its payments, record what was paid, or mark it as paid. */
export function nextSteps({ batch, files, lines }: BatchPayments, markAsPaid: Html): Html {
  const { id, currency } = batch
  const of = (state: (typeof STATES)[number]) => lines?.totals[state] ?? { lines: 0, cents: 0 }
  const text = (state: (typeof STATES)[number], what: string) =>
    of(state).lines ? `${count(of(state).lines)} ${what}: ${money(of(state).cents, currency)}. ` : ''
  const [ready, blocked, sentCount] = [of('READY').lines, of('BLOCKED').lines, of('SENT').lines]
  const isSent = files.length > 0 && ready + blocked === 0
  const isRecorded = isSent && sentCount === 0
  return html`<ol class="steps" aria-label="Next steps">
<li class="${isSent ? 'done' : ''}"><div><strong>Send the payments</strong><p>${lines ? `${text('READY', 'ready')}${text('BLOCKED', 'blocked')}` || 'All payments are in a file.' : 'Calculating the payments…'}</p></div>${ready ? sendLinks(batch) : blocked ? html`<a class="button small" href="${urlWithQuery(`/admin/payouts/${id}`, { state: 'BLOCKED' })}">Show blocked payments</a>` : ''}</li>
<li class="${isRecorded ? 'done' : ''}"><div><strong>Record what was paid</strong><p>${text('SENT', 'sent')}${text('SETTLED', 'settled')}${text('RETURNED', 'returned')}When every payment is settled or returned, the batch is paid.</p></div>${sentCount ? html`<a class="button small" href="/admin/payouts/reconcile">Reconcile</a>` : ''}</li>
<li><div><strong>Or mark the whole batch as paid</strong>${markAsPaid}</div></li></ol>`
}

/** The payments and their states. */
export function lineSection({ query, zone }: PageRequest, { batch, lines, readAt }: BatchPayments): Html {
  const { id, currency } = batch
  const path = `/admin/payouts/${id}`
  if (!lines) return loadingNotice('Calculating the payments of this batch…')
  const state = stateIn(query)
  const { data, pagination, totals } = lines
  const shown = STATES.filter((candidate) => totals[candidate].lines > 0 || candidate === state)
  return html`${
    shown.length > 1 || state
      ? tabs(
          'By state',
          [
            { to: path, text: 'All', isCurrent: state === undefined },
            ...shown.map((candidate) => ({
              to: urlWithQuery(path, { state: candidate }),
              text: `${nameOf(candidate)} ${count(totals[candidate].lines)}: ${money(totals[candidate].cents, currency)}`,
              isCurrent: candidate === state,
            })),
          ],
          'segments',
        )
      : ''
  }
${
  totals.BLOCKED.lines > 0
    ? html`<p class="notice wait">${counted(totals.BLOCKED.lines, 'payment')} ${totals.BLOCKED.lines === 1 ? 'is' : 'are'} blocked. Enter or change the payee details, or pay manually.</p>`
    : ''
}
${
  data.length
    ? table(
        'Payments',
        LINES,
        data.map((line) => row(line, path)),
      )
    : html`<p>This batch pays no affiliates.</p>`
}
${pager(path, query, pagination, 'lines')}
${data.length ? html`<p class="row"><a class="button small" href="${path}/lines.csv">Download as CSV</a></p>` : ''}${figuresNotice(readAt, zone)}`
}

const FILES: Column[] = [
  'File',
  'Format',
  'Status',
  numberColumn('Payments'),
  numberColumn('Amount'),
  'Created',
  ACTIONS,
]

/** A batch's payment files. A file that was never uploaded can be discarded. */
export function fileSection({ zone }: PageRequest, { files: data }: BatchPayments): Html {
  if (data.length === 0)
    return empty(
      'No payment files yet',
      'A file contains the ready payments for PayPal, Wise, or your bank.',
      'payouts',
    )
  const rows = data.map((file) => [
    html`<code>${file.id}</code>`,
    nameOf(file.format.toUpperCase()),
    badge(file.status),
    count(file.lines),
    money(file.totalCents, file.currency),
    time(file.createdAt, '–', zone),
    html`${downloadLinks(file)}${
      file.status === 'DISCARDED' || file.settledLines + file.returnedLines > 0
        ? ''
        : html`<a class="button small" href="/admin/payout-files/${file.id}/discard">Discard<span class="visually-hidden"> ${file.id}</span></a>`
    }`,
  ])
  return table('Payment files', FILES, rows)
}

async function confirmDiscard(request: PageRequest): Promise<View> {
  const file = await payoutFiles.find(request.ctx, request.params.id ?? '')
  const text = html`<p>Discard <strong class="break">${file.id}</strong> only if it was never uploaded. Its ${counted(file.lines, 'payment')} (${money(file.totalCents, file.currency)}) become ready for another file. If the file was uploaded, they are paid twice.</p>`
  return confirmation(request, {
    title: 'Discard this payment file?',
    crumb: { to: `/admin/payouts/${file.batchId}`, text: 'Payout' },
    subjectId: file.id,
    text,
    action: `/admin/payout-files/${file.id}/discard`,
    button: 'Discard file',
  })
}

async function discardFile({ ctx, params }: PageRequest) {
  const file = await discard(ctx, params.id ?? '')
  return {
    to: `/admin/payouts/${file.batchId}`,
    flash: { text: 'File discarded. Its payments are ready again.' },
  }
}

const row = (line: Line, path: string): Cell[] => [
  html`<a href="/admin/affiliates/${line.affiliateId}">${isolated(line.name || line.affiliateId)}</a><small>${isolated(line.email)}</small>`,
  money(line.amountCents, line.currency),
  html`${badge(line.state)}${line.reason ? html`<small>${isolated(blockedText(line))}</small>` : ''}`,
  line.state === 'BLOCKED'
    ? html`<a href="${payeeLink(line.affiliateId, `${path}?state=BLOCKED`)}">${line.method ? 'Change details' : 'Enter details'}</a>`
    : line.method
      ? nameOf(line.method)
      : 'Manually',
  referenceCell(line),
]

/** Shows the end of the reference, with the full reference in a disclosure. */
function referenceCell({ paymentReference, reference, date }: Line): Cell {
  if (!paymentReference) return reference ? isolated(reference) : '–'
  return html`<details><summary><code>…${paymentReference.slice(-6)}</code>${date ? html` <small>${dayText(date)}</small>` : ''}</summary><code class="break">${paymentReference}</code>${reference ? html`<small class="line break">${isolated(reference)}</small>` : ''}</details>`
}

/** All of a batch's payments, for a spreadsheet. Only payment files contain account details. */
async function download({ ctx, params }: PageRequest): Promise<View> {
  const id = params.id ?? ''
  const content = await describeAllLines(ctx, id)
  return { title: '', body: html``, subjectId: id, download: { name: `${id}.csv`, content } }
}
