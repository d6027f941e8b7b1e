import { invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { nowIso, systemClock } from '../../core/context.ts'
import * as keys from '../../domains/accounts/keys.ts'
import { empty } from '../kit/components.ts'
import { confirmation, createOnce, field, form, input, limitsOf, newIdField, select } from '../kit/form.ts'
import { day, time, timeText } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { ACTIONS, type Cell, type Column, inCard, nameColumn, pager, slice, table, wideColumn } from '../kit/table.ts'
import { accessFields, accessText, chosenScopes, presetLabel } from './key-access.ts'

type ApiKey = components['schemas']['ApiKey']

const PATH = '/admin/keys'
const COLUMNS: Column[] = [
  nameColumn('Label'),
  inCard('bare', 'Key'),
  inCard('inline', wideColumn('Access')),
  inCard('inline', 'Created'),
  inCard('inline', 'Last used'),
  inCard('inline', 'Expires'),
  inCard('lead', 'Status'),
  ACTIONS,
]

export const keyRoutes: Route[] = [
  { path: '/keys', ...rolesAndAuditOf('listKeys'), show: list },
  { path: '/keys', ...rolesAndAuditOf('createKey'), act: create, page: list },
  { path: '/keys/:id/rotate', ...rolesAndAuditOf('listKeys'), show: (request) => confirm(request, 'rotate') },
  { path: '/keys/:id/rotate', ...rolesAndAuditOf('rotateKey'), act: rotate, page: list },
  { path: '/keys/:id/revoke', ...rolesAndAuditOf('listKeys'), show: (request) => confirm(request, 'revoke') },
  { path: '/keys/:id/revoke', ...rolesAndAuditOf('revokeKey'), act: revoke, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { data, pagination } = slice((await keys.list(request.ctx)).data, request.query)
  const now = nowIso(systemClock(request.ctx))
  const rows = data.map((key) => row(key, now, request.zone))
  return {
    title: 'API keys',
    lead: 'An API key gives an application access to your shop’s API. Use a separate key for each application, with only the access it needs.',
    body: html`${rows.length ? table('API keys', COLUMNS, rows) : empty('No keys yet', 'Create one below. Its secret is shown once.', 'keys')}
${pager(PATH, request.query, pagination)}
${creation(request)}`,
  }
}

function row(key: ApiKey, now: string, zone: string): Cell[] {
  const status = key.status === 'active' && key.expiresAt !== null && key.expiresAt <= now ? 'expired' : key.status
  return [
    key.label,
    html`<code>${key.prefix}…</code>`,
    accessText(key.scopes),
    day(key.createdAt, zone),
    time(key.lastUsedAt, 'never', zone),
    key.expiresAt ? day(key.expiresAt) : 'never',
    key.previousSecretUntil !== null && key.previousSecretUntil > now && status === 'active'
      ? html`${badge(status)}<br>old secret until ${time(key.previousSecretUntil, '', zone)}`
      : badge(status),
    key.status === 'active' ? [link(key, 'rotate', 'Rotate'), link(key, 'revoke', 'Revoke')] : '',
  ]
}

const link = ({ id, label }: ApiKey, verb: string, text: string): Html =>
  html`<a class="button small" href="${PATH}/${id}/${verb}">${text}<span class="visually-hidden"> ${label}</span></a> `

function creation(request: PageRequest): Html {
  const preset = request.query.get('preset') ?? undefined
  return html`<section class="card" aria-labelledby="create"><h2 id="create">Create a key</h2>
${form(
  request,
  PATH,
  html`${newIdField(request, 'key')}<div class="fields">${input(request, { name: 'label', label: 'Label', value: request.form.get('label') ?? presetLabel(preset), required: true, ...limitsOf('createKey', 'label'), hint: 'Where the key is used, such as “Checkout”.' })}
${input(request, { name: 'expiresAt', label: 'Expires', suffix: ' (optional)', type: 'date', hint: 'The key stops working at midnight UTC at the start of this day.' })}</div>
${accessFields(PATH, request.form, preset)}
<button class="main">Create key</button>`,
)}</section>`
}

const MADE =
  'This key was already created when you first sent the form. If you did not see its secret, rotate the key to get a new one.'

async function create(request: PageRequest) {
  const { form } = request
  const input = {
    label: form.get('label')?.trim() ?? '',
    scopes: chosenScopes(form),
    expiresAt: field(form, 'expiresAt'),
  }
  if (input.scopes.length === 0) throw invalidBody('Choose at least one resource that the key can read or write.')
  const body = validateBody('createKey', input)
  const { label, secret } = await createOnce(request, { prefix: 'key', made: MADE }, (ctx) => keys.create(ctx, body))
  const text = `Key “${label}” created. Copy its secret now; it is shown only once.`
  return { to: PATH, flash: { text, secret: { name: 'Key secret', value: secret } } }
}

/** How long the old secret keeps working, in seconds. */
const OVERLAPS = [
  ['0', 'stops working immediately'],
  ['3600', 'works for one more hour'],
  ['86400', 'works for one more day'],
  [String(keys.MAX_OVERLAP_SECONDS), 'works for seven more days'],
] as const

async function rotate({ ctx, params, form, zone }: PageRequest) {
  const body = { overlapSeconds: Number(form.get('overlapSeconds') ?? 0) }
  const { label, secret, previousSecretUntil } = await keys.rotate(
    ctx,
    params.id ?? '',
    validateBody('rotateKey', body),
  )
  const old = previousSecretUntil ? `works until ${timeText(previousSecretUntil, zone)}` : 'no longer works'
  const text = `New secret for “${label}” created. Copy it now; it is shown only once. The old secret ${old}.`
  return { to: PATH, flash: { text, secret: { name: 'New key secret', value: secret } } }
}

async function revoke({ ctx, params }: PageRequest) {
  await keys.revoke(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'Key revoked. Requests with it are rejected.' } }
}

const DAY_MS = 86_400_000

const isRecent = (at: string, { ctx }: PageRequest): boolean => systemClock(ctx).now() - Date.parse(at) < DAY_MS

async function confirm(request: PageRequest, verb: 'rotate' | 'revoke'): Promise<View> {
  const key = await keys.find(request.ctx, request.params.id ?? '')
  const text =
    verb === 'rotate'
      ? html`<p>“${isolated(key.label)}” (<code>${key.prefix}…</code>) receives a new secret. Update every application that uses the old one before it stops working.</p>`
      : html`<p>“${isolated(key.label)}” (<code>${key.prefix}…</code>) stops working immediately and permanently. ${key.lastUsedAt ? html`It was last used on ${time(key.lastUsedAt, '', request.zone)}${isRecent(key.lastUsedAt, request) ? html`, so <strong>an application still uses it</strong>` : ''}.` : 'It was never used.'}</p>`
  const fields = verb === 'rotate' ? { fields: select('overlapSeconds', 'The old secret', OVERLAPS, '0') } : {}
  return confirmation(request, {
    title: verb === 'rotate' ? 'Rotate this key?' : 'Revoke this key?',
    crumb: { to: PATH, text: 'API keys' },
    text,
    ...fields,
    action: `${PATH}/${key.id}/${verb}`,
    button: verb === 'rotate' ? 'Rotate key' : 'Revoke key',
  })
}
