import { addDays } from '../../core/time-zone.ts'
import { type Attention, readAttention } from '../../domains/analytics/attention.ts'
import { add, costOfPeriod, type Overview, readOverview } from '../../domains/analytics/overview.ts'
import { EMPTY_TALLY, type Tally } from '../../engine/analytics.ts'
import { FIGURES_HINT } from '../affiliates/affiliate-figures.ts'
import { change } from '../kit/chart.ts'
import { type Period, periodChoice, periodText, readPeriod } from '../kit/chart-period.ts'
import { empty } from '../kit/components.ts'
import { count, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { charts, currenciesOf, currencyTabs, shownCurrency } from '../kit/period-charts.ts'
import { type Cached, figuresAsOf, loadingNotice, readForPage } from '../kit/report-cache.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from '../kit/route.ts'
import { nameColumn, numberColumn, table } from '../kit/table.ts'
import { attentionList } from './overview-attention.ts'

export const overviewRoutes: Route[] = [{ path: '', roles: ALL_ROLES, audit: 'analytics.shown', show, hasFilter: true }]

async function show(request: PageRequest): Promise<View> {
  const { ctx, zone } = request
  const period = readPeriod(request)
  const attention = await readAttention(ctx)
  const [{ value: overview, readAt }, needed] = await Promise.all([
    request.problem ? NOTHING : readFigures(ctx, period, attention),
    attentionList(request, attention),
  ])
  const content = overview ? figures(request, period, overview) : loadingNotice('Calculating this period…')
  return {
    title: 'Overview',
    lead: request.problem ? undefined : html`${periodText(period)} ${figuresAsOf(readAt, zone)}`,
    body: html`${firstSteps(request, attention)}
${needed}
<div class="toolbar">${periodChoice(request, period)}${overview ? currencyTabs(overview, request, { path: '/admin', values: period.values }) : ''}</div>
${request.problem ? '' : content}`,
  }
}

/** If the period was rejected, there are no figures. */
const NOTHING = { value: undefined, readAt: null }

const readFigures = async (
  ctx: PageRequest['ctx'],
  { before, from, to, timeZone }: Period,
  { commissions }: Attention,
): Promise<Cached<Overview>> =>
  readForPage(ctx, {
    key: ['overview', ctx.shop.currency, timeZone, to, before],
    cost: costOfPeriod({ before, to }, commissions),
    read: (readCtx) => readOverview(readCtx, { before, from, to, timeZone }),
    survivesWrites: true,
  })

function figures({ ctx, query }: PageRequest, period: Period, overview: Overview): Html {
  if (overview.days.length === 0 && overview.clicks.length === 0) {
    if (!period.values.days) return empty('No activity in this period', 'Choose another one.', 'overview')
    const way = html`Report a click or an order. The <a href="/api/v1/docs">quick start</a> shows how.`
    return empty('No activity yet', way, 'overview')
  }
  const shopCurrency = ctx.shop.currency
  const currencies = currenciesOf(overview, shopCurrency)
  const chosenCurrency = shownCurrency(currencies, query, shopCurrency)
  return html`${charts(overview, period, { currency: chosenCurrency, names: ['Revenue', 'Commission', 'Orders', 'Clicks'] })}${byCurrency(sumsOf(overview, period), currencies)}${currencyNotice(overview, period, shopCurrency)}
${topAffiliates(overview, shopCurrency)}`
}

interface Sums {
  now: Tally
  before: Tally
}

/** Both periods' totals by currency. */
function sumsOf({ days }: Overview, { firstDay, earlierDay, days: length }: Period): Map<string, Sums> {
  const earlierEnd = addDays(earlierDay, length)
  const sums = new Map<string, Sums>()
  for (const day of days) {
    const pair = sums.get(day.currency) ?? { now: EMPTY_TALLY, before: EMPTY_TALLY }
    if (day.date >= earlierEnd && day.date < firstDay) continue
    const side = day.date >= firstDay ? 'now' : 'before'
    sums.set(day.currency, { ...pair, [side]: add(pair[side], day) })
  }
  return sums
}

const byCurrency = (sums: Map<string, Sums>, currencies: string[]): Html =>
  html`<h2>By currency</h2>${table(
    'Totals by currency',
    [
      'Currency',
      numberColumn('Orders'),
      numberColumn('Revenue'),
      numberColumn('Commission'),
      numberColumn('Approved'),
      numberColumn('Pending'),
    ],
    currencies.map((currency) => {
      const { now, before } = sums.get(currency) ?? { now: EMPTY_TALLY, before: EMPTY_TALLY }
      const cents = (name: Exclude<keyof Tally, 'orders'>) =>
        html`${money(now[name], currency)} ${change(now[name], before[name])}`
      return [
        currency,
        html`${count(now.orders)} ${change(now.orders, before.orders)}`,
        cents('revenueCents'),
        cents('commissionCents'),
        money(now.approvedCommissionCents, currency),
        money(now.pendingCommissionCents, currency),
      ]
    }),
  )}${FIGURES_HINT}`

/** Orders in another currency often come from a checkout that sends no `currency`, which then defaults to USD. */
function currencyNotice({ days }: Overview, { firstDay }: Period, shopCurrency: string): Html {
  const recent = days.filter(({ date, currency }) => date >= firstDay && currency !== shopCurrency)
  if (recent.length === 0) return html``
  const others = [...new Set(recent.map(({ currency }) => currency))].sort().join(', ')
  return html`<p class="notice wait">Some orders in this period are in ${others}, but your shop’s currency is ${shopCurrency}. If you do not sell in ${others}, check the currency that your checkout reports: an order without one counts as USD.</p>`
}

const topAffiliates = ({ top }: Overview, currency: string): Html => html`<h2>Top affiliates</h2>
${
  top.length
    ? table(
        'Top affiliates',
        [nameColumn('Affiliate'), numberColumn('Orders'), numberColumn('Revenue'), numberColumn('Commission')],
        top.map((affiliate) => [
          html`<a href="/admin/affiliates/${affiliate.affiliateId}">${isolated(affiliate.name || affiliate.affiliateId)}</a>`,
          count(affiliate.orders),
          money(affiliate.revenueCents, currency),
          money(affiliate.commissionCents, currency),
        ]),
      )
    : empty('No commissions in this period', 'Affiliates appear here after their first order.')
}`

/** A shop with more commissions than this no longer needs an introduction. */
const MANY = 100

/** Five steps to the first payout, shown until all are done. */
function firstSteps({ isOwner }: PageRequest, attention: Attention): Html {
  const steps: [isDone: boolean, title: string, text: Html | string, to: string, button: string][] = [
    [
      attention.hasProgram,
      'Create a program',
      'A program defines what its affiliates earn.',
      '/admin/programs/new',
      'New program',
    ],
    [
      attention.affiliates > 0,
      'Add an affiliate',
      'Each gets a link and a code.',
      '/admin/affiliates/new',
      'New affiliate',
    ],
    [
      attention.commissions > 0,
      'Report an order',
      html`From your checkout, or with the <a href="/api/v1/docs">quick start</a>.`,
      '/admin/keys',
      'Create a key',
    ],
    [
      attention.hasWebhook,
      'Add a webhook',
      'Notify your systems of every commission.',
      '/admin/webhooks',
      'Add webhook',
    ],
    [
      attention.payoutBatches > 0,
      'Pay your affiliates',
      'Approve commissions and create a batch.',
      '/admin/payouts/new',
      'New batch',
    ],
  ]
  const isDone = steps.every(([done]) => done)
  if (!isOwner || isDone || attention.commissions > MANY) return html``
  return html`<h2>First steps</h2><ol class="steps">${steps.map(
    ([done, title, text, to, button]) =>
      html`<li class="${done ? 'done' : ''}"><div><strong>${title}</strong>${done ? html`<span class="visually-hidden"> (done)</span>` : html`<p>${text}</p>`}</div>${done ? '' : html`<a class="button small" href="${to}">${button}</a>`}</li>`,
  )}</ol>`
}
