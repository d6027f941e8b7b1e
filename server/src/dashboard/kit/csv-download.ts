import { nowIso, type OwnerContext } from '../../core/context.ts'
import { type CsvCell, type FileColumn, spreadsheetHeading, spreadsheetRow } from '../../core/csv.ts'
import { toUnits } from '../../core/currencies.ts'
import { toByteStream } from '../../core/ndjson.ts'
import type { PageQuery } from '../../core/pagination.ts'
import { localDate, localTime } from '../../core/time-zone.ts'
import { type Html, html } from './html.ts'
import type { PageRequest, View } from './route.ts'

/** Rows read at a time. */
export const ROWS_AT_ONCE = 250

/** Rows of a file, and where the next rows start; undefined at the end. */
export interface FileRows<Row, Next> {
  rows: Row[]
  next: Next | undefined
}

/**
 * Streams a list as CSV, so that long lists need no memory.
 *
 * @param file builds its columns once per page of rows, because they look up names
 * @param read reads the first rows before the response starts, so that an invalid filter returns an error
 */
export async function listFile<Row, Next>(
  { ctx, zone }: PageRequest,
  { name, columnsOf }: { name: string; columnsOf: (rows: Row[]) => Promise<FileColumn<Row>[]> },
  read: (after: Next | undefined) => Promise<FileRows<Row, Next>>,
): Promise<View> {
  const first = await read(undefined)
  let columns = await columnsOf(first.rows)
  async function* lines(): AsyncGenerator<string, void> {
    yield spreadsheetHeading(columns)
    for (let page = first; ; page = await read(page.next)) {
      if (page !== first) columns = await columnsOf(page.rows)
      yield page.rows.map((row) => spreadsheetRow(columns, row)).join('')
      if (page.next === undefined) return
      // The user may have lost access since the response started.
      await ctx.recheck(ctx.db.read)
    }
  }
  const file = `${name}-${localDate(nowIso(ctx), zone)}.csv`
  return { title: '', body: html``, download: { name: file, content: toByteStream(lines()) } }
}

/** Reads the next rows of a list that continues after an item. Nothing is counted. */
export async function wholeList<Row, Query extends PageQuery>(
  ctx: OwnerContext,
  list: (ctx: OwnerContext, query: Query) => Promise<{ data: Row[] }>,
  query: Omit<Query, keyof PageQuery>,
  idOf: (row: Row) => string,
): Promise<FileRows<Row, string>> {
  const { data } = await list(ctx, { ...query, page: 1, limit: ROWS_AT_ONCE, isUncounted: true } as Query)
  return { rows: data, next: nextAfter(data, idOf) }
}

/** The last row's ID if the page is full: the list continues after it. */
export const nextAfter = <Row>(rows: Row[], idOf: (row: Row) => string): string | undefined => {
  const last = rows.at(-1)
  return last !== undefined && rows.length === ROWS_AT_ONCE ? idOf(last) : undefined
}

/** An amount in currency units. */
export const amountCell = (cents: number | bigint, currency: string): CsvCell => ({ decimal: toUnits(cents, currency) })

export const timeCell = (at: string | null, zone: string): CsvCell => (at === null ? null : localTime(at, zone))

/** A link that downloads a list with its filter applied. */
export function fileLink(path: string, query: URLSearchParams): Html {
  const filter = new URLSearchParams(
    [...query].filter(([name, value]) => value && !['page', 'after', 'size'].includes(name)),
  )
  return html`<a class="button" href="${filter.size ? `${path}?${filter}` : path}" download>Download as CSV</a>`
}
