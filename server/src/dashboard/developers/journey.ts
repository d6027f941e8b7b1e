import type { components } from '../../contract/schema.d.ts'
import { affiliateNames } from '../../domains/affiliates/affiliates.ts'
import * as journey from '../../domains/journey/journey.ts'
import * as orders from '../../domains/orders/reported.ts'
import { empty } from '../kit/components.ts'
import { field } from '../kit/form.ts'
import { money, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import {
  affiliateNotice,
  type FilterValues,
  filterForm,
  filterInput,
  filterValues,
  readAffiliate,
} from '../kit/list-filter.ts'
import { loadingNotice, readListForPage } from '../kit/report-cache.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES } from '../kit/route.ts'
import { nameOf } from '../kit/status.ts'
import { urlWithQuery } from '../kit/url.ts'

type Entry = components['schemas']['JourneyEntry'] & { orderId: string | null }

const PATH = '/admin/journey'
const MAX_ENTRIES = 200

const FILTERS = ['customerEmail', 'sessionId', 'affiliate', 'order']

export const journeyRoutes: Route[] = [
  { path: '/journey', roles: ALL_ROLES, audit: 'journey.shown', show, hasFilter: true },
]

async function show(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const affiliateId = field(query, 'affiliateId')
  const values = filterValues(query, FILTERS)
  const isSubmitted = Boolean(affiliateId) || Object.keys(values).length > 0
  // Links have the affiliate's ID, which needs no search.
  const named = affiliateId && !values.affiliate ? await affiliateNames(ctx, [affiliateId]) : undefined
  return {
    title: 'Journeys',
    skipAudit: !isSubmitted,
    lead: 'Activity of a customer, a session, or an affiliate’s visitors in the last 90 days. Entries match all given fields.',
    body: html`${filterForm(request, {
      path: PATH,
      label: 'Filter activity',
      button: 'Show',
      isMain: true,
      fields: html`${filterInput(request, { name: 'customerEmail', label: 'Customer email', maxlength: 320 })}
${filterInput(request, { name: 'order', label: 'Order', placeholder: '#1001', maxlength: 255 })}
${filterInput(request, { name: 'affiliate', label: 'Affiliate', placeholder: 'Name, email, or code', maxlength: 320, ...(named && { value: named.get(affiliateId ?? '') ?? '' }) })}
${filterInput(request, { name: 'sessionId', label: 'Session ID', maxlength: 255 })}`,
    })}
${isSubmitted ? await found(request, values, affiliateId) : empty('Whose activity?', 'Enter a customer, an order, an affiliate, or a session.', 'journeys')}`,
  }
}

/** The activity that matches the fields, or why nothing does. */
async function found(request: PageRequest, values: FilterValues, affiliateId: string | undefined): Promise<Html> {
  if (request.problem) return html``
  const filter = await readAffiliate(request, values)
  if (filter.isSearching) return loadingNotice('Searching for the affiliate…')
  if (filter.affiliate && filter.matches.length !== 1) return affiliateNotice(PATH, filter, values)
  const who = {
    customerEmail: values.customerEmail,
    sessionId: values.sessionId,
    affiliateId: filter.affiliateId ?? affiliateId,
  }
  if (!values.order) return timeline(request, who)
  const [order] = await orders.findReported(request.ctx, values.order, 1)
  if (!order) return html`<p class="notice wait" role="status">No order matches ${isolated(values.order)}.</p>`
  const visitor = await orders.findVisitor(request.ctx, order.orderId)
  const link = html`<a href="${urlWithQuery('/admin/orders', { id: order.orderId })}">${isolated(order.name)}</a>`
  if (!visitor.customerEmail && !visitor.sessionId)
    return html`<p class="notice wait" role="status">Order ${link} was reported without an email address or a session.</p>`
  return timeline(request, {
    ...who,
    ...(visitor.customerEmail ? { customerEmail: visitor.customerEmail } : { sessionId: visitor.sessionId }),
  })
}

async function timeline(request: PageRequest, who: Partial<Parameters<typeof journey.read>[1]>): Promise<Html> {
  const { ctx, zone } = request
  const { list: read, notice } = await readListForPage(
    request,
    journey.readWithOrders,
    {
      ...who,
      limit: MAX_ENTRIES,
    },
    'Counting matching entries…',
  )
  if (!read) return notice
  const { entries, total } = read
  if (entries.length === 0)
    return empty('No activity', 'Clicks, page views, and orders appear here as soon as they are reported.')
  const [names, reported] = await Promise.all([
    affiliateNames(
      ctx,
      entries.flatMap(({ affiliateId }) => affiliateId ?? []),
    ),
    orders.readOrders(
      ctx,
      entries.flatMap(({ orderId }) => orderId ?? []),
    ),
  ])
  const shown = {
    names,
    orders: new Map(reported.map((order) => [order.orderId, order])),
    zone,
    currency: ctx.shop.currency,
  }
  return html`<p class="hint">${total > entries.length ? `The latest ${entries.length} of ${total} entries` : `${total} ${total === 1 ? 'entry' : 'entries'}`}, oldest first.</p>
<ol class="timeline">${entries.map((entry) => step(entry, shown))}</ol>${notice}`
}

interface Shown {
  names: Map<string, string>
  orders: Map<string, orders.ReportedOrder>
  zone: string
  currency: string
}

const LABELS = { click: 'Click', page_view: 'Page view', conversion: 'Order' }

const step = (entry: Entry, shown: Shown): Html => {
  const order = shown.orders.get(entry.orderId ?? '')
  const name = order?.name ?? entry.externalOrderId
  return html`<li class="${entry.type}">
<p><strong>${LABELS[entry.type]}${name ? html` <a href="${urlWithQuery('/admin/orders', { id: entry.orderId ?? name })}">${isolated(name)}</a>` : ''}</strong> ${time(entry.occurredAt, '–', shown.zone)}</p>
<dl>${detailsOf(entry, shown).map(([label, value]) => html`<div><dt>${label}</dt><dd>${isolated(value)}</dd></div>`)}</dl></li>`
}

const detailsOf = (entry: Entry, { names, orders: reported, currency }: Shown): [string, string][] => {
  const order = reported.get(entry.orderId ?? '')
  const status = entry.commissionStatus && nameOf(entry.commissionStatus)
  const all: [string, string | null][] = [
    ['Affiliate', entry.affiliateId && (names.get(entry.affiliateId) ?? entry.affiliateId)],
    ['Reference', entry.ref],
    ['Customer', entry.customerEmail ?? entry.customerId],
    ['Page', entry.url ?? entry.landingPage],
    ['Referrer', entry.referrerUrl],
    ['Campaign', [entry.utmSource, entry.utmMedium, entry.utmCampaign].filter(Boolean).join(' · ') || null],
    ['Goods', order ? money(order.goodsCents, order.orderCurrency) : null],
    [
      'Commission',
      order?.commission ? `${money(order.commission.cents, order.commission.currency)} · ${status}` : status,
    ],
    [
      'Refunded',
      entry.refundedCents ? `${money(entry.refundedCents, entry.orderCurrency ?? currency)} of goods` : null,
    ],
    ['Session', entry.sessionId],
    ['Location and device', [entry.country, entry.device].filter(Boolean).join(' · ') || null],
  ]
  return all.filter((pair): pair is [string, string] => Boolean(pair[1]))
}
