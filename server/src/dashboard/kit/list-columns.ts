import type { CsvCell, FileColumn } from '../../core/csv.ts'
import { amountCell, timeCell } from './csv-download.ts'
import { count, money, time } from './format.ts'
import type { Html } from './html.ts'
import { type Cell, type ColumnOptions, table } from './table.ts'

/** A list's column: its heading, and its cell on the page, in the CSV file, or both. */
export interface ListColumn<Row> extends ColumnOptions {
  cell?: (row: Row) => Cell
  file?: (row: Row) => CsvCell
  /** The heading in the CSV file, if it differs. */
  fileLabel?: string
}

/** Name and layout of a column with numbers, amounts, or times. */
type Heading = Pick<ColumnOptions, 'label' | 'card'> & { fileLabel?: string }

export const countColumn = <Row>(heading: Heading, value: (row: Row) => number): ListColumn<Row> => ({
  ...heading,
  kind: 'number',
  cell: (row) => count(value(row)),
  file: value,
})

/** @param amount cents and currency */
export const moneyColumn = <Row>(
  heading: Heading,
  amount: (row: Row) => readonly [cents: number, currency: string],
): ListColumn<Row> => ({
  ...heading,
  kind: 'number',
  cell: (row) => money(...amount(row)),
  file: (row) => amountCell(...amount(row)),
})

/** A time on the page, formatted by `show`, and the local time in the CSV file. */
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

/** A {@link table} with the columns that the page shows. */
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

/** The CSV file's columns. */
export const fileColumns = <Row>(columns: readonly ListColumn<Row>[]): FileColumn<Row>[] =>
  columns.flatMap(({ label, fileLabel = label, file }): FileColumn<Row>[] => (file ? [[fileLabel, file]] : []))
