import type { components } from '../../contract/schema.d.ts'
import * as keys from '../../domains/accounts/keys.ts'
import * as users from '../../domains/accounts/users.ts'
import { affiliateNames } from '../../domains/affiliates/affiliates.ts'
import { findOrdersOf } from '../../domains/commissions/commissions.ts'
import { programNames } from '../../domains/programs/programs.ts'
import * as webhooks from '../../domains/webhooks/webhooks.ts'
import { counted, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { PageRequest } from '../kit/route.ts'
import { nameOf } from '../kit/status.ts'
import { urlWithQuery } from '../kit/url.ts'

type AuditRecord = components['schemas']['AuditRecord']

/** Names of audit records' subjects. */
export interface SubjectNames {
  users: Map<string, string>
  affiliates: Map<string, string>
  programs: Map<string, string>
  keys: Map<string, string>
  webhooks: Map<string, string>
  orders: Awaited<ReturnType<typeof findOrdersOf>>
  currency: string
  zone: string
}

/** Reads the names of the records' subjects with one query per kind. */
export async function namesOf({ ctx, zone }: PageRequest, records: AuditRecord[]): Promise<SubjectNames> {
  const ids = records.flatMap(({ subjectId, actor, data }) =>
    [subjectId, actor.replace(/^key:/, ''), data.affiliateId].filter((id) => typeof id === 'string'),
  )
  const of = (prefix: string) => ids.filter((id) => id.startsWith(prefix))
  const listed = async <T>(prefix: string, list: () => Promise<{ data: T[] }>, pair: (item: T) => [string, string]) =>
    new Map(of(prefix).length === 0 ? [] : (await list()).data.map(pair))
  const [people, affiliates, programs, labels, urls, orders] = await Promise.all([
    users.list(ctx),
    affiliateNames(ctx, of('aff_')),
    programNames(ctx, of('prg_')),
    listed(
      'key_',
      () => keys.list(ctx),
      ({ id, label }) => [id, label],
    ),
    listed(
      'whs_',
      () => webhooks.list(ctx),
      ({ id, url }) => [id, url],
    ),
    findOrdersOf(ctx, of('com_')),
  ])
  const emails = new Map(people.data.map(({ id, email }) => [id, email]))
  return {
    users: emails,
    affiliates,
    programs,
    keys: labels,
    webhooks: urls,
    orders,
    currency: ctx.shop.currency,
    zone,
  }
}

/** A record and what its sentence needs. */
interface DescribedRecord {
  record: AuditRecord
  names: SubjectNames
  /** A text from the record's data, or an empty one. */
  text: (name: string) => string
  number: (name: string) => number
  /** An amount from the record's data, in its own currency or the commission's. */
  amount: (name: string) => string
  /** The record's subject, as a link if it has a page. */
  subject: () => Html
  affiliate: () => Html
}

function describe(record: AuditRecord, names: SubjectNames): DescribedRecord {
  const { data, subjectId } = record
  const text = (name: string) => (typeof data[name] === 'string' ? data[name] : '')
  const number = (name: string) => (typeof data[name] === 'number' ? data[name] : 0)
  const currency = text('currency') || names.orders.get(subjectId ?? '')?.currency || names.currency
  return {
    record,
    names,
    text,
    number,
    amount: (name) => money(number(name), currency),
    subject: () => subjectOf(subjectId, names),
    affiliate: () => subjectOf(text('affiliateId') || subjectId, names),
  }
}

/** Links a subject to its page, or names it if it has none. The ID's prefix tells its kind. */
function subjectOf(id: string | null, names: SubjectNames): Html {
  if (id === null) return html``
  const link = (to: string, text: string) => html`<a href="${to}">${isolated(text)}</a>`
  const kind = id.split('_')[0] ?? ''
  const order = names.orders.get(id)
  if (order?.orderId.startsWith('adj:')) return html`an adjustment`
  if (order)
    return link(
      urlWithQuery('/admin/orders', { id: order.orderId }),
      order.orderName ?? order.externalOrderId ?? order.orderId,
    )
  if (kind === 'aff') return link(`/admin/affiliates/${id}`, names.affiliates.get(id) ?? id)
  if (kind === 'prg') return link(`/admin/programs/${id}`, names.programs.get(id) ?? id)
  if (kind === 'bat') return link(`/admin/payouts/${id}`, 'batch')
  if (kind === 'cus') return link(`/admin/customers/${id}`, 'customer')
  const text = names.users.get(id) ?? names.keys.get(id) ?? names.webhooks.get(id)
  return text === undefined ? html`<code>${isolated(id)}</code>` : isolated(text)
}

const file = (verb: string) => (describedRecord: DescribedRecord) =>
  html`${verb} the ${describedRecord.text('format')} file for a ${subjectOf(describedRecord.text('batchId') || null, describedRecord.names)}, ${describedRecord.amount('totalCents')}`

const MODERATED: Readonly<Record<string, string>> = { approve: 'Approved', reject: 'Rejected', cancel: 'Canceled' }
const SIGN_IN_METHODS: Readonly<Record<string, string>> = {
  passkey: 'with a passkey',
  oidc: 'through single sign-on',
  link: 'with a one-time link',
  token: 'with an access token',
}

/** Field names as words: `minimumPayoutCents` becomes `minimum payout`. */
const humanizeFields = (fields: unknown): string =>
  (Array.isArray(fields) ? fields : [])
    .map((name) =>
      String(name)
        .replace(/([A-Z])/g, ' $1')
        .toLowerCase()
        .replace(/ (cents|bps)\b/g, ''),
    )
    .join(', ')

const SENTENCES: Readonly<Record<string, (describedRecord: DescribedRecord) => Html>> = {
  'commission.refunded': ({ names, record, number, amount, subject }) => {
    const currency = names.orders.get(record.subjectId ?? '')?.orderCurrency ?? names.currency
    const goodsCents = number('goodsCents')
    const done = goodsCents < 0 ? 'Canceled a refund of' : 'Refunded'
    return html`${done} ${money(Math.abs(goodsCents), currency)} of ${subject()}, commission ${amount('commissionCents')}`
  },
  'commissions.moderated': ({ text, number }) =>
    html`${MODERATED[text('action')] ?? nameOf(text('action'))} ${counted(number('changed'), 'commission')} at once`,
  'order.unattributed': ({ record }) =>
    html`Recorded the order <a href="${urlWithQuery('/admin/orders', { id: record.subjectId ?? '' })}">${isolated((record.subjectId ?? '').replace(/^\w+:/, ''))}</a> without an affiliate`,
  'payout.created': ({ subject, number, amount }) =>
    html`Created a ${subject()} of ${counted(number('commissions'), 'commission')}, ${amount('netPayableCents')}`,
  'payout.reconciled': ({ subject, number }) =>
    html`Reconciled a ${subject()}: ${number('settled')} settled, ${number('returned')} returned`,
  'payout_line.returned': ({ affiliate, amount }) =>
    html`Recorded ${affiliate()}’s returned payment, ${amount('amountCents')}`,
  'payout_file.started': file('Started'),
  'payout_file.created': file('Created'),
  'payout_file.discarded': file('Discarded'),
  'affiliate.approved': ({ affiliate }) => html`Automatically approved ${affiliate()}`,
  'affiliate.updated': ({ affiliate, text, record }) =>
    text('status')
      ? html`Changed ${affiliate()}’s status from ${nameOf(text('previousStatus'))} to ${nameOf(text('status'))}`
      : html`Changed ${affiliate()}: ${humanizeFields(record.data.fields)}`,
  'coupon.assigned': ({ affiliate, text }) =>
    html`Assigned the code <code>${isolated(text('code'))}</code> to ${affiliate()}`,
  'alias.created': ({ affiliate, text }) =>
    html`Added the alias <code>${isolated(text('alias'))}</code> for ${affiliate()}`,
  'alias.deleted': ({ affiliate, text }) =>
    html`Removed the alias <code>${isolated(text('alias'))}</code> from ${affiliate()}`,
  'customer.created': ({ subject }) => html`Recorded a ${subject()} without an affiliate`,
  'customer.bound': ({ subject, affiliate, text }) =>
    html`Bound a ${subject()} to ${affiliate()}${text('reasonCode') ? html`: ${nameOf(text('reasonCode')).toLowerCase()}` : ''}`,
  'customer.unbound': ({ subject, affiliate }) => html`Unbound a ${subject()} from ${affiliate()}`,
  'connection.created': ({ affiliate, text }) => html`Connected a ${text('kind').toLowerCase()} to ${affiliate()}`,
  'connection.deleted': ({ affiliate, text }) => html`Disconnected a ${text('kind').toLowerCase()} from ${affiliate()}`,
  'program.updated': ({ subject, record }) =>
    html`Changed the program ${subject()}: ${humanizeFields(record.data.fields)}`,
  'program.terms_set': ({ subject, number }) => html`Set version ${String(number('version'))} of ${subject()}’s terms`,
  'settings.updated': ({ record }) =>
    html`Changed the settings: ${humanizeFields(Object.keys(record.data.changes ?? {})) || 'store webhook secret'}`,
  'user.created': ({ subject, text }) => html`Added the user ${subject()} as ${nameOf(text('role')).toLowerCase()}`,
  'session.created': ({ text, names }) =>
    html`Signed in ${SIGN_IN_METHODS[text('by')] ?? ''}${text('linkCreatedBy') ? html` created by ${isolated(actorName(text('linkCreatedBy'), names))}` : ''}`,
  'sessions.ended': ({ number }) => html`Ended ${counted(number('count'), 'session')}`,
  'webhook.test_sent': () => html`Sent a test event`,
  'delivery.redelivered': ({ record, text }) =>
    html`Redelivered <a href="/admin/deliveries/${record.subjectId ?? ''}"><code>${text('event')}</code></a>`,
  'deliveries.redelivered': ({ number, subject }) =>
    html`Redelivered ${counted(number('queued'), 'delivery', 'deliveries')} to ${subject()}`,
}

const VERBS: Readonly<Record<string, string>> = {
  listed: 'Viewed',
  shown: 'Viewed',
  accessed: 'Viewed',
  exported: 'Downloaded',
}

/** An actor's name within a sentence: the email address for `user:usr_…`, the key's label for `key:key_…`. */
export function actorName(actor: string, names: Pick<SubjectNames, 'users' | 'keys'>): string {
  if (actor === 'operator') return 'the server’s operator'
  if (actor === 'store') return 'the store'
  const id = actor.replace(/^(user|key):/, '')
  const label = names.keys.get(id)
  return names.users.get(id) ?? (label === undefined ? actor : `API key ${label}`)
}

/** The kind of resource by ID prefix. An action can have another noun: `payee.set` is about an affiliate. */
const KINDS: Readonly<Record<string, string>> = {
  aff: 'affiliate',
  bat: 'payout',
  com: 'order',
  cus: 'customer',
  key: 'key',
  prg: 'program',
  usr: 'user',
  whs: 'webhook',
}
const AMOUNTS = ['amountCents', 'netPayableCents']

/** Renders a record as a sentence with names and links. Most follow from the action and the subject. */
export function sentenceOf(record: AuditRecord, names: SubjectNames): Html {
  // An erasure removed the data of this record.
  const isErased = record.salt === null
  const known = isErased ? undefined : SENTENCES[record.action]
  const description = describe(record, names)
  if (known) return known(description)
  const [noun = '', verb = ''] = record.action.split('.').map((part) => part.replaceAll('_', ' '))
  const kind = KINDS[record.subjectId?.split('_')[0] ?? '']
  const amount = AMOUNTS.find((name) => typeof record.data?.[name] === 'number')
  return html`${VERBS[verb] ?? nameOf(verb)} the ${noun.replace(/^key/, 'API key')} ${kind && kind !== noun ? 'of ' : ''}${description.subject()}${amount ? `, ${description.amount(amount)}` : ''}`
}
