import { addDays } from '../../core/time-zone.ts'
import type { Overview, OverviewDay } from '../../domains/analytics/overview.ts'
import { EMPTY_TALLY } from '../../engine/analytics.ts'
import { change, chart } from './chart.ts'
import { legendTexts, type Period } from './chart-period.ts'
import { tabs } from './components.ts'
import { count, day, money } from './format.ts'
import { type Html, html } from './html.ts'
import type { FilterValues } from './list-filter.ts'
import type { PageRequest } from './route.ts'
import { numberColumn, table } from './table.ts'
import { urlWithQuery } from './url.ts'

/** Figures for a period and the one before it. */
type Figures = Pick<Overview, 'days' | 'clicks'>

/** All currencies with figures, the shop's first. */
export const currenciesOf = ({ days }: Figures, shopCurrency: string): string[] => [
  shopCurrency,
  ...[...new Set(days.map(({ currency }) => currency))].filter((currency) => currency !== shopCurrency).sort(),
]

/** The charts' currency: the requested one, or the shop's. */
export const shownCurrency = (currencies: string[], query: URLSearchParams, shopCurrency: string): string =>
  currencies.find((currency) => currency === query.get('currency')) ?? shopCurrency

/** Links to charts in other currencies, if there are any. */
export function currencyTabs(
  overview: Figures,
  { ctx, query }: PageRequest,
  { path, values }: { path: string; values: FilterValues },
): Html {
  const currencies = currenciesOf(overview, ctx.shop.currency)
  if (currencies.length < 2) return html``
  const shown = shownCurrency(currencies, query, ctx.shop.currency)
  return tabs(
    'Chart currency',
    currencies.map((currency) => ({
      to: urlWithQuery(path, { ...values, currency: currency }),
      text: currency,
      isCurrent: currency === shown,
    })),
    'segments',
  )
}

const datesFrom = (first: string, days: number): string[] => Array.from({ length: days }, (_, n) => addDays(first, n))

type ChartName = 'Revenue' | 'Commission' | 'Orders' | 'Clicks'

/** Charts that compare each day of a period with the period before, and a table with all figures. */
export function charts(
  overview: Figures,
  period: Period,
  { currency, names }: { currency: string; names: ChartName[] },
): Html {
  const { days, firstDay, earlierDay } = period
  const [now, before] = legendTexts(period)
  const [dates, earlier] = [datesFrom(firstDay, days), datesFrom(earlierDay, days)]
  const tallies = new Map(
    overview.days.filter((value) => value.currency === currency).map((value) => [value.date, value]),
  )
  const clicks = new Map(overview.clicks.map((value) => [value.date, value.clicks]))
  const of = (list: string[], value: (date: string) => number | undefined) => list.map((date) => value(date) ?? 0)
  const cents = (value: number) => money(value, currency)
  const sources: Record<ChartName, [value: (date: string) => number | undefined, show: (value: number) => string]> = {
    Revenue: [(date) => tallies.get(date)?.revenueCents, cents],
    Commission: [(date) => tallies.get(date)?.commissionCents, cents],
    Orders: [(date) => tallies.get(date)?.orders, count],
    Clicks: [(date) => clicks.get(date), count],
  }
  const drawn = names.map((name) => {
    const [value, show] = sources[name]
    const [values, previous] = [of(dates, value), of(earlier, value)]
    const sum = (list: number[]) => list.reduce((total, value) => total + value, 0)
    const note = change(sum(values), sum(previous))
    return chart({ name, total: show(sum(values)), note, dates, values, before: previous, show, tick: shortly(show) })
  })
  return html`<div class="charts">${drawn}</div>
<p class="legend"><span><svg viewBox="0 0 20 10" aria-hidden="true"><rect class="bar" width="20" height="10"></rect></svg>${now}</span><span><svg viewBox="0 0 20 10" aria-hidden="true"><rect class="bar before" width="20" height="10"></rect></svg>${before}</span></p>
${dailyTable(overview, period, currency)}`
}

/** Shortens an axis label: no currency, because the total shows it, and no zero fraction. */
const shortly = (show: (value: number) => string) => (value: number) =>
  show(value)
    .replace(/ [A-Z]{3}$/, '')
    .replace(/\.0+$/, '')

function dailyTable(overview: Figures, { days, firstDay, timeZone }: Period, currency: string): Html {
  const tallies = new Map<string, OverviewDay>(
    overview.days.filter((day) => day.currency === currency).map((day) => [day.date, day]),
  )
  const clicks = new Map(overview.clicks.map((click) => [click.date, click.clicks]))
  const rows = datesFrom(firstDay, days)
    .toReversed()
    .map((date) => {
      const { orders, revenueCents, commissionCents } = tallies.get(date) ?? EMPTY_TALLY
      return [
        day(date),
        count(clicks.get(date) ?? 0),
        count(orders),
        money(revenueCents, currency),
        money(commissionCents, currency),
      ]
    })
  const columns = [numberColumn('Clicks'), numberColumn('Orders'), numberColumn('Revenue'), numberColumn('Commission')]
  return html`<details class="numbers"><summary>Show as table</summary>
${table('Clicks, orders, revenue, and commission per day', [`Day (${timeZone})`, ...columns], rows)}</details>`
}
