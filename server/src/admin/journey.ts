import { affiliateNames } from '../affiliates/affiliates.ts'
import type { components } from '../contract/schema.d.ts'
import { isLargeList } from '../core/list-size.ts'
import * as journey from '../journey/journey.ts'
import { field, input } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { asOf, readKept, stillReading } from './kept.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES } from './route.ts'
import { empty, money, nameOf, time, urlWithQuery } from './show.ts'

type Entry = components['schemas']['JourneyEntry']

const PATH = '/admin/journey'
const MAX_ENTRIES = 200

export const journeyRoutes: Route[] = [{ path: '/journey', roles: ALL_ROLES, audit: 'journey.shown', show }]

async function show(request: PageRequest): Promise<View> {
  const { query } = request
  const who = {
    customerEmail: field(query, 'customerEmail'),
    sessionId: field(query, 'sessionId'),
    affiliateId: field(query, 'affiliateId'),
  }
  const isSubmitted = Object.values(who).some(Boolean)
  return {
    title: 'Journeys',
    isEmpty: !isSubmitted,
    lead: 'Activity of a customer, a session, or an affiliate’s visitors in the last 90 days. Entries match all given fields.',
    body: html`<form class="filters" method="get" action="${PATH}">
${input({ name: 'customerEmail', label: 'Customer email', value: who.customerEmail, maxlength: 320 })}
${input({ name: 'sessionId', label: 'Session id', value: who.sessionId, maxlength: 255 })}
${input({ name: 'affiliateId', label: 'Affiliate id', value: who.affiliateId, maxlength: 64 })}
<div class="row"><button class="main">Show</button></div></form>
${isSubmitted ? await timeline(request, who) : empty('Whose activity?', 'Enter a customer, a session, or an affiliate.', 'journeys')}`,
  }
}

async function timeline({ ctx, zone }: PageRequest, who: Partial<Parameters<typeof journey.read>[1]>): Promise<Html> {
  const { value: found, readAt } = await readKept(ctx, {
    key: ['journey', who],
    isLarge: await isLargeList(ctx, { list: 'commissions' }),
    read: (own) => journey.read(own, { ...who, limit: MAX_ENTRIES }),
  })
  if (!found) return stillReading('Counting matching entries…')
  const { journey: entries, total } = found
  if (entries.length === 0)
    return empty('No activity', 'Clicks, page views and orders appear here as soon as they are reported.')
  const names = await affiliateNames(
    ctx,
    entries.flatMap(({ affiliateId }) => affiliateId ?? []),
  )
  return html`<p class="hint">${total > entries.length ? `The latest ${entries.length} of ${total} entries` : `${total} ${total === 1 ? 'entry' : 'entries'}`}, oldest first.</p>
<ol class="timeline">${entries.map((entry) => step(entry, names, { zone, currency: ctx.shop.currency }))}</ol>${asOf(readAt, zone)}`
}

interface Shown {
  zone: string
  currency: string
}

const LABELS = { click: 'Click', page_view: 'Page view', conversion: 'Order' }

const step = (entry: Entry, names: Map<string, string>, shop: Shown): Html => html`<li class="${entry.type}">
<p><strong>${LABELS[entry.type]}${entry.externalOrderId ? html` <a href="${urlWithQuery('/admin/orders', { id: entry.externalOrderId })}">${isolated(entry.externalOrderId)}</a>` : ''}</strong> ${time(entry.occurredAt, '–', shop.zone)}</p>
<dl>${detailsOf(entry, names, shop.currency).map(([name, value]) => html`<div><dt>${name}</dt><dd>${isolated(value)}</dd></div>`)}</dl></li>`

const detailsOf = (entry: Entry, names: Map<string, string>, shopCurrency: string): [string, string][] => {
  const all: [string, string | null][] = [
    ['Affiliate', entry.affiliateId && (names.get(entry.affiliateId) ?? entry.affiliateId)],
    ['Reference', entry.ref],
    ['Customer', entry.customerEmail ?? entry.customerId],
    ['Page', entry.url ?? entry.landingPage],
    ['Referrer', entry.referrerUrl],
    ['Campaign', [entry.utmSource, entry.utmMedium, entry.utmCampaign].filter(Boolean).join(' · ') || null],
    ['Commission', entry.commissionStatus && nameOf(entry.commissionStatus)],
    [
      'Refunded',
      entry.refundedCents ? `${money(entry.refundedCents, entry.orderCurrency ?? shopCurrency)} of goods` : null,
    ],
    ['Session', entry.sessionId],
    ['Location and device', [entry.country, entry.device].filter(Boolean).join(' · ') || null],
  ]
  return all.filter((pair): pair is [string, string] => Boolean(pair[1]))
}
