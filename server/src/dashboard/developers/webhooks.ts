import type { components } from '../../contract/schema.d.ts'
import * as webhooks from '../../domains/webhooks/webhooks.ts'
import { update } from '../../domains/webhooks/webhooks.ts'
import { empty } from '../kit/components.ts'
import { buttonForm, confirmation, form, input, limitsOf, select } from '../kit/form.ts'
import { counted, time } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { type ListColumn, listTable } from '../kit/list-columns.ts'
import type { Flash, PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, OWNER_ONLY, rolesAndAuditOf, validateBody, visibleUrl } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { ACTIONS, pager, slice } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { eventFields, eventNames, receivedEvents, sentEvents, unsentNames } from './webhook-events.ts'

type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/webhooks'
export const webhookRoutes: Route[] = [
  { path: '/webhooks', roles: ALL_ROLES, audit: 'webhooks.listed', show: list },
  { path: '/webhooks', roles: OWNER_ONLY, act: create, page: list },
  { path: '/webhooks/test', roles: OWNER_ONLY, act: sendTest, page: list },
  { path: '/webhooks/:id', roles: OWNER_ONLY, audit: 'webhook.shown', show: edit },
  { path: '/webhooks/:id', ...rolesAndAuditOf('updateWebhook'), act: change, page: edit },
  { path: '/webhooks/:id/secret', roles: OWNER_ONLY, audit: 'webhook.shown', show: confirmRoll },
  { path: '/webhooks/:id/secret', ...rolesAndAuditOf('updateWebhook'), act: roll, page: edit },
  { path: '/webhooks/:id/retries', ...rolesAndAuditOf('updateWebhook'), act: turnOnRetries, page: list },
  { path: '/webhooks/:id/extend', ...rolesAndAuditOf('updateWebhook'), act: extend, page: list },
  { path: '/webhooks/:id/enable', ...rolesAndAuditOf('updateWebhook'), act: enable, page: list },
  { path: '/webhooks/:id/delete', roles: OWNER_ONLY, show: confirmDelete },
  { path: '/webhooks/:id/delete', roles: OWNER_ONLY, act: remove, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { data, pagination } = slice((await webhooks.list(request.ctx)).data, request.query)
  return {
    title: 'Webhooks',
    lead: 'The server sends events to each of these URLs in a POST request.',
    actions: request.isOwner && data[0] ? testing(request) : undefined,
    body: html`${warnings(request, data)}
${data.length ? listTable('Webhooks', columns(request), data) : empty('No webhooks yet', request.isOwner ? 'Add the URL of your receiver below.' : 'An owner can add one.', 'webhooks')}
${pager(PATH, request.query, pagination)}
${request.isOwner ? creation(request) : ''}`,
  }
}

const columns = (request: PageRequest): ListColumn<Subscription>[] => [
  { label: 'Webhook', kind: 'name', cell: ({ url }) => visibleUrl(url, request.isOwner) },
  { label: 'Status', card: 'lead', cell: (subscription) => state(subscription, request.zone) },
  { label: 'Events', kind: 'wide', card: 'inline', cell: receivedEvents },
  { label: 'Signed', card: 'inline', cell: ({ hasSecret }) => (hasSecret ? 'Yes' : 'No') },
  {
    label: 'Retries',
    card: 'inline',
    cell: (subscription) => (subscription.retryPolicy === 'standard' ? 'Yes' : retriesOff(request, subscription)),
  },
  { label: 'Created', card: 'inline', cell: ({ createdAt }) => time(createdAt, '–', request.zone) },
  { ...ACTIONS, cell: (subscription) => links(request, subscription) },
]

function links(request: PageRequest, subscription: Subscription): Html[] {
  const where = visibleUrl(subscription.url, request.isOwner)
  const link = (to: string, text: string) =>
    html`<a class="button small" href="${to}">${text}<span class="visually-hidden"> ${where}</span></a> `
  const log = link(urlWithQuery('/admin/deliveries', { subscriptionId: subscription.id }), 'Deliveries')
  if (!request.isOwner) return [log]
  const path = `${PATH}/${subscription.id}`
  const enable =
    subscription.status === 'disabled' ? [buttonForm(request, `${path}/enable`, 'Enable', subscription.url)] : []
  return [log, ...enable, link(path, 'Edit'), link(`${path}/delete`, 'Delete')]
}

const REASONS: Record<string, string> = { gone: 'returned 410', failing: 'failed for 5 days' }

const state = ({ status, disabledAt, disabledReason, failingSince }: Subscription, zone: string): Html => {
  if (status === 'disabled')
    return html`${badge(status)} ${REASONS[disabledReason ?? ''] ?? ''}, ${time(disabledAt, '–', zone)}`
  return failingSince === null ? badge(status) : html`${badge('FAILED')} since ${time(failingSince, '–', zone)}`
}

const retriesOff = (request: PageRequest, { id, url }: Subscription): Html => {
  const off = html`<span class="badge wait">Off</span>`
  if (!request.isOwner) return off
  const button = html`${off} <button class="small">Turn on<span class="visually-hidden"> retries of ${url}</span></button>`
  return form(request, `${PATH}/${id}/retries`, button)
}

/** Sentences about webhooks that are disabled or failing. */
export async function disabledItems({ ctx }: PageRequest): Promise<string[]> {
  const { data } = await webhooks.list(ctx)
  const disabled = data.filter(({ status }) => status === 'disabled').length
  const failing = data.filter(({ status, failingSince }) => status === 'enabled' && failingSince !== null).length
  return [
    ...(disabled
      ? [counted(disabled, 'webhook is disabled: its receiver failed', 'webhooks are disabled: their receivers failed')]
      : []),
    ...(failing ? [counted(failing, 'webhook is failing', 'webhooks are failing')] : []),
  ]
}

/** Warnings about events that webhooks could receive but do not, or may lose, each with a remedy. */
function warnings(request: PageRequest, shown: Subscription[]): Html {
  const off = shown.filter(({ retryPolicy }) => retryPolicy === 'none').length
  return html`${off === 0 ? '' : html`<p class="notice wait">${counted(off, 'webhook has', 'webhooks have')} no retries. An event is lost if the receiver is unavailable when it is sent.</p>`}
${shown.map((subscription) => unsentNotice(request, subscription))}`
}

function unsentNotice(request: PageRequest, subscription: Subscription): Html | string {
  const { off, unknown } = unsentNames(subscription)
  const where = visibleUrl(subscription.url, request.isOwner)
  const names = eventNames(off.slice(0, 1))
  const text = off.length > 1 ? html`Receive ${off.length} more events` : html`Receive ${names}`
  return html`${off.length === 0 ? '' : html`<div class="notice wait"><p><strong class="break">${where}</strong> lists events that it does not receive yet: ${eventNames(off)}</p>${request.isOwner ? form(request, `${PATH}/${subscription.id}/extend`, html`<button class="small">${text}</button>`) : ''}</div>`}
${unknown.length === 0 ? '' : html`<p class="notice wait"><strong class="break">${where}</strong> lists events that are never sent: ${eventNames(unknown)}</p>`}`
}

const testing = (request: PageRequest): Html =>
  form(
    request,
    `${PATH}/test`,
    html`<button title="Sent to every webhook that subscribes to all events or to test">Send test event</button>`,
  )

type KnownFields = Pick<Subscription, 'url' | 'events' | 'retryPolicy' | 'extendedEvents'>
const NEW: KnownFields = { url: '', events: [], retryPolicy: 'standard', extendedEvents: true }

const fields = (request: PageRequest, known: KnownFields): Html => {
  const { form } = request
  const url = form.get('url') ?? known.url
  const hint = 'Without retries, an event is lost if the receiver is unavailable when it is sent.'
  return html`${input(request, { name: 'url', label: 'URL', type: 'url', value: url, required: true, ...limitsOf('createWebhook', 'url'), placeholder: 'https://shop.example/webhooks', hint: 'A public https URL.' })}
${eventFields(request, known)}
${select('retryPolicy', 'When a delivery fails', RETRY_POLICIES, form.get('retryPolicy') ?? known.retryPolicy, { hint })}`
}

const RETRY_POLICIES = [
  ['standard', 'Retry: 8 attempts over about 28 hours'],
  ['none', 'Do not retry'],
] as const

const creation = (
  request: PageRequest,
): Html => html`<section class="card" aria-labelledby="add"><h2 id="add">Add a webhook</h2>
${form(
  request,
  PATH,
  html`${fields(request, NEW)}
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
  const body = {
    url: form.get('url'),
    ...sentEvents(form),
    source: 'developer-page',
    retryPolicy: form.get('retryPolicy') ?? 'standard',
    ...(secret && { secret }),
  }
  await webhooks.subscribe(ctx, validateBody('createWebhook', body))
  return { to: PATH, flash: savedMessage('Webhook added.', secret) }
}

async function find({ ctx, params }: PageRequest): Promise<Subscription> {
  const subscription = (await webhooks.list(ctx)).data.find(({ id }) => id === params.id)
  if (!subscription) throw webhooks.webhookNotFound()
  return subscription
}

async function edit(request: PageRequest): Promise<View> {
  const subscription = await find(request)
  return {
    title: 'Edit webhook',
    crumb: { to: PATH, text: 'Webhooks' },
    body: html`<section class="card">${form(
      request,
      `${PATH}/${subscription.id}`,
      html`${fields(request, subscription)}
<p class="row"><button class="main">Save</button> <a class="button" href="${PATH}">Back</a></p>`,
    )}</section>
<section class="card" aria-labelledby="signature"><h2 id="signature">Signature</h2>
<p>${await signatureText(request, subscription)}</p>
<p><a class="button" href="${PATH}/${subscription.id}/secret">${subscription.hasSecret ? 'Roll the secret' : 'Sign deliveries'}</a></p></section>`,
  }
}

async function signatureText({ ctx, zone }: PageRequest, { id, hasSecret }: Subscription): Promise<Html> {
  if (!hasSecret) return html`Deliveries are not signed, so the receiver cannot verify who sent them.`
  const until = await webhooks.findPreviousSecretEnd(ctx, id)
  return html`Deliveries are signed with a secret that was shown once.${until ? html` Until ${time(until, '', zone)} they are also signed with the previous secret.` : ''}`
}

async function change(request: PageRequest) {
  const { ctx, form, params } = request
  const body = {
    url: form.get('url') ?? '',
    ...sentEvents(form, await find(request)),
    ...(form.has('retryPolicy') && { retryPolicy: form.get('retryPolicy') }),
  }
  await update(ctx, params.id ?? '', validateBody('updateWebhook', body))
  return { to: PATH, flash: { text: 'Webhook updated.' } }
}

async function confirmRoll(request: PageRequest): Promise<View> {
  const { id, url, hasSecret } = await find(request)
  const consequence = hasSecret
    ? 'For 24 hours, webhook-signature contains signatures with both secrets. X-Service-Signature uses the new one immediately. Give the receiver the new secret within that time.'
    : 'Each delivery carries a signature that the receiver can verify.'
  const text = html`<p>A new secret for <strong class="break">${url}</strong> is created and shown once. ${consequence}</p>`
  const action = `${PATH}/${id}/secret`
  const title = hasSecret ? 'Roll the secret?' : 'Sign deliveries?'
  const button = hasSecret ? 'Roll the secret' : 'Sign deliveries'
  const card = html`<div class="card narrow">${text}
${form(request, action, html`<button class="main">${button}</button> <a class="button" href="${PATH}/${id}">Back</a>`, 'row')}</div>`
  return { title, crumb: { to: `${PATH}/${id}`, text: 'Edit webhook' }, body: card }
}

async function roll(request: PageRequest) {
  const { ctx, params } = request
  const secret = newSecret(request)
  await update(ctx, params.id ?? '', { secret })
  return { to: PATH, flash: savedMessage('Secret replaced.', secret) }
}

async function turnOnRetries({ ctx, params }: PageRequest) {
  await update(ctx, params.id ?? '', { retryPolicy: 'standard' })
  return { to: PATH, flash: { text: 'Retries turned on.' } }
}

async function extend({ ctx, params }: PageRequest) {
  const { events } = await update(ctx, params.id ?? '', { extendedEvents: true })
  return {
    to: PATH,
    flash: { text: `The webhook receives ${events.slice(0, 5).join(', ')}${events.length > 5 ? ' and more' : ''}.` },
  }
}

async function enable({ ctx, params }: PageRequest) {
  await update(ctx, params.id ?? '', { status: 'enabled' })
  const text = 'Webhook enabled. Redeliver what it missed on the Deliveries page.'
  return { to: PATH, flash: { text } }
}

async function confirmDelete(request: PageRequest): Promise<View> {
  const { id, url } = await find(request)
  const text = html`<p>No more events are sent to <strong class="break">${url}</strong>. Pending deliveries are discarded.</p>`
  const view = { title: 'Delete this webhook?', crumb: { to: PATH, text: 'Webhooks' } }
  return confirmation(request, { ...view, text, action: `${PATH}/${id}/delete`, button: 'Delete webhook' })
}

async function remove({ ctx, params }: PageRequest) {
  await webhooks.unsubscribe(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'Webhook deleted.' } }
}

async function sendTest({ ctx }: PageRequest) {
  const { message } = await webhooks.sendTest(ctx)
  return { to: '/admin/deliveries?event=test', flash: { text: message } }
}
