import { ApiError } from '../../contract/errors.ts'
import * as affiliates from '../../domains/affiliates/affiliates.ts'
import * as payees from '../../domains/affiliates/payees.ts'
import { facts } from '../kit/components.ts'
import { confirmation, field, form, hidden, input, limitsOf, select } from '../kit/form.ts'
import { day } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type View, validateBody } from '../kit/route.ts'
import { urlWithQuery } from '../kit/url.ts'

export const payeeRoutes: Route[] = [
  { path: '/affiliates/:id/payee', ...rolesAndAuditOf('getPayee'), show },
  { path: '/affiliates/:id/payee', ...rolesAndAuditOf('setPayee'), act: set, page: show },
  { path: '/affiliates/:id/payee/delete', roles: OWNER_ONLY, show: confirmRemoval },
  { path: '/affiliates/:id/payee/delete', ...rolesAndAuditOf('deletePayee'), act: remove, page: show },
]

/** An affiliate's payee details. After saving, the page leads back to the payout that needs them. */
export const payeeLink = (affiliateId: string, back: string): string =>
  urlWithQuery(`/admin/affiliates/${affiliateId}/payee`, { back })

/**
 * The payout page the user came from, so that they can fix blocked payments one after another; otherwise the
 * affiliate's page.
 */
function backOf(submitted: URLSearchParams, affiliateId: string): string {
  const back = submitted.get('back') ?? ''
  return /^\/admin\/payouts\/[\w?=&-]+$/.test(back) ? back : `/admin/affiliates/${affiliateId}`
}

const METHODS = [
  ['PAYPAL', 'PayPal'],
  ['WISE', 'Wise'],
  ['SEPA', 'Bank transfer (SEPA)'],
] as const

/** Each payment method's fields. */
const FIELDS: Record<string, readonly string[]> = {
  PAYPAL: ['email'],
  WISE: ['email', 'name'],
  SEPA: ['name', 'iban', 'bic', 'streetName', 'buildingNumber', 'postalCode', 'townName', 'country'],
}
const fieldsOf = (method: string): readonly string[] => (Object.hasOwn(FIELDS, method) ? (FIELDS[method] ?? []) : [])
const LABELS = {
  email: 'Account email',
  name: 'Account holder',
  iban: 'IBAN',
  bic: 'BIC (optional)',
  streetName: 'Street',
  buildingNumber: 'Number',
  postalCode: 'Postal code',
  townName: 'Town',
  country: 'Country',
} as const

async function findPayee({ ctx }: PageRequest, id: string) {
  return payees.getPayee(ctx, id).catch((error) => {
    if (error instanceof ApiError && error.code === 'payee_not_found') return undefined
    throw error
  })
}

async function show(request: PageRequest): Promise<View> {
  const { form: submitted, query, zone } = request
  const { id, name } = await affiliates.findUnarchived(request.ctx, request.params.id ?? '')
  const known = await findPayee(request, id)
  const path = `/admin/affiliates/${id}/payee`
  const chosen = submitted.get('method') ?? query.get('method') ?? known?.method ?? 'PAYPAL'
  const method = METHODS.find(([option]) => option === chosen)?.[0] ?? 'PAYPAL'
  const back = backOf(submitted.size ? submitted : query, id)
  return {
    title: `How ${name} is paid`,
    crumb: { to: `/admin/affiliates/${id}`, text: name },
    lead: 'Details are stored encrypted and shown masked. Only payment files contain them in full.',
    subjectId: id,
    body: html`${known ? current(known, path, zone) : ''}
<form class="filters" method="get" action="${path}">${hidden('back', back)}${select('method', 'Payment method', METHODS, method)}
<div class="row"><button>Choose</button></div></form>
<section class="card narrow">${form(
      request,
      path,
      html`${hidden('method', method)}${hidden('back', back)}
${(fieldsOf(method)).map((option) => detail(request, option as keyof typeof LABELS, method))}
<div class="sticky"><button class="main">${known ? 'Replace the details' : 'Save'}</button> <a class="button" href="${back}">Back</a></div>`,
    )}</section>`,
  }
}

const detail = (request: PageRequest, name: keyof typeof LABELS, method: string): Html =>
  input(request, {
    name,
    label: LABELS[name],
    ...limitsOf('setPayee', name, method),
    required: ['email', 'name', 'iban', 'townName', 'country'].includes(name),
    ...(name === 'country' && { hint: 'Two capital letters, such as DE.' }),
  })

const current = (
  { method, account, updatedAt }: Awaited<ReturnType<typeof payees.getPayee>>,
  path: string,
  zone: string,
) =>
  html`<section class="card" aria-labelledby="current"><h2 id="current">Current details</h2>${facts([
    ['Payment method', METHODS.find(([option]) => option === method)?.[1] ?? method],
    ['Account', account ?? 'cannot be decrypted'],
    ['Since', day(updatedAt, zone)],
  ])}<p class="row"><a class="button small danger" href="${path}/delete">Remove</a></p></section>`

async function set({ ctx, params, form }: PageRequest) {
  const method = form.get('method') ?? ''
  const names = fieldsOf(method)
  const details = Object.fromEntries(names.flatMap((name) => (field(form, name) ? [[name, field(form, name)]] : [])))
  await payees.setPayee(ctx, params.id ?? '', validateBody('setPayee', { method, ...details }))
  return { to: backOf(form, params.id ?? ''), flash: { text: 'Payee details saved.' } }
}

async function confirmRemoval(request: PageRequest): Promise<View> {
  const { id, name } = await affiliates.findUnarchived(request.ctx, request.params.id ?? '')
  const path = `/admin/affiliates/${id}/payee`
  const text = html`<p>New payment files will not include this affiliate. Payments already sent are not affected.</p>`
  return confirmation(request, {
    title: 'Remove the payee details?',
    crumb: { to: `/admin/affiliates/${id}`, text: name },
    subjectId: id,
    text,
    action: `${path}/delete`,
    button: 'Remove details',
    back: path,
  })
}

async function remove({ ctx, params }: PageRequest) {
  await payees.removePayee(ctx, params.id ?? '')
  return { to: `/admin/affiliates/${params.id}`, flash: { text: 'Payee details removed.' } }
}
