import type { components } from '../contract/schema.d.ts'
import * as webhooks from '../webhooks/webhooks.ts'
import { emittedEvents, update } from '../webhooks/webhooks.ts'
import { checkboxes, confirmation, form, input } from './form.ts'
import { type Html, html } from './html.ts'
import type { Flash, Route, View, Visitor } from './route.ts'
import { bodyOf, EVERYONE, endpoint, like, OWNERS } from './route.ts'
import { address, empty, time } from './show.ts'
import { ACTIONS, type Cell, type Column, named, pager, slice, table, wide } from './table.ts'

type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/webhooks'
const COLUMNS: Column[] = [named('Endpoint'), wide('Events'), 'Signed', 'Created', ACTIONS]

export const webhookRoutes: Route[] = [
  { path: '/webhooks', roles: EVERYONE, audit: 'webhooks.listed', show: list },
  { path: '/webhooks', roles: OWNERS, act: create, again: list },
  { path: '/webhooks/test', roles: OWNERS, act: sendTest, again: list },
  { path: '/webhooks/:id', roles: OWNERS, audit: 'webhook.shown', show: edit },
  { path: '/webhooks/:id', ...like('updateWebhook'), act: change, again: edit },
  { path: '/webhooks/:id/delete', roles: OWNERS, show: confirmDelete },
  { path: '/webhooks/:id/delete', roles: OWNERS, act: remove, again: list },
]

async function list(visitor: Visitor): Promise<View> {
  const { data, pagination } = slice((await webhooks.list(visitor.ctx)).data, visitor.query)
  const rows = data.map((one) => row(visitor, one))
  return {
    title: 'Webhooks',
    body: html`<p class="lead">The server sends events to each of these URLs in a POST request.</p>
${rows.length ? table('Webhooks', COLUMNS, rows) : empty('No webhooks yet', visitor.isOwner ? 'Add the URL of your receiver below.' : 'An owner can add one.')}
${pager(PATH, visitor.query, pagination)}
${visitor.isOwner && data[0] ? testing(visitor) : ''}
${visitor.isOwner ? creation(visitor) : ''}`,
  }
}

function row({ isOwner }: Visitor, one: Subscription): Cell[] {
  const where = endpoint(one.url, isOwner)
  const link = (to: string, text: string) =>
    html`<a class="button small" href="${to}">${text}<span class="unseen"> ${where}</span></a> `
  const log = link(address('/admin/deliveries', { subscriptionId: one.id }), 'Deliveries')
  const own = [link(`${PATH}/${one.id}`, 'Edit'), link(`${PATH}/${one.id}/delete`, 'Delete')]
  return [
    where,
    one.events.length ? eventNames(one.events) : 'all',
    one.hasSecret ? 'Yes' : 'No',
    time(one.createdAt),
    isOwner ? [log, ...own] : log,
  ]
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

const testing = (visitor: Visitor): Html =>
  form(
    visitor,
    `${PATH}/test`,
    html`<button>Send test event</button> <span class="hint">Sent to every webhook that subscribes to all events or to <code>test</code>.</span>`,
    'row',
  )

const fields = (visitor: Visitor, known: { url: string; events: string[] }): Html => {
  const { form } = visitor
  const url = form.get('url') ?? known.url
  const events = form.size ? form.getAll('events') : known.events
  const offered = [...new Set([...emittedEvents, 'test', ...events])]
  const names = areOffered(known.events)
    ? checkboxes('events', 'Events (none selected: all)', offered, events)
    : html`<p class="hint">This webhook has ${known.events.length} event names, which are too many or too long to edit here. Use the API to change them. Saving this form keeps them.</p>`
  return html`${input({ name: 'url', label: 'URL', type: 'url', value: url, required: true, maxlength: 2048, placeholder: 'https://shop.example/webhooks', hint: 'A public https URL.' })}
${names}`
}

const creation = (
  visitor: Visitor,
): Html => html`<section class="card" aria-labelledby="add"><h2 id="add">Add a webhook</h2>
${form(
  visitor,
  PATH,
  html`${fields(visitor, { url: '', events: [] })}
<label class="box"><input type="checkbox" name="sign" value="1"${visitor.form.size && !visitor.form.has('sign') ? '' : html` checked`}> Sign deliveries with a new secret, shown once</label>
<button class="main">Add webhook</button>`,
)}</section>`

const newSecret = ({ ctx }: Visitor) => Buffer.from(ctx.random(24)).toString('base64url')

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

async function create(visitor: Visitor) {
  const { ctx, form } = visitor
  const secret = form.has('sign') ? newSecret(visitor) : undefined
  const sent = {
    url: form.get('url'),
    events: form.getAll('events'),
    source: 'developer-page',
    ...(secret && { secret }),
  }
  await webhooks.subscribe(ctx, bodyOf('createWebhook', sent))
  return { to: PATH, flash: savedMessage('The webhook is added.', secret) }
}

async function find({ ctx, params }: Visitor): Promise<Subscription> {
  const found = (await webhooks.list(ctx)).data.find(({ id }) => id === params.id)
  if (!found) throw webhooks.webhookNotFound()
  return found
}

async function edit(visitor: Visitor): Promise<View> {
  const one = await find(visitor)
  const action = `${PATH}/${one.id}`
  const secret = one.hasSecret
    ? 'Replace the signing secret. Deliveries are also signed with the old one for 24 hours.'
    : 'Sign deliveries with a new secret, shown once'
  return {
    title: 'Edit webhook',
    body: html`<section class="card">${form(
      visitor,
      action,
      html`${fields(visitor, one)}
<label class="box"><input type="checkbox" name="sign" value="1"> ${secret}</label>
<p class="row"><button class="main">Save</button> <a class="button" href="${PATH}">Back</a></p>`,
    )}</section>`,
  }
}

async function change(visitor: Visitor) {
  const { ctx, form, params } = visitor
  const secret = form.has('sign') ? newSecret(visitor) : undefined
  const { events } = await find(visitor)
  const sent = {
    url: form.get('url') ?? '',
    ...(areOffered(events) && { events: form.getAll('events') }),
    ...(secret && { secret }),
  }
  await update(ctx, params.id ?? '', bodyOf('updateWebhook', sent))
  return { to: PATH, flash: savedMessage('The webhook is updated.', secret) }
}

async function confirmDelete(visitor: Visitor): Promise<View> {
  const { id, url } = await find(visitor)
  const text = html`<p>No more events are sent to <strong class="break">${url}</strong>. Pending deliveries are discarded.</p>`
  const body = confirmation(visitor, { text, action: `${PATH}/${id}/delete`, button: 'Delete webhook', back: PATH })
  return { title: 'Delete this webhook?', body }
}

async function remove({ ctx, params }: Visitor) {
  await webhooks.unsubscribe(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'The webhook is deleted.' } }
}

async function sendTest({ ctx }: Visitor) {
  const { message } = await webhooks.sendTest(ctx)
  return { to: '/admin/deliveries?event=test', flash: { text: message } }
}
