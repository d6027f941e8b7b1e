import { type AffiliateFigures, type CurrencySums, NO_FIGURES, othersOf, sumsIn } from '../affiliates/figures.ts'
import type { CsvCell } from '../core/csv.ts'
import { toUnits } from '../core/currencies.ts'
import { type Html, html } from './html.ts'
import { amountCell } from './list-file.ts'
import { count, money } from './show.ts'
import type { Cell } from './table.ts'

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

/** The columns of a file, and the cells of an affiliate. */
export const figureHeading = (own: string): string[] => [
  'Clicks',
  'Orders',
  `Revenue (${own})`,
  `Commission (${own})`,
  'Other currencies',
]

export const figureFileCells = (figures: AffiliateFigures = NO_FIGURES, own: string): CsvCell[] => {
  const { revenueCents, commissionCents } = sumsIn(figures, own)
  const others = othersOf(figures, own).map(
    ({ currency, ...sums }) =>
      `${currency}: revenue ${toUnits(sums.revenueCents, currency)}, commission ${toUnits(sums.commissionCents, currency)}`,
  )
  return [
    figures.clicks,
    figures.orders,
    amountCell(revenueCents, own),
    amountCell(commissionCents, own),
    others.join('; '),
  ]
}
