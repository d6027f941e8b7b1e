import type { components } from '../contract/schema.d.ts'
import * as deliveries from '../webhooks/deliveries.ts'
import * as webhooks from '../webhooks/webhooks.ts'
import { availableEvents } from '../webhooks/webhooks.ts'
import { field, form, select } from './form.ts'
import { type Html, html } from './html.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf, visibleUrl } from './route.ts'
import { badge, empty, time } from './show.ts'
import { ACTIONS, type Cell, type Column, nameColumn, numberColumn, pageOf, pager, table } from './table.ts'

type Delivery = components['schemas']['Delivery']
type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/deliveries'
const STATUSES = ['PENDING', 'SENT', 'FAILED'] as const
const COLUMNS: Column[] = [
  'Event',
  nameColumn('Endpoint'),
  'Created',
  'Status',
  'Response',
  numberColumn('Duration'),
  ACTIONS,
]

export const deliveryRoutes: Route[] = [
  { path: '/deliveries', ...rolesAndAuditOf('listDeliveries'), show: list },
  { path: '/deliveries/:id/redeliver', ...rolesAndAuditOf('redeliver'), act: redeliver, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const { data: subscriptions } = await webhooks.list(ctx)
  const status = STATUSES.find((one) => one === query.get('status'))
  const filter = { subscriptionId: field(query, 'subscriptionId'), event: field(query, 'event'), status }
  const { data, pagination } = await deliveries.list(ctx, { ...pageOf(query), ...filter })
  const byId = new Map(subscriptions.map((one) => [one.id, one]))
  const rows = data.map((one) => row(request, one, byId.get(one.subscriptionId)))
  return {
    title: 'Deliveries',
    body: html`<p class="lead">Every attempt to deliver an event to a webhook. Failed deliveries are not retried automatically. Redeliver sends the same bytes with the same <code>webhook-id</code>.</p>
${filters(request, subscriptions)}
${rows.length ? table('Deliveries', COLUMNS, rows) : empty('No deliveries', html`Events are sent to your <a href="/admin/webhooks">webhooks</a>, where you can also send a test event.`)}
${pager(PATH, query, pagination)}`,
  }
}

const filters = ({ query, isOwner }: PageRequest, subscriptions: Subscription[]): Html => {
  const any = ['', 'All'] as const
  const events = ['test', ...availableEvents].map((one) => [one, one] as const)
  const endpoints = subscriptions.map((one) => [one.id, visibleUrl(one.url, isOwner)] as const)
  return html`<form class="filters" method="get" action="${PATH}">
${select('status', 'Status', [any, ...STATUSES.map((one) => [one, one[0] + one.slice(1).toLowerCase()] as const)], query.get('status') ?? '')}
${select('event', 'Event', [any, ...events], query.get('event') ?? '')}
${select('subscriptionId', 'Endpoint', [any, ...endpoints], query.get('subscriptionId') ?? '')}
<button>Filter</button></form>`
}

function row(request: PageRequest, one: Delivery, subscription: Subscription | undefined): Cell[] {
  const canBeSent = one.finishedAt !== null && subscription !== undefined
  const again = html`<input type="hidden" name="back" value="${String(request.query)}"><button class="small">Redeliver<span class="visually-hidden"> ${one.event} of ${one.createdAt}</span></button>`
  return [
    html`<code>${one.event}</code>`,
    subscription ? visibleUrl(subscription.url, request.isOwner) : html`<em>removed</em>`,
    time(one.createdAt),
    badge(one.status),
    responseOf(one),
    one.durationMs === null ? '–' : `${one.durationMs} ms`,
    canBeSent ? form(request, `${PATH}/${one.id}/redeliver`, again) : '',
  ]
}

const responseOf = ({ code, httpStatus }: Delivery): Html | string =>
  code === null ? 'pending' : html`${httpStatus ?? ''} <code>${code}</code>`

async function redeliver({ ctx, params, form }: PageRequest) {
  const { event } = await deliveries.redeliver(ctx, params.id ?? '')
  const back = new URLSearchParams(form.get('back') ?? '')
  return {
    to: back.size ? `${PATH}?${back}` : PATH,
    flash: { text: `The event ${event} is queued for redelivery. Reload the page to see the result.` },
  }
}
