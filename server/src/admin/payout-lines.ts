import type { components } from '../contract/schema.d.ts'
import { LARGE } from '../core/list-size.ts'
import { discard } from '../payouts/discard.ts'
import * as payoutFiles from '../payouts/files.ts'
import { describeAllLines, describeLines } from '../payouts/lines.ts'
import { confirmation } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { figuresOf, readKept, stillReading } from './kept.ts'
import { downloadLinks, payoutSendRoutes, sendLinks } from './payout-send.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View } from './route.ts'
import { badge, count, counted, money, tabs, time, urlWithQuery } from './show.ts'
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
} from './table.ts'

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

/** The payments of a batch, one for each affiliate, with their states. */
export async function lineSection(request: PageRequest, batch: Batch): Promise<Html> {
  const { id, status, currency } = batch
  const { ctx, query } = request
  const path = `/admin/payouts/${id}`
  const state = STATES.find((one) => one === query.get('state'))
  const asked = { ...pageOf(query, 'lines'), ...(state && { state }) }
  const files = await payoutFiles.findAll(ctx, id)
  const { value: lines, readAt } = await readKept(request.ctx, {
    key: ['lines', batch, files, asked],
    isLarge: batch.totals.commissions > LARGE,
    read: (own) => describeLines(own, id, asked),
  })
  if (!lines)
    return html`<h2>Payments</h2>${stillReading('The payments of this batch are being added up.')}${fileTable(request, files)}`
  const { data, pagination, totals } = lines
  const shown = STATES.filter((one) => totals[one].lines > 0 || one === state)
  return html`<h2>Payments</h2>
${
  shown.length > 1 || state
    ? tabs('By state', [
        { to: path, text: 'All', isCurrent: state === undefined },
        ...shown.map((one) => ({
          to: urlWithQuery(path, { state: one }),
          text: `${STATE_NAMES[one]} ${count(totals[one].lines)}: ${money(totals[one].cents, currency)}`,
          isCurrent: one === state,
        })),
      ])
    : ''
}
${
  totals.BLOCKED.lines > 0
    ? html`<p class="notice wait">${counted(totals.BLOCKED.lines, 'payment')} ${totals.BLOCKED.lines === 1 ? 'is' : 'are'} blocked. Enter or change the payee details, or pay manually.</p>`
    : ''
}
${data.length ? table('Payments', LINES, data.map(row)) : html`<p>This batch pays no affiliate.</p>`}
${status === 'OPEN' && totals.READY.lines > 0 ? sendLinks({ id, currency }) : ''}
${fileTable(request, files)}
${data.length ? html`<p class="row"><a class="button small" href="${path}/lines.csv">Download as CSV</a></p>` : ''}
${pager(path, query, pagination, 'lines')}${readAt === null ? '' : html`<p class="hint">${figuresOf(readAt, request.zone)}</p>`}`
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

/** The payment files of a batch. Those that were never uploaded can be discarded. */
function fileTable({ zone }: PageRequest, data: Schemas['PayoutFile'][]): Html {
  if (data.length === 0) return html``
  const rows = data.map((file) => [
    html`<code>${file.id}</code>`,
    file.format,
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
  return html`<h3 id="files">Payment files</h3>
${table('Payment files', FILES, rows)}`
}

async function confirmDiscard(request: PageRequest): Promise<View> {
  const file = await payoutFiles.find(request.ctx, request.params.id ?? '')
  const back = `/admin/payouts/${file.batchId}`
  const text = html`<p>Discard <strong class="break">${file.id}</strong> only if it was never uploaded. Its ${counted(file.lines, 'payment')} of ${money(file.totalCents, file.currency)} are ready again and can be part of another file. If it was uploaded, they are paid twice.</p>`
  const body = confirmation(request, {
    text,
    action: `/admin/payout-files/${file.id}/discard`,
    button: 'Discard file',
    back,
  })
  return { title: 'Discard this payment file?', crumb: { to: back, text: 'Payout' }, body, subjectId: file.id }
}

async function discardFile({ ctx, params }: PageRequest) {
  const file = await discard(ctx, params.id ?? '')
  return {
    to: `/admin/payouts/${file.batchId}`,
    flash: { text: 'The file is discarded. Its payments are ready again.' },
  }
}

const STATE_NAMES = {
  READY: 'Ready',
  BLOCKED: 'Blocked',
  SENT: 'Sent',
  SETTLED: 'Settled',
  RETURNED: 'Returned',
}

/** Why a payment is blocked. */
function blockedText({ reason, method, currency }: Line): string {
  if (reason === 'no_payee_details') return 'No payee details'
  if (reason === 'currency_not_supported') return 'SEPA supports EUR only'
  if (reason !== 'amount_not_supported') return reason ?? ''
  return method === 'SEPA' ? 'SEPA pays at most 999,999,999.99 EUR' : `PayPal pays ${currency} in whole units only`
}

const row = (line: Line): Cell[] => [
  html`<a href="/admin/affiliates/${line.affiliateId}">${isolated(line.name || line.affiliateId)}</a><small>${isolated(line.email)}</small>`,
  money(line.amountCents, line.currency),
  html`${badge(line.state)}${line.reason ? html`<small>${isolated(blockedText(line))}</small>` : ''}`,
  line.state === 'BLOCKED'
    ? html`<a href="/admin/affiliates/${line.affiliateId}/payee">${line.method ? 'Change details' : 'Enter details'}</a>`
    : (line.method ?? 'manually'),
  [line.paymentReference, line.reference, line.date].filter(Boolean).join(' · ') || '–',
]

/** All payments of a batch for a spreadsheet. Only payment files contain account details. */
async function download({ ctx, params }: PageRequest): Promise<View> {
  const id = params.id ?? ''
  const content = await describeAllLines(ctx, id)
  return { title: '', body: html``, subjectId: id, download: { name: `${id}.csv`, content } }
}
