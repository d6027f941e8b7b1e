import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { rowsOf } from '../../core/lists.ts'
import { atLocalTime } from '../../core/time-zone.ts'
import * as deliveries from '../../domains/webhooks/deliveries.ts'
import * as webhooks from '../../domains/webhooks/webhooks.ts'
import { empty } from '../kit/components.ts'
import { field, form, hidden, input } from '../kit/form.ts'
import { counted, time } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { type ListColumn, timeColumn } from '../kit/list-columns.ts'
import { type FilterValues, selectField } from '../kit/list-filter.ts'
import { type ListPage, NO_MATCH, numberedRows, showList } from '../kit/list-page.ts'
import { loadingNotice, readForPage } from '../kit/report-cache.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { rolesAndAuditOf, validateBody, visibleUrl } from '../kit/route.ts'
import { nameOf } from '../kit/status.ts'
import { ACTIONS } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { outcomeColumns, showDelivery, webhookColumn } from './delivery.ts'
import { EVENT_NAMES } from './webhook-events.ts'

type Delivery = components['schemas']['Delivery']
type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/deliveries'
const STATUSES = ['PENDING', 'RETRYING', 'SENT', 'FAILED'] as const
export const deliveryRoutes: Route[] = [
  { path: '/deliveries', ...rolesAndAuditOf('listDeliveries'), show, hasFilter: true },
  { path: '/deliveries/redeliver', ...rolesAndAuditOf('listDeliveries'), show: previewMany },
  { path: '/deliveries/redeliver', ...rolesAndAuditOf('redeliverMany'), act: redeliverMany, page: show },
  {
    path: '/deliveries/:id',
    roles: rolesAndAuditOf('listDeliveries').roles,
    audit: 'delivery.shown',
    show: showDelivery,
  },
  { path: '/deliveries/:id/redeliver', ...rolesAndAuditOf('redeliver'), act: redeliver, page: show },
]

async function deliveryPage(request: PageRequest): Promise<ListPage<Delivery>> {
  const { data: subscriptions } = await webhooks.list(request.ctx)
  const webhookOptions = subscriptions.map(
    (subscription) => [subscription.id, visibleUrl(subscription.url, request.isOwner)] as const,
  )
  return {
    path: PATH,
    title: 'Deliveries',
    lead: html`Every event sent to a webhook. To redeliver many at once, filter by one webhook and by failed status. Redelivery sends the same bytes with the same <code>webhook-id</code>.`,
    filters: [
      selectField(request, {
        name: 'status',
        label: 'Status',
        options: STATUSES.map((statu) => [statu, nameOf(statu)] as const),
      }),
      selectField(request, {
        name: 'event',
        label: 'Event',
        options: EVENT_NAMES.map((eventName) => [eventName, eventName] as const),
        isOpen: true,
      }),
      selectField(request, { name: 'subscriptionId', label: 'Webhook', options: webhookOptions, isOpen: true }),
    ],
    columns: () => columns(request, new Map(webhookOptions)),
    read: ({ values }) => numberedRows(request, { path: PATH, list: deliveries.list, query: values }),
    none: ({ values }) =>
      Object.keys(values).length
        ? NO_MATCH
        : empty(
            'No deliveries',
            html`Events are sent to your <a href="/admin/webhooks">webhooks</a>, where you can also send a test event.`,
          ),
    actions: ({ values }, { total = 0 }) => redeliverThese(subscriptions, values, total),
  }
}

async function show(request: PageRequest): Promise<View> {
  return showList(request, await deliveryPage(request))
}

const columns = (request: PageRequest, urls: Map<string, string>): ListColumn<Delivery>[] => [
  { label: 'Event', cell: ({ id, event }) => html`<a href="${PATH}/${id}"><code>${event}</code></a>` },
  webhookColumn(urls),
  timeColumn({ label: 'Created', card: 'bare', zone: request.zone }, ({ createdAt }) => createdAt),
  ...outcomeColumns(request.zone),
  {
    ...ACTIONS,
    cell: (delivery) =>
      delivery.status !== 'PENDING' && urls.has(delivery.subscriptionId) ? again(request, delivery) : '',
  },
]

const again = (request: PageRequest, { id, status, event, createdAt }: Delivery): Html =>
  form(
    request,
    `${PATH}/${id}/redeliver`,
    html`<input type="hidden" name="back" value="${String(request.query)}"><button class="small">${status === 'RETRYING' ? 'Retry now' : 'Redeliver'}<span class="visually-hidden"> ${event} of ${createdAt}</span></button>`,
  )

/** Outcomes of deliveries that can be redelivered. */
const REDELIVERABLE: Readonly<Record<string, string>> = { FAILED: 'failed', SENT: 'were sent' }

/** Links a list of one webhook's finished deliveries to the page that redelivers them. */
function redeliverThese(subscriptions: Subscription[], filter: FilterValues, total: number): Html | undefined {
  const { status, event } = filter
  const [only] = subscriptions.length === 1 ? subscriptions : []
  const subscriptionId = filter.subscriptionId ?? only?.id
  if (total === 0 || !status || !REDELIVERABLE[status]) return undefined
  if (!subscriptionId) return html`<span class="hint">Choose a webhook to redeliver in bulk.</span>`
  const to = urlWithQuery(`${PATH}/redeliver`, { subscriptionId, status, event })
  return html`<a class="button" href="${to}">Redeliver ${counted(total, 'delivery', 'deliveries')}</a>`
}

/** Shows how many deliveries would be sent again, with a button to do so and a period to narrow them. */
async function previewMany(request: PageRequest): Promise<View> {
  const { ctx, query, isOwner, zone } = request
  const subscriptionId = field(query, 'subscriptionId') ?? ''
  const input = { ...redeliverableOf(request, query), to: toInstant(field(query, 'to'), zone) ?? nowIso(ctx) }
  const body = validateBody('redeliverMany', { ...input, dryRun: true })
  const { value: preview } = await readForPage(request.ctx, {
    key: ['redeliver', subscriptionId, redeliverableOf(request, query), field(query, 'to')],
    cost: rowsOf({ list: 'deliveries' }),
    read: (readCtx) => deliveries.redeliverMany(readCtx, subscriptionId, body),
  })
  const { data: subscriptions } = await webhooks.list(ctx)
  const url = visibleUrl(subscriptions.find(({ id }) => id === subscriptionId)?.url ?? '', isOwner)
  const back = urlWithQuery(PATH, { subscriptionId, status: input.status, event: input.event })
  const lead = `Finished deliveries to one webhook, in any period. Times are in ${zone}.`
  const view = { title: 'Redeliver in bulk', crumb: { to: back, text: 'Deliveries' }, lead }
  const period = periodForm(request, subscriptionId)
  if (!preview) return { ...view, body: loadingNotice('Counting matching deliveries…') }
  const { remaining } = preview
  if (remaining === 0)
    return {
      ...view,
      body: html`${period}${empty(
        'No deliveries match',
        html`Deliveries that are already queued again are not counted. <a href="${back}">Back</a>`,
      )}`,
    }
  const words = counted(remaining, 'delivery', 'deliveries')
  const what = input.event ? html` of <code>${input.event}</code>` : ''
  const since = field(query, 'from') ? html`created from ${time(input.from, '–', zone)} to` : html`created before`
  return {
    ...view,
    body: html`${period}<section class="card narrow" aria-labelledby="matches"><h2 id="matches">${words}</h2>
<p>${nameOf(input.status)} deliveries${what} to <strong class="break">${url}</strong>, ${since} ${time(input.to, '–', zone)}. Only the latest delivery of each event is sent again, with the same bytes and <code>webhook-id</code>.</p>
${form(
  request,
  `${PATH}/redeliver`,
  html`${Object.entries({ ...input, subscriptionId }).map(([name, value]) => hidden(name, value ?? ''))}
<button class="main">Redeliver ${words}</button> <a class="button" href="${back}">Back</a>`,
  'row',
)}</section>`,
  }
}

const periodForm = (request: PageRequest, subscriptionId: string): Html => {
  const { query } = request
  const hiddenFields = { subscriptionId, status: query.get('status') ?? 'FAILED', event: query.get('event') ?? '' }
  const at = (name: string, label: string) =>
    input(request, { name, label, type: 'datetime-local', value: query.get(name) ?? '', maxlength: 30 })
  return html`<form class="filters" method="get" action="${PATH}/redeliver" aria-label="Period">${Object.entries(hiddenFields).map(([name, value]) => hidden(name, value))}
${at('from', 'Created from')}
${at('to', 'To')}
<div class="row"><button>Update</button></div></form>`
}

/** Without a start, the period covers every stored delivery. */
const redeliverableOf = ({ ctx, zone }: PageRequest, params: URLSearchParams) => {
  const event = field(params, 'event')
  return {
    from: toInstant(field(params, 'from'), zone) ?? ctx.shop.createdAt,
    status: params.get('status') ?? 'FAILED',
    ...(event && { event }),
  }
}

/** Parses a browser's local time, which has no offset and no seconds. */
const toInstant = (text: string | undefined, zone: string): string | undefined =>
  text &&
  /^(?!0000|9999)\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(text) &&
  !Number.isNaN(Date.parse(`${text}Z`))
    ? atLocalTime(text, zone)
    : text

async function redeliverMany(request: PageRequest) {
  const { ctx, form, zone } = request
  const subscriptionId = field(form, 'subscriptionId') ?? ''
  const to = toInstant(field(form, 'to'), zone)
  const input = { ...redeliverableOf(request, form), ...(to && { to }) }
  const { queued, remaining } = await deliveries.redeliverMany(
    ctx,
    subscriptionId,
    validateBody('redeliverMany', input),
  )
  const words = counted(queued, 'delivery', 'deliveries')
  const more = remaining > 0 ? ` ${remaining} more match. Repeat to queue them.` : ''
  return { to: urlWithQuery(PATH, { subscriptionId }), flash: { text: `${words} queued for redelivery.${more}` } }
}

/** Returns to the list, or opens the new delivery if the form was on a delivery's page. */
async function redeliver({ ctx, params, form }: PageRequest) {
  const { id, event } = await deliveries.redeliver(ctx, params.id ?? '')
  const back = form.get('back')
  const list = back ? `${PATH}?${new URLSearchParams(back)}` : PATH
  return {
    to: back === null ? `${PATH}/${id}` : list,
    flash: { text: `Event ${event} queued for redelivery. Reload the page to see the result.` },
  }
}
