import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { localDate } from '../../core/time-zone.ts'
import { download, newFileId, sumSendable } from '../../domains/payments/file-download.ts'
import * as payoutFiles from '../../domains/payments/files.ts'
import { partsOf } from '../../domains/payments/payment-file.ts'
import * as payouts from '../../domains/payouts/payouts.ts'
import { facts } from '../kit/components.ts'
import { field, form, hidden, input, limitsOf } from '../kit/form.ts'
import { counted, money } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { figuresAsOf, loadingNotice, readForPage } from '../kit/report-cache.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View, validateBody } from '../kit/route.ts'
import { urlWithQuery } from '../kit/url.ts'

type File = components['schemas']['PayoutFile']

const FORMATS = [
  ['paypal', 'PayPal'],
  ['wise', 'Wise'],
  ['sepa', 'SEPA'],
  ['csv', 'CSV'],
] as const

export const payoutSendRoutes: Route[] = [
  { path: '/payouts/:id/send', roles: OWNER_ONLY, audit: 'payout_lines.listed', show: confirmSend },
  { path: '/payouts/:id/send', ...rolesAndAuditOf('createPayoutFile'), act: send, page: confirmSend },
  { path: '/payout-files/:id/download', roles: OWNER_ONLY, audit: 'payout_file.shown', show: downloadFile },
]

/** The formats in which a batch's ready payments can be sent. */
export const sendLinks = ({ id, currency }: { id: string; currency: string }): Html =>
  html`<div class="row">${FORMATS.filter(([format]) => format !== 'sepa' || currency === 'EUR').map(
    ([format, name]) =>
      html`<a class="button small" href="${urlWithQuery(`/admin/payouts/${id}/send`, { format })}">Create ${name} file</a> `,
  )}</div>`

/** Links to a file, one per part. */
export function downloadLinks(file: File): Html {
  if (file.status !== 'SENT') return html``
  const parts = partsOf(file)
  const path = `/admin/payout-files/${file.id}/download`
  return html`${Array.from({ length: parts }, (_, index) => {
    const part = parts > 1 ? ` part ${index + 1}` : ''
    return html`<a class="button small" href="${urlWithQuery(path, { part: index > 0 ? String(index + 1) : undefined })}" download>Download${part}<span class="visually-hidden"> ${file.id}</span></a> `
  })}`
}

async function confirmSend(request: PageRequest): Promise<View> {
  const { ctx, query, form: submitted } = request
  const batch = await payouts.find(ctx, request.params.id ?? '')
  const [format, name] =
    FORMATS.find(([option]) => option === (submitted.get('format') ?? query.get('format'))) ?? FORMATS[3]
  const { value: sums, readAt } = await readForPage(ctx, {
    key: ['sendable', batch.id, batch.totals, format],
    cost: submitted.size ? undefined : batch.totals.commissions,
    read: (readCtx) => sumSendable(readCtx, batch.id ?? '', format),
  })
  const back = `/admin/payouts/${batch.id}`
  const view = { title: `Create ${name} file`, crumb: { to: back, text: 'Payout' }, subjectId: batch.id }
  if (!sums) return { ...view, body: loadingNotice('Calculating the payments that can be sent…') }
  const { lines, cents, others, blocked } = sums
  const text = lines
    ? html`${facts([
        ['In the file', html`${counted(lines, 'payment')} <small>${money(cents, batch.currency)}</small>`],
        ['Other payment methods', others ? counted(others, 'payment') : undefined],
        ['Blocked', blocked ? counted(blocked, 'payment') : undefined],
      ])}<p>The payments are marked as sent: no other file will contain them, and their amounts no longer change. Then download the file and upload it to ${format === 'csv' ? 'your bank or payment service' : format === 'sepa' ? 'your bank' : name}. ${figuresAsOf(readAt, request.zone)}</p>`
    : html`<p>None of this batch’s payments can be sent in this format: none are ready, or the affiliates use another payment method.</p>`
  return {
    ...view,
    body: html`<section class="card narrow">${text}
${
  lines
    ? form(
        request,
        `${back}/send`,
        html`${hidden('format', format)}${
          // The form fixes the ID, so that sending it twice creates one file.
          hidden('fileId', submitted.get('fileId') ?? newFileId(ctx, format))
        }${format === 'sepa' ? debtorFields(request) : ''}
<div class="sticky"><button class="main">Mark as sent and create the file</button> <a class="button" href="${back}">Back</a></div>`,
      )
    : html`<p><a class="button" href="${back}">Back</a></p>`
}</section>`,
  }
}

const debtorFields = (request: PageRequest): Html =>
  html`${input(request, { name: 'debtorName', label: 'Account holder', value: request.form.get('debtorName') ?? request.ctx.shop.name, required: true, ...limitsOf('createPayoutFile', 'debtor.name') })}
${input(request, { name: 'debtorIban', label: 'IBAN', required: true, ...limitsOf('createPayoutFile', 'debtor.iban') })}
${input(request, { name: 'debtorBic', label: 'BIC', suffix: ' (optional)', ...limitsOf('createPayoutFile', 'debtor.bic') })}
${input(request, { name: 'executionDate', label: 'Execution date', type: 'date', value: request.form.get('executionDate') ?? localDate(nowIso(request.ctx), request.zone), required: true, maxlength: 10 })}`

async function send({ ctx, params, form: submitted }: PageRequest) {
  const batchId = params.id ?? ''
  const format = field(submitted, 'format') ?? ''
  const bic = field(submitted, 'debtorBic')
  const debtor = {
    name: field(submitted, 'debtorName') ?? '',
    iban: field(submitted, 'debtorIban') ?? '',
    ...(bic && { bic }),
  }
  const sepa = { debtor, executionDate: field(submitted, 'executionDate') ?? null }
  const body = validateBody('createPayoutFile', { batchId, format, ...(format === 'sepa' && sepa) })
  const id = field(submitted, 'fileId') ?? newFileId(ctx, format)
  const { lines, totalCents, currency } = await payoutFiles.create(ctx, id, body)
  const text = `${counted(lines, 'payment')} marked as sent: ${money(totalCents, currency)}. Download the file below and upload it.`
  return { to: urlWithQuery(`/admin/payouts/${batchId}`, { view: 'files' }), flash: { text } }
}

async function downloadFile({ ctx, params, query }: PageRequest): Promise<View> {
  const id = params.id ?? ''
  const file = await download(ctx, id, Number(query.get('part') ?? 1))
  return { title: '', body: html``, subjectId: id, download: file }
}
