import type { components } from '../contract/schema.d.ts'
import { emittedEvents, extendedEvents } from '../core/event-names.ts'
import * as webhooks from '../webhooks/webhooks.ts'
import { update } from '../webhooks/webhooks.ts'
import { checkboxes, confirmation, form, input, select } from './form.ts'
import { type Html, html } from './html.ts'
import type { Flash, PageRequest, Route, View } from './route.ts'
import { ALL_ROLES, OWNER_ONLY, rolesAndAuditOf, validateBody, visibleUrl } from './route.ts'
import { badge, counted, empty, time, urlWithQuery } from './show.ts'
import { ACTIONS, type Cell, type Column, inCard, nameColumn, pager, slice, table, wideColumn } from './table.ts'

type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/webhooks'
const COLUMNS: Column[] = [
  nameColumn('Webhook'),
  inCard('lead', 'Status'),
  inCard('inline', wideColumn('Events')),
  inCard('inline', 'Signed'),
  inCard('inline', 'Retries'),
  inCard('inline', 'Created'),
  ACTIONS,
]

export const webhookRoutes: Route[] = [
  { path: '/webhooks', roles: ALL_ROLES, audit: 'webhooks.listed', show: list },
  { path: '/webhooks', roles: OWNER_ONLY, act: create, page: list },
  { path: '/webhooks/test', roles: OWNER_ONLY, act: sendTest, page: list },
  { path: '/webhooks/:id', roles: OWNER_ONLY, audit: 'webhook.shown', show: edit },
  { path: '/webhooks/:id', ...rolesAndAuditOf('updateWebhook'), act: change, page: edit },
  { path: '/webhooks/:id/enable', ...rolesAndAuditOf('updateWebhook'), act: enable, page: list },
  { path: '/webhooks/:id/delete', roles: OWNER_ONLY, show: confirmDelete },
  { path: '/webhooks/:id/delete', roles: OWNER_ONLY, act: remove, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { data, pagination } = slice((await webhooks.list(request.ctx)).data, request.query)
  const rows = data.map((one) => row(request, one))
  return {
    title: 'Webhooks',
    lead: 'The server sends events to each of these URLs in a POST request.',
    actions: request.isOwner && data[0] ? testing(request) : undefined,
    body: html`${unknownNames(data)}
${rows.length ? table('Webhooks', COLUMNS, rows) : empty('No webhooks yet', request.isOwner ? 'Add the URL of your receiver below.' : 'An owner can add one.', 'webhooks')}
${pager(PATH, request.query, pagination)}
${request.isOwner ? creation(request) : ''}`,
  }
}

function row(request: PageRequest, one: Subscription): Cell[] {
  const { isOwner } = request
  const where = visibleUrl(one.url, isOwner)
  const link = (to: string, text: string) =>
    html`<a class="button small" href="${to}">${text}<span class="visually-hidden"> ${where}</span></a> `
  const log = link(urlWithQuery('/admin/deliveries', { subscriptionId: one.id }), 'Deliveries')
  const own = [link(`${PATH}/${one.id}`, 'Edit'), link(`${PATH}/${one.id}/delete`, 'Delete')]
  if (one.status === 'disabled') own.unshift(enabling(request, one, where))
  return [
    where,
    state(one, request.zone),
    html`${one.events.length ? eventNames(one.events) : 'all'}${one.extendedEvents ? ' (extended)' : ''}`,
    one.hasSecret ? 'Yes' : 'No',
    one.retryPolicy === 'standard' ? 'Yes' : 'No',
    time(one.createdAt, '–', request.zone),
    isOwner ? [log, ...own] : log,
  ]
}

const REASONS: Record<string, string> = { gone: 'returned 410', failing: 'failed for 5 days' }

const state = ({ status, disabledAt, disabledReason, failingSince }: Subscription, zone: string): Html => {
  if (status === 'disabled')
    return html`${badge(status)} ${REASONS[disabledReason ?? ''] ?? ''}, ${time(disabledAt, '–', zone)}`
  return failingSince === null ? badge(status) : html`${badge('FAILED')} since ${time(failingSince, '–', zone)}`
}

const enabling = (request: PageRequest, { id }: Subscription, where: string): Html =>
  form(
    request,
    `${PATH}/${id}/enable`,
    html`<button class="small">Enable<span class="visually-hidden"> ${where}</span></button>`,
  )

/** Sentences about webhooks that are disabled or failing. */
export async function disabledItems({ ctx }: PageRequest): Promise<string[]> {
  const { data } = await webhooks.list(ctx)
  const disabled = data.filter(({ status }) => status === 'disabled').length
  const failing = data.filter(({ status, failingSince }) => status === 'enabled' && failingSince !== null).length
  return [
    ...(disabled ? [`${counted(disabled, 'webhook is', 'webhooks are')} disabled, because its receiver failed`] : []),
    ...(failing ? [`${counted(failing, 'webhook is', 'webhooks are')} failing`] : []),
  ]
}

const SENT: readonly string[] = ['test', ...emittedEvents]
const SENT_EXTENDED: readonly string[] = [...SENT, ...extendedEvents]

/** A warning about event names that are never sent; empty without one. */
function unknownNames(subscriptions: Subscription[]): Html {
  const names = subscriptions.flatMap(({ events, extendedEvents: isExtended }) =>
    events.filter((name) => !(isExtended ? SENT_EXTENDED : SENT).includes(name)),
  )
  const unknown = [...new Set(names)]
  return unknown.length
    ? html`<p class="notice wait">Some webhooks filter on events that they never receive: ${eventNames(unknown)}</p>`
    : html``
}

// Event names can be any text, and a subscription can have thousands; the page shows a few, truncated.
const SHOWN_NAMES = 20
const SHOWN_CHARACTERS = 60
const truncated = (name: string) => (name.length > SHOWN_CHARACTERS ? `${name.slice(0, SHOWN_CHARACTERS)}…` : name)

function eventNames(events: string[]): Html {
  const shown = events.slice(0, SHOWN_NAMES).map((name) => html`<code>${truncated(name) || '""'}</code> `)
  const rest = events.length - shown.length
  return html`${shown}${rest > 0 ? `and ${rest} more` : ''}`
}

/** Whether the form can offer the names as checkboxes: few, short, and without line breaks, which forms change. */
const areOffered = (events: string[]) =>
  events.length <= SHOWN_NAMES && events.every((name) => name.length <= SHOWN_CHARACTERS && !/[\r\n]/.test(name))

const testing = (request: PageRequest): Html =>
  form(
    request,
    `${PATH}/test`,
    html`<button title="Sent to every webhook that subscribes to all events or to test">Send test event</button>`,
  )

type KnownFields = Pick<Subscription, 'url' | 'events' | 'retryPolicy' | 'extendedEvents'>

const fields = (request: PageRequest, known: KnownFields): Html => {
  const { form } = request
  const url = form.get('url') ?? known.url
  const events = form.size ? form.getAll('events') : known.events
  const offered = [...new Set([...emittedEvents, 'test', ...(known.extendedEvents ? extendedEvents : []), ...events])]
  const isExtended = form.size ? form.has('extendedEvents') : known.extendedEvents
  const names = areOffered(known.events)
    ? checkboxes('events', 'Events (none selected: all)', offered, events)
    : html`<p class="hint">This webhook has ${known.events.length} event names, which are too many or too long to edit here. Use the API to change them. Saving this form keeps them.</p>`
  return html`${input({ name: 'url', label: 'URL', type: 'url', value: url, required: true, maxlength: 2048, placeholder: 'https://shop.example/webhooks', hint: 'A public https URL.' })}
${names}
${select('retryPolicy', 'When a delivery fails', RETRY_POLICIES, form.get('retryPolicy') ?? known.retryPolicy)}
<label class="box"><input type="checkbox" name="extendedEvents" value="1" aria-describedby="extended-hint"${isExtended ? html` checked` : ''}> Also send extended events</label>
<p class="hint" id="extended-hint">${eventNames([...extendedEvents])}</p>`
}

const RETRY_POLICIES = [
  ['none', 'Do not retry'],
  ['standard', 'Retry: 8 attempts over about 28 hours'],
] as const

/** The fields that creation and editing have in common. */
const sentFields = (form: URLSearchParams) => ({
  retryPolicy: form.get('retryPolicy') ?? 'none',
  extendedEvents: form.has('extendedEvents'),
})

const creation = (
  request: PageRequest,
): Html => html`<section class="card" aria-labelledby="add"><h2 id="add">Add a webhook</h2>
${form(
  request,
  PATH,
  html`${fields(request, { url: '', events: [], retryPolicy: 'none', extendedEvents: false })}
<label class="box"><input type="checkbox" name="sign" value="1"${request.form.size && !request.form.has('sign') ? '' : html` checked`}> Sign deliveries with a new secret, shown once</label>
<button class="main">Add webhook</button>`,
)}</section>`

const newSecret = ({ ctx }: PageRequest) => Buffer.from(ctx.random(24)).toString('base64url')

const savedMessage = (text: string, secret: string | undefined): Flash =>
  secret
    ? {
        text: `${text} Copy its signing secret now. It is shown only once.`,
        secret: {
          name: 'Signing secret',
          value: secret,
          also: { name: 'The same secret for Standard Webhooks libraries', value: standardWebhooksSecret(secret) },
        },
      }
    : { text }

/** Deliveries are signed with the bytes of the secret. Standard Webhooks libraries expect them as `whsec_` and base64. */
const standardWebhooksSecret = (secret: string) => `whsec_${Buffer.from(secret).toString('base64')}`

async function create(request: PageRequest) {
  const { ctx, form } = request
  const secret = form.has('sign') ? newSecret(request) : undefined
  const sent = {
    url: form.get('url'),
    events: form.getAll('events'),
    source: 'developer-page',
    ...sentFields(form),
    ...(secret && { secret }),
  }
  await webhooks.subscribe(ctx, validateBody('createWebhook', sent))
  return { to: PATH, flash: savedMessage('The webhook is added.', secret) }
}

async function find({ ctx, params }: PageRequest): Promise<Subscription> {
  const found = (await webhooks.list(ctx)).data.find(({ id }) => id === params.id)
  if (!found) throw webhooks.webhookNotFound()
  return found
}

async function edit(request: PageRequest): Promise<View> {
  const one = await find(request)
  const action = `${PATH}/${one.id}`
  const secret = one.hasSecret
    ? 'Replace the signing secret. Deliveries are also signed with the old one for 24 hours.'
    : 'Sign deliveries with a new secret, shown once'
  return {
    title: 'Edit webhook',
    crumb: { to: PATH, text: 'Webhooks' },
    body: html`<section class="card">${form(
      request,
      action,
      html`${fields(request, one)}
<label class="box"><input type="checkbox" name="sign" value="1"> ${secret}</label>
<p class="row"><button class="main">Save</button> <a class="button" href="${PATH}">Back</a></p>`,
    )}</section>`,
  }
}

async function change(request: PageRequest) {
  const { ctx, form, params } = request
  const secret = form.has('sign') ? newSecret(request) : undefined
  const { events } = await find(request)
  const sent = {
    url: form.get('url') ?? '',
    ...(areOffered(events) && { events: form.getAll('events') }),
    ...sentFields(form),
    ...(secret && { secret }),
  }
  await update(ctx, params.id ?? '', validateBody('updateWebhook', sent))
  return { to: PATH, flash: savedMessage('The webhook is updated.', secret) }
}

async function enable({ ctx, params }: PageRequest) {
  await update(ctx, params.id ?? '', { status: 'enabled' })
  const text = 'The webhook is enabled. Redeliver what it missed on the page of its deliveries.'
  return { to: PATH, flash: { text } }
}

async function confirmDelete(request: PageRequest): Promise<View> {
  const { id, url } = await find(request)
  const text = html`<p>No more events are sent to <strong class="break">${url}</strong>. Pending deliveries are discarded.</p>`
  const body = confirmation(request, { text, action: `${PATH}/${id}/delete`, button: 'Delete webhook', back: PATH })
  return { title: 'Delete this webhook?', crumb: { to: PATH, text: 'Webhooks' }, body }
}

async function remove({ ctx, params }: PageRequest) {
  await webhooks.unsubscribe(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'The webhook is deleted.' } }
}

async function sendTest({ ctx }: PageRequest) {
  const { message } = await webhooks.sendTest(ctx)
  return { to: '/admin/deliveries?event=test', flash: { text: message } }
}
