import type { CsvCell, FileColumn } from '../core/csv.ts'
import { amountCell, timeCell } from './csv-download.ts'
import { count, money, time } from './format.ts'
import type { Html } from './html.ts'
import { type Cell, type ColumnOptions, table } from './table.ts'

/** A column of a list: its heading, and its cell in the page and in the file, or in one of them. */
export interface ListColumn<Row> extends ColumnOptions {
  cell?: (row: Row) => Cell
  file?: (row: Row) => CsvCell
  /** The heading in the file, if it is another one. */
  fileLabel?: string
}

/** How a column of numbers, amounts or times is named and laid out. */
type Heading = Pick<ColumnOptions, 'label' | 'card'> & { fileLabel?: string }

export const countColumn = <Row>(heading: Heading, value: (row: Row) => number): ListColumn<Row> => ({
  ...heading,
  kind: 'number',
  cell: (row) => count(value(row)),
  file: value,
})

/** @param amount the cents and their currency */
export const moneyColumn = <Row>(
  heading: Heading,
  amount: (row: Row) => readonly [cents: number, currency: string],
): ListColumn<Row> => ({
  ...heading,
  kind: 'number',
  cell: (row) => money(...amount(row)),
  file: (row) => amountCell(...amount(row)),
})

/** A time in the page, or what `show` makes of it, and the local time in the file. */
export const timeColumn = <Row>(
  {
    zone,
    show = (at) => time(at, '–', zone),
    ...heading
  }: Heading & { zone: string; show?: (at: string, zone: string) => Html },
  timeOf: (row: Row) => string | null,
): ListColumn<Row> => ({
  ...heading,
  cell: (row) => {
    const at = timeOf(row)
    return at === null ? '–' : show(at, zone)
  },
  fileLabel: `${heading.label} (${zone})`,
  file: (row) => timeCell(timeOf(row), zone),
})

/** {@link table} of the columns that the page shows. */
export function listTable<Row>(
  name: string,
  columns: readonly ListColumn<Row>[],
  rows: readonly Row[],
  className?: string,
): Html {
  const shown = columns.flatMap(({ cell, ...column }) => (cell ? [{ ...column, cell }] : []))
  return table(
    name,
    shown,
    rows.map((row) => shown.map(({ cell }) => cell(row))),
    className,
  )
}

/** The columns of the file. */
export const fileColumns = <Row>(columns: readonly ListColumn<Row>[]): FileColumn<Row>[] =>
  columns.flatMap(({ label, fileLabel = label, file }): FileColumn<Row>[] => (file ? [[fileLabel, file]] : []))
