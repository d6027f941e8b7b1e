import { toUnits } from '../../core/currencies.ts'
import {
  type AffiliateFigures,
  type CurrencySums,
  NO_FIGURES,
  othersOf,
  sumsIn,
} from '../../domains/affiliates/figures.ts'
import { readOverview } from '../../domains/analytics/overview.ts'
import { lastDays, lengthTabs } from '../kit/chart-period.ts'
import { facts } from '../kit/components.ts'
import { amountCell } from '../kit/csv-download.ts'
import { count, money } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { countColumn, type ListColumn } from '../kit/list-columns.ts'
import { charts, currenciesOf, currencyTabs, shownCurrency } from '../kit/period-charts.ts'
import { figuresNotice, loadingNotice, readForPage } from '../kit/report-cache.ts'
import type { PageRequest } from '../kit/route.ts'

type Amount = Exclude<keyof CurrencySums, 'currency'>

/** An amount in the shop's currency, with other currencies' amounts below it. */
export const amounts = (figures: AffiliateFigures, name: Amount, shopCurrency: string): Html =>
  html`${money(sumsIn(figures, shopCurrency)[name], shopCurrency)}${othersOf(figures, shopCurrency)
    .filter((sums) => sums[name] !== 0n)
    .map((sums) => html`<small>${money(sums[name], sums.currency)}</small>`)}`

/** Columns with the figures of affiliates or programs. */
export function figureColumns<Row>(shopCurrency: string, figuresOf: (row: Row) => AffiliateFigures | undefined) {
  const earned = (row: Row) => figuresOf(row) ?? NO_FIGURES
  const amountColumn = (label: string, name: Amount): ListColumn<Row> => ({
    label,
    kind: 'number',
    cell: (row) => amounts(earned(row), name, shopCurrency),
    fileLabel: `${label} (${shopCurrency})`,
    file: (row) => amountCell(sumsIn(earned(row), shopCurrency)[name], shopCurrency),
  })
  return {
    clicks: countColumn<Row>({ label: 'Clicks', card: 'inline' }, (row) => earned(row).clicks),
    orders: countColumn<Row>({ label: 'Orders', card: 'inline' }, (row) => earned(row).orders),
    revenue: amountColumn('Revenue', 'revenueCents'),
    commission: amountColumn('Commission', 'commissionCents'),
  }
}

export const otherCurrencies = (figures: AffiliateFigures = NO_FIGURES, shopCurrency: string): string =>
  othersOf(figures, shopCurrency).map(sumsText).join('; ')

const sumsText = ({ currency, revenueCents, commissionCents }: CurrencySums): string =>
  `${currency}: revenue ${toUnits(revenueCents, currency)}, commission ${toUnits(commissionCents, currency)}`

/** All-time traffic, earnings, and payments of an affiliate, or the orders of a program, which has no clicks. */
export const figureSummary = (figures: AffiliateFigures, shopCurrency: string, hasClicks = true): Html =>
  html`${facts(
    [
      ['Clicks', hasClicks ? count(figures.clicks) : undefined],
      ['Orders', count(figures.orders)],
      ['Revenue', amounts(figures, 'revenueCents', shopCurrency)],
      ['Commission', amounts(figures, 'commissionCents', shopCurrency)],
      ['Paid', amounts(figures, 'paidCents', shopCurrency)],
    ],
    'stats',
  )}${FIGURES_HINT}`

/** Explains which orders count, so that the figures can be compared with the lists of orders and commissions. */
export const FIGURES_HINT: Html = html`<p class="hint">Revenue is the value of goods before discounts and refunds; lists show goods after discounts. Orders that were rejected, canceled, or refunded in full are not counted.</p>`

/** One affiliate's charts for a period. */
export async function affiliateCharts(request: PageRequest, { id }: { id: string }, entries: number): Promise<Html> {
  const { ctx, query, zone } = request
  const { currency } = ctx.shop
  const period = lastDays(request)
  const { before, from, to, timeZone, values: filterValues } = period
  const { value: shown, readAt } = await readForPage(ctx, {
    key: ['affiliate', id, currency, timeZone, to, before],
    cost: entries,
    read: (readCtx) => readOverview(readCtx, { before, from, to, timeZone, affiliateId: id }),
    survivesWrites: true,
  })
  const path = `/admin/affiliates/${id}`
  const bar = html`<div class="toolbar">${lengthTabs(request, path, filterValues.days)}${shown ? currencyTabs(shown, request, { path, values: filterValues }) : ''}</div>`
  if (!shown) return html`${bar}${loadingNotice('Calculating this period…')}`
  const chosenCurrency = shownCurrency(currenciesOf(shown, currency), query, currency)
  return html`${bar}${charts(shown, period, { currency: chosenCurrency, names: ['Commission', 'Clicks'] })}${figuresNotice(readAt, zone)}`
}
