import type { components } from '../../contract/schema.d.ts'
import * as deliveries from '../../domains/webhooks/deliveries.ts'
import * as webhooks from '../../domains/webhooks/webhooks.ts'
import { facts } from '../kit/components.ts'
import { form } from '../kit/form.ts'
import { time } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { countColumn, type ListColumn, listTable } from '../kit/list-columns.ts'
import type { PageRequest, View } from '../kit/route.ts'
import { visibleUrl } from '../kit/route.ts'
import { badge } from '../kit/status.ts'

type Delivery = components['schemas']['Delivery']
type Subscription = components['schemas']['WebhookSubscription']

const PATH = '/admin/deliveries'
/** Explanations of the codes of the delivery log. */
const OUTCOMES: Readonly<Record<string, string>> = {
  ok: 'The receiver accepted it.',
  http_4xx: 'The receiver rejected it.',
  http_5xx: 'The receiver failed to process it.',
  timeout: 'The receiver did not respond in time.',
  tls: 'The receiver has no valid certificate.',
  dns: 'The host name was not found.',
  connect: 'The connection was refused or lost.',
  refused_url: 'The URL does not lead to a public address, or the receiver redirects.',
  secret_unreadable: 'The signing secret cannot be decrypted. Roll it.',
  disabled: 'The webhook was disabled.',
}

const responseOf = ({ code, httpStatus, nextAttemptAt }: Delivery, zone: string): Html | string =>
  code === null
    ? 'pending'
    : html`${httpStatus ?? html`<code>${code}</code>`}${nextAttemptAt ? html`<small>next attempt ${time(nextAttemptAt, '–', zone)}</small>` : ''}`

const durationOf = ({ durationMs }: Delivery): string => (durationMs === null ? '–' : `${durationMs} ms`)

/** One delivery: the request, the response, and the next attempt. */
export async function showDelivery(request: PageRequest): Promise<View> {
  const { ctx, zone, isOwner, params } = request
  const { delivery: one, payload, isErased, others } = await deliveries.read(ctx, params.id ?? '')
  const { data: subscriptions } = await webhooks.list(ctx)
  const webhook = subscriptions.find(({ id }) => id === one.subscriptionId)
  const urls = new Map(subscriptions.map(({ id, url }) => [id, visibleUrl(url, isOwner)]))
  const canBeSent = one.status !== 'PENDING' && webhook?.status === 'enabled' && !isErased
  const again = html`<button class="main">${one.status === 'RETRYING' ? 'Retry now' : 'Redeliver'}</button>`
  return {
    title: one.event,
    crumb: { to: PATH, text: 'Deliveries' },
    badges: badge(one.status),
    lead: one.code === null ? 'It has not been sent yet.' : (OUTCOMES[one.code] ?? ''),
    actions: canBeSent ? form(request, `${PATH}/${one.id}/redeliver`, again) : undefined,
    subjectId: one.id,
    body: html`${isErased ? html`<p class="notice wait">A person’s data was erased from this event, so the original can no longer be sent.</p>` : ''}
${facts(
  [
    ['Webhook', webhookOf(webhook, isOwner)],
    ['Created', time(one.createdAt, '–', zone)],
    ['Attempts', attemptsOf(one, webhook)],
    ['Last response', responseOf({ ...one, nextAttemptAt: null }, zone)],
    ['Duration', durationOf(one)],
    ['Next attempt', one.nextAttemptAt === null ? undefined : time(one.nextAttemptAt, '–', zone)],
    ['Finished', time(one.finishedAt, 'not yet', zone)],
    ['Event ID', html`<code>${one.eventId}</code>`],
    ['webhook-id', html`<code>${one.webhookId}</code>`],
  ],
  'facts card',
)}
${payloadOf(one, payload, isOwner)}
${
  others.length === 0
    ? ''
    : html`<h2>Other deliveries of this event</h2>${listTable('Other deliveries of this event', columns(request, urls), others)}`
}`,
  }
}

const webhookOf = (webhook: Subscription | undefined, isOwner: boolean): Html => {
  if (!webhook) return html`<em>removed</em>`
  const url = visibleUrl(webhook.url, isOwner)
  return isOwner ? html`<a href="/admin/webhooks/${webhook.id}">${url}</a>` : html`${url}`
}

/** `3 of 8` while attempts remain. */
const MAX_ATTEMPTS = 8
const attemptsOf = ({ attempts, status }: Delivery, webhook: Subscription | undefined): string =>
  status === 'RETRYING' && webhook?.retryPolicy === 'standard' ? `${attempts} of ${MAX_ATTEMPTS}` : String(attempts)

/** Payout payloads contain amounts that only owners may see. */
function payloadOf({ event }: Delivery, payload: string, isOwner: boolean): Html {
  if (!isOwner && event.startsWith('payout.'))
    return html`<h2>Payload</h2><p class="hint">Only an owner can see the payload of payout events.</p>`
  return html`<section class="card" aria-labelledby="payload"><h2 id="payload">Payload</h2>
${text('body', 'Payload as JSON', JSON.stringify(JSON.parse(payload), null, 2))}
<details><summary>Exact bytes, as signed</summary>${text('bytes', 'Exact bytes', payload)}</details></section>`
}

/** Scrolling text with a copy button. */
const text = (id: string, label: string, value: string): Html =>
  html`<div class="copy payload"><code id="${id}" role="region" aria-label="${label}" tabindex="0">${value}</code><button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></div>`

const columns = ({ zone }: PageRequest, urls: Map<string, string>): ListColumn<Delivery>[] => [
  { label: 'Created', cell: ({ id, createdAt }) => html`<a href="${PATH}/${id}">${time(createdAt, '–', zone)}</a>` },
  webhookColumn(urls),
  ...outcomeColumns(zone),
]

/** @param urls of webhooks as the user may see them, by id */
export const webhookColumn = (urls: Map<string, string>): ListColumn<Delivery> => ({
  label: 'Webhook',
  kind: 'name',
  card: 'bare',
  cell: ({ subscriptionId }) => urls.get(subscriptionId) ?? html`<em>removed</em>`,
})

export const outcomeColumns = (zone: string): ListColumn<Delivery>[] => [
  { label: 'Status', card: 'lead', cell: ({ status }) => badge(status) },
  { label: 'Response', card: 'bare', cell: (delivery) => responseOf(delivery, zone) },
  countColumn({ label: 'Attempts', card: 'inline' }, ({ attempts }) => attempts),
  { label: 'Duration', kind: 'number', card: 'inline', cell: durationOf },
]
