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
  { path: '/webhooks/:id/delete', roles: OWNERS, show: ask },
  { path: '/webhooks/:id/delete', roles: OWNERS, act: remove, again: list },
]

async function list(visitor: Visitor): Promise<View> {
  const { data, pagination } = slice((await webhooks.list(visitor.ctx)).data, visitor.query)
  const rows = data.map((one) => row(visitor, one))
  return {
    title: 'Webhooks',
    body: html`<p class="lead">We tell your systems what happens, by a POST to each of these addresses.</p>
${rows.length ? table('Webhooks', COLUMNS, rows) : empty('No webhooks yet', visitor.isOwner ? 'Add the address of your receiver below.' : 'An owner can add one.')}
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
  const own = [link(`${PATH}/${one.id}`, 'Change'), link(`${PATH}/${one.id}/delete`, 'Delete')]
  return [
    where,
    one.events.length ? eventNames(one.events) : 'all',
    one.hasSecret ? 'Yes' : 'No',
    time(one.createdAt),
    isOwner ? [log, ...own] : log,
  ]
}

// Any text may be a name, and there may be thousands; a page shows a few of them, shortened.
const SHOWN_NAMES = 20
const SHOWN_CHARACTERS = 60
const shortened = (name: string) => (name.length > SHOWN_CHARACTERS ? `${name.slice(0, SHOWN_CHARACTERS)}…` : name)

function eventNames(events: string[]): Html {
  const shown = events.slice(0, SHOWN_NAMES).map((name) => html`<code>${shortened(name) || '""'}</code> `)
  const rest = events.length - shown.length
  return html`${shown}${rest > 0 ? `and ${rest} more` : ''}`
}

/** A form offers names to choose from as long as they are few and short; one with a line break would come back changed. */
const areOffered = (events: string[]) =>
  events.length <= SHOWN_NAMES && events.every((name) => name.length <= SHOWN_CHARACTERS && !/[\r\n]/.test(name))

const testing = (visitor: Visitor): Html =>
  form(
    visitor,
    `${PATH}/test`,
    html`<button>Send test event</button> <span class="hint">It goes to every webhook that takes all events or <code>test</code>.</span>`,
    'row',
  )

const fields = (visitor: Visitor, known: { url: string; events: string[] }): Html => {
  const { form } = visitor
  const url = form.get('url') ?? known.url
  const events = form.size ? form.getAll('events') : known.events
  const offered = [...new Set([...emittedEvents, 'test', ...events])]
  const names = areOffered(known.events)
    ? checkboxes('events', 'Events (none chosen means all)', offered, events)
    : html`<p class="hint">This webhook has ${known.events.length} event names, too many or too long to choose from here: change them with the API. Saving keeps them.</p>`
  return html`${input({ name: 'url', label: 'Address', type: 'url', value: url, required: true, maxlength: 2048, placeholder: 'https://shop.example/webhooks', hint: 'A public https address.' })}
${names}`
}

const creation = (
  visitor: Visitor,
): Html => html`<section class="card" aria-labelledby="add"><h2 id="add">Add a webhook</h2>
${form(
  visitor,
  PATH,
  html`${fields(visitor, { url: '', events: [] })}
<label class="box"><input type="checkbox" name="sign" value="1"${visitor.form.size && !visitor.form.has('sign') ? '' : html` checked`}> Sign each delivery with a new secret, shown once</label>
<button class="main">Add webhook</button>`,
)}</section>`

const newSecret = ({ ctx }: Visitor) => Buffer.from(ctx.random(24)).toString('base64url')

const told = (text: string, secret: string | undefined): Flash =>
  secret
    ? {
        text: `${text} Copy its signing secret now: it is shown this once.`,
        secret: {
          name: 'Signing secret',
          value: secret,
          also: { name: 'The same for a library of Standard Webhooks', value: standardSpelling(secret) },
        },
      }
    : { text }

/** Deliveries are signed with the bytes of the text; those libraries read a key as `whsec_` and base64. */
const standardSpelling = (secret: string) => `whsec_${Buffer.from(secret).toString('base64')}`

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
  return { to: PATH, flash: told('The webhook is added.', secret) }
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
    ? 'Replace the signing secret; the old one also signs for 24 hours'
    : 'Sign each delivery with a new secret, shown once'
  return {
    title: 'Change a webhook',
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
  return { to: PATH, flash: told('The webhook is changed.', secret) }
}

async function ask(visitor: Visitor): Promise<View> {
  const { id, url } = await find(visitor)
  const text = html`<p>Nothing more is sent to <strong class="break">${url}</strong>, and what waits for it is forgotten.</p>`
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
