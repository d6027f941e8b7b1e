import type { components } from '../contract/schema.d.ts'
import { nowIso } from '../core/context.ts'
import { availableEvents, extendedEvents } from '../core/event-names.ts'
import { isLargeList } from '../core/list-size.ts'
import { isDeepPage } from '../core/pagination.ts'
import * as deliveries from '../webhooks/deliveries.ts'
import * as webhooks from '../webhooks/webhooks.ts'
import { field, form, hidden, input, select } from './form.ts'
import { type Html, html } from './html.ts'
import { readKept, readListKept, stillReading } from './kept.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf, validateBody, visibleUrl } from './route.ts'
import { badge, counted, empty, time, urlWithQuery } from './show.ts'
import { ACTIONS, type Cell, type Column, inCard, nameColumn, numberColumn, pageOf, pager, table } from './table.ts'

type Delivery = components['schemas']['Delivery']
type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/deliveries'
const STATUSES = ['PENDING', 'RETRYING', 'SENT', 'FAILED'] as const
const COLUMNS: Column[] = [
  'Event',
  inCard('bare', nameColumn('Webhook')),
  inCard('bare', 'Created'),
  inCard('lead', 'Status'),
  inCard('bare', 'Response'),
  inCard('inline', numberColumn('Attempts')),
  inCard('inline', numberColumn('Duration')),
  ACTIONS,
]

export const deliveryRoutes: Route[] = [
  { path: '/deliveries', ...rolesAndAuditOf('listDeliveries'), show: list },
  { path: '/deliveries/redeliver', ...rolesAndAuditOf('listDeliveries'), show: previewMany },
  { path: '/deliveries/redeliver', ...rolesAndAuditOf('redeliverMany'), act: redeliverMany, page: list },
  { path: '/deliveries/:id/redeliver', ...rolesAndAuditOf('redeliver'), act: redeliver, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const { data: subscriptions } = await webhooks.list(ctx)
  const status = STATUSES.find((one) => one === query.get('status'))
  const filter = { subscriptionId: field(query, 'subscriptionId'), event: field(query, 'event'), status }
  const page = pageOf(query)
  const { list: found, notice } = await readListKept(request, {
    key: ['deliveries', page, filter],
    isLarge:
      (Object.values(filter).some(Boolean) || isDeepPage(page)) && (await isLargeList(ctx, { list: 'deliveries' })),
    read: (own) => deliveries.list(own, { ...page, ...filter }),
  })
  const data = found?.data ?? []
  const byId = new Map(subscriptions.map((one) => [one.id, one]))
  const rows = data.map((one) => row(request, one, byId.get(one.subscriptionId)))
  return {
    title: 'Deliveries',
    lead: html`Every delivery of an event to a webhook. Failed deliveries are retried automatically if the webhook is set to retry. Redeliver sends the same bytes with the same <code>webhook-id</code>.`,
    body: html`${filters(request, subscriptions)}
${rows.length ? table('Deliveries', COLUMNS, rows) : found && empty('No deliveries', html`Events are sent to your <a href="/admin/webhooks">webhooks</a>, where you can also send a test event.`)}
${notice}${found && pager(PATH, query, found.pagination)}
${subscriptions.length ? bulk(request, subscriptions) : ''}`,
  }
}

/** Finds the deliveries of one webhook and period to redeliver. */
const bulk = ({ form: sent, query, isOwner }: PageRequest, subscriptions: Subscription[]): Html => {
  const given = sent.size ? sent : query
  const endpoints = subscriptions.map((one) => [one.id, visibleUrl(one.url, isOwner)] as const)
  return html`<section class="card" aria-labelledby="bulk"><h2 id="bulk">Redeliver many</h2>
<form method="get" action="${PATH}/redeliver"><div class="fields">${select('subscriptionId', 'Webhook', endpoints, given.get('subscriptionId') ?? '', { id: 'bulk-endpoint' })}
${select('status', 'Deliveries that', Object.entries(REDELIVERABLE), given.get('status') ?? 'FAILED', { id: 'bulk-status' })}
${input({ name: 'from', label: 'From (UTC)', type: 'datetime-local', value: sent.get('from') ?? '', required: true, maxlength: 30 })}
${input({ name: 'to', label: 'To (UTC)', type: 'datetime-local', value: sent.get('to') ?? '', maxlength: 30, hint: 'Empty: until now.' })}</div>
<button class="main">Count deliveries</button></form></section>`
}

const REDELIVERABLE: Readonly<Record<string, string>> = { FAILED: 'failed', SENT: 'were sent' }

/** How many deliveries the form would send again, and the button that does. */
async function previewMany(request: PageRequest): Promise<View> {
  const { ctx, query, isOwner, zone } = request
  const subscriptionId = field(query, 'subscriptionId') ?? ''
  const sent = { ...redeliverableOf(query), to: toInstant(field(query, 'to')) ?? nowIso(ctx) }
  const body = validateBody('redeliverMany', { ...sent, dryRun: true })
  const { value: found } = await readKept(request.ctx, {
    key: ['redeliver', subscriptionId, redeliverableOf(query), field(query, 'to')],
    isLarge: await isLargeList(ctx, { list: 'deliveries' }),
    read: (own) => deliveries.redeliverMany(own, subscriptionId, body),
  })
  const { data: subscriptions } = await webhooks.list(ctx)
  const url = visibleUrl(subscriptions.find(({ id }) => id === subscriptionId)?.url ?? '', isOwner)
  const back = urlWithQuery(PATH, { subscriptionId })
  const view = { title: 'Redeliver many', crumb: { to: back, text: 'Deliveries' } }
  if (!found) return { ...view, body: stillReading('The deliveries that match are being counted.') }
  const { remaining } = found
  if (remaining === 0)
    return {
      ...view,
      body: empty(
        'No deliveries match',
        html`Latest deliveries that are queued again are not counted twice. <a href="${back}">Back</a>`,
      ),
    }
  const words = counted(remaining, 'delivery', 'deliveries')
  return {
    ...view,
    body: html`<section class="card narrow" aria-labelledby="matches"><h2 id="matches">${words}</h2>
<p>To <strong class="break">${url}</strong>, created from ${time(sent.from ?? null, '–', zone)} to ${time(sent.to, '–', zone)}, that ${REDELIVERABLE[sent.status] ?? sent.status}. Each is sent again with the same bytes and <code>webhook-id</code>.</p>
${form(
  request,
  `${PATH}/redeliver`,
  html`${Object.entries({ ...sent, subscriptionId }).map(([name, value]) => hidden(name, value ?? ''))}
<button class="main">Redeliver ${words}</button> <a class="button" href="${back}">Back</a>`,
  'row',
)}</section>`,
  }
}

const redeliverableOf = (given: URLSearchParams) => ({
  from: toInstant(field(given, 'from')),
  status: given.get('status') ?? 'FAILED',
})

const filters = ({ query, isOwner }: PageRequest, subscriptions: Subscription[]): Html => {
  const any = ['', 'All'] as const
  const events = [...new Set(['test', ...availableEvents, ...extendedEvents])].map((one) => [one, one] as const)
  const endpoints = subscriptions.map((one) => [one.id, visibleUrl(one.url, isOwner)] as const)
  return html`<form class="filters" method="get" action="${PATH}">
${select('status', 'Status', [any, ...STATUSES.map((one) => [one, one[0] + one.slice(1).toLowerCase()] as const)], query.get('status') ?? '')}
${select('event', 'Event', [any, ...events], query.get('event') ?? '')}
${select('subscriptionId', 'Webhook', [any, ...endpoints], query.get('subscriptionId') ?? '')}
<div class="row"><button>Filter</button></div></form>`
}

function row(request: PageRequest, one: Delivery, subscription: Subscription | undefined): Cell[] {
  const canBeSent = one.finishedAt !== null && subscription !== undefined
  const again = html`<input type="hidden" name="back" value="${String(request.query)}"><button class="small">Redeliver<span class="visually-hidden"> ${one.event} of ${one.createdAt}</span></button>`
  return [
    html`<code>${one.event}</code>`,
    subscription ? visibleUrl(subscription.url, request.isOwner) : html`<em>removed</em>`,
    time(one.createdAt, '–', request.zone),
    badge(one.status),
    responseOf(one, request.zone),
    one.attempts,
    one.durationMs === null ? '–' : `${one.durationMs} ms`,
    canBeSent ? form(request, `${PATH}/${one.id}/redeliver`, again) : '',
  ]
}

const responseOf = ({ code, httpStatus, nextAttemptAt }: Delivery, zone: string): Html | string =>
  code === null
    ? 'pending'
    : html`${httpStatus ?? ''} <code>${code}</code>${nextAttemptAt ? html`, next attempt ${time(nextAttemptAt, '–', zone)}` : ''}`

/** The browser sends a local time without an offset, to the minute. */
const toInstant = (text: string | undefined): string | undefined =>
  text && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text}Z` : text

async function redeliverMany({ ctx, form }: PageRequest) {
  const subscriptionId = field(form, 'subscriptionId') ?? ''
  const to = toInstant(field(form, 'to'))
  const sent = { ...redeliverableOf(form), ...(to && { to }) }
  const { queued, remaining } = await deliveries.redeliverMany(ctx, subscriptionId, validateBody('redeliverMany', sent))
  const count = queued === 1 ? '1 delivery is' : `${queued} deliveries are`
  const more = remaining > 0 ? ` ${remaining} more match: repeat this to queue them, too.` : ''
  return { to: urlWithQuery(PATH, { subscriptionId }), flash: { text: `${count} queued for redelivery.${more}` } }
}

async function redeliver({ ctx, params, form }: PageRequest) {
  const { event } = await deliveries.redeliver(ctx, params.id ?? '')
  const back = new URLSearchParams(form.get('back') ?? '')
  return {
    to: back.size ? `${PATH}?${back}` : PATH,
    flash: { text: `The event ${event} is queued for redelivery. Reload the page to see the result.` },
  }
}
