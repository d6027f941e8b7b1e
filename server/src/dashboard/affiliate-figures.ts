import type { FileColumn } from '../core/csv.ts'
import { toUnits } from '../core/currencies.ts'
import {
  type AffiliateFigures,
  type CurrencySums,
  NO_FIGURES,
  othersOf,
  sumsIn,
} from '../domains/affiliates/figures.ts'
import { readOverview } from '../domains/analytics/overview.ts'
import { lastDays, lengthTabs } from './chart-period.ts'
import { facts } from './components.ts'
import { amountCell } from './csv-download.ts'
import { count, money } from './format.ts'
import { type Html, html } from './html.ts'
import { charts, currenciesOf, currencyTabs, shownCurrency } from './period-charts.ts'
import { figuresAsOf, loadingNotice, readForPage } from './report-cache.ts'
import type { PageRequest } from './route.ts'
import { type Cell, type Column, inCard, numberColumn } from './table.ts'

type Amount = Exclude<keyof CurrencySums, 'currency'>

/** An amount in the shop's currency, and below it in the others that have one. */
export const amounts = (figures: AffiliateFigures, name: Amount, own: string): Html =>
  html`${money(sumsIn(figures, own)[name], own)}${othersOf(figures, own)
    .filter((sums) => sums[name] !== 0n)
    .map((sums) => html`<small>${money(sums[name], sums.currency)}</small>`)}`

/** The cells of an affiliate in a list. */
export const figureCells = (figures: AffiliateFigures = NO_FIGURES, own: string): Cell[] => [
  count(figures.clicks),
  count(figures.orders),
  amounts(figures, 'revenueCents', own),
  amounts(figures, 'commissionCents', own),
]

/** The columns and cells of {@link figureCells} without clicks. */
export const ORDER_FIGURE_COLUMNS: Column[] = [
  inCard('inline', numberColumn('Orders')),
  numberColumn('Revenue'),
  numberColumn('Commission'),
]
export const orderFigureCells = (figures: AffiliateFigures | undefined, own: string): Cell[] =>
  figureCells(figures, own).slice(1)

/** The columns of {@link figureCells} in a file. */
export const figureColumns = (own: string): FileColumn<{ earned: AffiliateFigures }>[] => [
  ['Clicks', ({ earned }) => earned.clicks],
  ['Orders', ({ earned }) => earned.orders],
  [`Revenue (${own})`, ({ earned }) => amountCell(sumsIn(earned, own).revenueCents, own)],
  [`Commission (${own})`, ({ earned }) => amountCell(sumsIn(earned, own).commissionCents, own)],
  ['Other currencies', ({ earned }) => othersOf(earned, own).map(sumsText).join('; ')],
]

const sumsText = ({ currency, revenueCents, commissionCents }: CurrencySums): string =>
  `${currency}: revenue ${toUnits(revenueCents, currency)}, commission ${toUnits(commissionCents, currency)}`

/** All-time traffic, earnings, and payments of an affiliate, or the orders of a program, which has no clicks. */
export const figureSummary = (figures: AffiliateFigures, own: string, hasClicks = true): Html =>
  html`${facts(
    [
      ['Clicks', hasClicks ? count(figures.clicks) : undefined],
      ['Orders', count(figures.orders)],
      ['Revenue', amounts(figures, 'revenueCents', own)],
      ['Commission', amounts(figures, 'commissionCents', own)],
      ['Paid', amounts(figures, 'paidCents', own)],
    ],
    'stats',
  )}${FIGURES_HINT}`

/** Explains which rows the figures count, for comparison with the lists of orders and commissions. */
export const FIGURES_HINT: Html = html`<p class="hint">Revenue is the value of goods before discounts and refunds; lists show goods after discounts. Orders that were rejected, canceled, or refunded in full are not counted.</p>`

/** The charts of a period of one affiliate. */
export async function affiliateCharts(request: PageRequest, { id }: { id: string }, entries: number): Promise<Html> {
  const { ctx, query, zone } = request
  const { currency } = ctx.shop
  const period = lastDays(request)
  const { before, from, to, timeZone, given } = period
  const { value: shown, readAt } = await readForPage(ctx, {
    key: ['affiliate', id, currency, timeZone, to, before],
    cost: entries,
    read: (own) => readOverview(own, { before, from, to, timeZone, affiliateId: id }),
    survivesWrites: true,
  })
  const path = `/admin/affiliates/${id}`
  const bar = html`<div class="toolbar">${lengthTabs(request, path, given.days)}${shown ? currencyTabs(shown, request, { path, given }) : ''}</div>`
  if (!shown) return html`${bar}${loadingNotice('Calculating this period…')}`
  const asked = shownCurrency(currenciesOf(shown, currency), query, currency)
  return html`${bar}${charts(shown, period, { currency: asked, names: ['Commission', 'Clicks'] })}${readAt === null ? '' : html`<p class="hint">${figuresAsOf(readAt, zone)}</p>`}`
}
