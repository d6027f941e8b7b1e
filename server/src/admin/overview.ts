import * as analytics from '../analytics/analytics.ts'
import * as commissions from '../commissions/commissions.ts'
import type { components } from '../contract/schema.d.ts'
import { chart } from './chart.ts'
import { type Html, html, isolated } from './html.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES } from './route.ts'
import { day, empty, money, urlWithQuery } from './show.ts'
import { nameColumn, numberColumn, table } from './table.ts'

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
          `${(one.conversionRate * 100).toFixed(1)} %`,
          money(one.revenueCents, currency),
          money(one.commissionCents, currency),
        ]),
      )
    : empty('No commissions in this period', 'Affiliates appear here after their first order.')
}`
