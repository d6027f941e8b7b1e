import type { components } from '../contract/schema.d.ts'
import * as deliveries from '../webhooks/deliveries.ts'
import * as webhooks from '../webhooks/webhooks.ts'
import { availableEvents } from '../webhooks/webhooks.ts'
import { field, form, select } from './form.ts'
import { type Html, html } from './html.ts'
import type { Route, View, Visitor } from './route.ts'
import { endpoint, like } from './route.ts'
import { badge, empty, time } from './show.ts'
import { ACTIONS, type Cell, type Column, named, numeric, pageOf, pager, table } from './table.ts'

type Delivery = components['schemas']['Delivery']
type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/deliveries'
const STATUSES = ['PENDING', 'SENT', 'FAILED'] as const
const COLUMNS: Column[] = ['Event', named('Endpoint'), 'Created', 'Status', 'Response', numeric('Duration'), ACTIONS]

export const deliveryRoutes: Route[] = [
  { path: '/deliveries', ...like('listDeliveries'), show: list },
  { path: '/deliveries/:id/redeliver', ...like('redeliver'), act: redeliver, again: list },
]

async function list(visitor: Visitor): Promise<View> {
  const { ctx, query } = visitor
  const { data: subscriptions } = await webhooks.list(ctx)
  const status = STATUSES.find((one) => one === query.get('status'))
  const filter = { subscriptionId: field(query, 'subscriptionId'), event: field(query, 'event'), status }
  const { data, pagination } = await deliveries.list(ctx, { ...pageOf(query), ...filter })
  const byId = new Map(subscriptions.map((one) => [one.id, one]))
  const rows = data.map((one) => row(visitor, one, byId.get(one.subscriptionId)))
  return {
    title: 'Deliveries',
    body: html`<p class="lead">Every attempt to deliver an event to a webhook. Failed deliveries are not retried automatically. Redeliver sends the same bytes with the same <code>webhook-id</code>.</p>
${filters(visitor, subscriptions)}
${rows.length ? table('Deliveries', COLUMNS, rows) : empty('No deliveries', html`Events are sent to your <a href="/admin/webhooks">webhooks</a>, where you can also send a test event.`)}
${pager(PATH, query, pagination)}`,
  }
}

const filters = ({ query, isOwner }: Visitor, subscriptions: Subscription[]): Html => {
  const any = ['', 'All'] as const
  const events = ['test', ...availableEvents].map((one) => [one, one] as const)
  const endpoints = subscriptions.map((one) => [one.id, endpoint(one.url, isOwner)] as const)
  return html`<form class="filters" method="get" action="${PATH}">
${select('status', 'Status', [any, ...STATUSES.map((one) => [one, one[0] + one.slice(1).toLowerCase()] as const)], query.get('status') ?? '')}
${select('event', 'Event', [any, ...events], query.get('event') ?? '')}
${select('subscriptionId', 'Endpoint', [any, ...endpoints], query.get('subscriptionId') ?? '')}
<button>Filter</button></form>`
}

function row(visitor: Visitor, one: Delivery, subscription: Subscription | undefined): Cell[] {
  const canBeSent = one.finishedAt !== null && subscription !== undefined
  const again = html`<input type="hidden" name="back" value="${String(visitor.query)}"><button class="small">Redeliver<span class="unseen"> ${one.event} of ${one.createdAt}</span></button>`
  return [
    html`<code>${one.event}</code>`,
    subscription ? endpoint(subscription.url, visitor.isOwner) : html`<em>removed</em>`,
    time(one.createdAt),
    badge(one.status),
    responseOf(one),
    one.durationMs === null ? '–' : `${one.durationMs} ms`,
    canBeSent ? form(visitor, `${PATH}/${one.id}/redeliver`, again) : '',
  ]
}

const responseOf = ({ code, httpStatus }: Delivery): Html | string =>
  code === null ? 'pending' : html`${httpStatus ?? ''} <code>${code}</code>`

async function redeliver({ ctx, params, form }: Visitor) {
  const { event } = await deliveries.redeliver(ctx, params.id ?? '')
  const back = new URLSearchParams(form.get('back') ?? '')
  return {
    to: back.size ? `${PATH}?${back}` : PATH,
    flash: { text: `The event ${event} is queued for redelivery. Reload the page to see the result.` },
  }
}
