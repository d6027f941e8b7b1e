import * as analytics from '../analytics/analytics.ts'
import * as commissions from '../commissions/commissions.ts'
import type { components } from '../contract/schema.d.ts'
import { type Html, html, isolated } from './html.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from './route.ts'
import { day, empty, money, urlWithQuery } from './show.ts'
import { nameColumn, numberColumn, table } from './table.ts'
import { disabledNotice } from './webhooks.ts'

type Analytics = components['schemas']['Analytics']

const PERIODS = [7, 30, 90]
const DAY_MS = 86_400_000

export const overviewRoutes: Route[] = [{ path: '', roles: ALL_ROLES, audit: 'analytics.shown', show }]

async function show(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const days = PERIODS.find((one) => String(one) === query.get('days')) ?? 30
  // Whole days, including today.
  const from = new Date((Math.floor(ctx.now() / DAY_MS) - days + 1) * DAY_MS).toISOString()
  const sums = await analytics.summarize(ctx, { from, to: new Date(ctx.now()).toISOString() })
  const { pagination } = await commissions.list(ctx, { status: 'PENDING', page: 1, limit: 1 })
  return {
    title: 'Overview',
    body: html`${periods(days)}
${pagination.total ? pendingNotice(pagination.total) : ''}
${currencyNotice(sums)}
${await disabledNotice(request)}
${sums.totals.clicks + sums.totals.orders === 0 ? noActivity() : ''}
${charts(sums)}
${dailyTable(sums)}
${topAffiliatesSection(sums)}`,
  }
}

const periods = (days: number): Html =>
  html`<nav class="tabs" aria-label="Period"><ul>${PERIODS.map(
    (one) =>
      html`<li><a href="/admin?days=${one}"${one === days ? html` aria-current="true"` : ''}>${one} days</a></li>`,
  )}</ul></nav>`

const pendingNotice = (count: number): Html =>
  html`<p class="notice wait"><a href="/admin/commissions">${count} ${count === 1 ? 'commission awaits' : 'commissions await'} approval</a></p>`

/** Orders in another currency are often a checkout that sends no `currency`, which defaults to USD. */
function currencyNotice({ currency, currencies }: Analytics): Html {
  const others = currencies.filter((one) => one !== currency)
  if (others.length === 0) return html``
  return html`<p class="notice wait">Some orders of this period are in ${others.join(', ')}, but the currency of your shop is ${currency}. If this is unexpected, send <code>currency</code> with each order: without it, an order is in USD.</p>`
}

const noActivity = (): Html =>
  empty('No activity yet', html`Report a click or an order. The <a href="/api/v1/docs">quick start</a> shows how.`)

function charts({ currency, totals, dailyBreakdown }: Analytics): Html {
  const dates = dailyBreakdown.map(({ date }) => date)
  const count = (value: number) => String(value)
  const cents = (value: number) => money(value, currency)
  return html`<div class="charts">
${chart({ name: 'Clicks', total: count(totals.clicks), dates, values: dailyBreakdown.map((one) => one.clicks), show: count })}
${chart({ name: 'Orders', total: count(totals.orders), dates, values: dailyBreakdown.map((one) => one.orders), show: count })}
${chart({ name: 'Commission', total: cents(totals.commissionCents), dates, values: dailyBreakdown.map((one) => one.commissionCents), show: cents })}
</div>`
}

const dailyTable = ({
  currency,
  currencies,
  truncated,
  dailyBreakdown,
}: Analytics): Html => html`<details class="numbers"><summary>Show as table</summary>
${table(
  'Clicks, orders and commission per day',
  ['Day (UTC)', numberColumn('Clicks'), numberColumn('Orders'), numberColumn('Revenue'), numberColumn('Commission')],
  dailyBreakdown
    .toReversed()
    .map((one) => [
      day(one.date),
      one.clicks,
      one.orders,
      money(one.revenueCents, currency),
      money(one.commissionCents, currency),
    ]),
)}</details>
${currencies.some((one) => one !== currency) ? html`<p class="hint">Amounts are in ${currency}. Commissions in ${currencies.filter((one) => one !== currency).join(', ')} are not included.</p>` : ''}
${truncated ? html`<p class="hint">Only the latest 10,000 commissions are included.</p>` : ''}`

const topAffiliatesSection = ({ currency, topAffiliates }: Analytics): Html => html`<h2>Top affiliates</h2>
${
  topAffiliates.length
    ? table(
        'Top affiliates',
        [
          nameColumn('Affiliate'),
          numberColumn('Orders'),
          numberColumn('Clicks'),
          numberColumn('Orders per click'),
          numberColumn('Revenue'),
          numberColumn('Commission'),
        ],
        topAffiliates.map((one) => [
          html`<a href="${urlWithQuery('/admin/journey', { affiliateId: one.affiliateId })}">${isolated(one.name || one.affiliateId)}</a>`,
          one.orders,
          one.clicks,
          `${(one.conversionRate * 100).toFixed(1)}%`,
          money(one.revenueCents, currency),
          money(one.commissionCents, currency),
        ]),
      )
    : empty('No commissions in this period', 'Affiliates appear here after their first order.')
}`

const HEIGHT = 100
const STEP = 10
const GAP = 2

interface Chart {
  name: string
  /** The formatted sum of all values. */
  total: string
  dates: string[]
  values: number[]
  show: (value: number) => string
}

/** A bar chart with one bar per day. A table on the same page contains the numbers for screen readers. */
export function chart({ name, total, dates, values, show }: Chart): Html {
  const top = Math.max(0, ...values)
  const low = Math.min(0, ...values)
  const span = top - low || 1
  const y = (value: number) => ((top - value) / span) * HEIGHT
  const bars = values.map((value, index) => {
    const [from, to] = [y(Math.max(0, value)), y(Math.min(0, value))]
    // A nonzero value stays visible, however small.
    const height = value === 0 ? 0 : Math.max(1, to - from)
    return html`<rect class="bar" x="${index * STEP + GAP / 2}" y="${from.toFixed(2)}" width="${STEP - GAP}" height="${height.toFixed(2)}"><title>${dates[index]}: ${show(value)}</title></rect>`
  })
  const width = values.length * STEP
  return html`<figure class="chart"><figcaption><span>${name}</span> <strong>${total}</strong></figcaption>
<div class="plot"><span class="top" aria-hidden="true">${show(top)}</span>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${`${name} per day; at most ${show(top)}`}">
<line class="axis" x1="0" x2="${width}" y1="${y(0)}" y2="${y(0)}"></line>${bars}</svg></div>
<div class="ends" aria-hidden="true">${day(dates[0] ?? '')}${day(dates.at(-1) ?? '')}</div></figure>`
}
