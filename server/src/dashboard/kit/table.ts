import { count } from './format.ts'
import { type Html, html, isolated } from './html.ts'

export interface ColumnOptions {
  label: string
  /** The cells' layout. Headings of actions and checkboxes are visually hidden. */
  kind?: 'number' | 'wide' | 'name' | 'actions' | 'choice' | ''
  /**
   * Its place in a row's card on small screens: next to the title, or in a line with others, with or without its label.
   */
  card?: 'lead' | 'bare' | 'inline'
  /** A link that sorts by the column, and the current direction if the list is sorted by it. */
  sort?: { to: string; current: 'ascending' | 'descending' | undefined }
}

export type Column = string | ColumnOptions
export type Cell = Html | Html[] | string | number
interface Row {
  className: string
  cells: Cell[]
}

export const numberColumn = (label: string): Column => ({ label, kind: 'number' })
export const wideColumn = (label: string): Column => ({ label, kind: 'wide' })
export const nameColumn = (label: string): Column => ({ label, kind: 'name' })
/** A column with a place in its row's card on small screens. */
export const inCard = (card: NonNullable<ColumnOptions['card']>, column: Column): Column => ({
  ...(typeof column === 'string' ? { label: column } : column),
  card,
})
export const ACTIONS = { label: 'Actions', kind: 'actions' } as const
export const CHOICE = { label: 'Select', kind: 'choice' } as const

/**
 * Renders a table in a container that scrolls horizontally, including by keyboard. On small screens each row becomes a card
 * with labeled cells; the ARIA roles preserve the table for screen readers.
 */
export function table(name: string, columns: readonly Column[], rows: (Cell[] | Row)[], className = ''): Html {
  const set = columns.map((column): ColumnOptions => (typeof column === 'string' ? { label: column } : column))
  const header = set.findIndex(({ kind }) => kind !== 'choice')
  return html`<div class="scroll ${className}" role="region" aria-label="${name}" tabindex="0"><table role="table">
<thead role="rowgroup"><tr role="row">${set.map(heading)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => {
    const { className, cells } = Array.isArray(row) ? { className: '', cells: row } : row
    return html`<tr role="row" class="${className}">${cells.map((content, index) => cell(content, set[index]!, index === header))}</tr>`
  })}</tbody></table></div>`
}

const heading = ({ label, kind = '', sort }: ColumnOptions): Html => {
  if (sort)
    return html`<th scope="col" role="columnheader" class="${kind}"${sort.current ? html` aria-sort="${sort.current}"` : ''}><a href="${sort.to}">${label}</a></th>`
  const text = kind === 'actions' || kind === 'choice' ? html`<span class="visually-hidden">${label}</span>` : label
  return html`<th scope="col" role="columnheader" class="${kind}">${text}</th>`
}

const cell = (content: Cell, { label, kind = '', card }: ColumnOptions, isHeader: boolean): Html => {
  // Plain text may be a name in any script.
  const shown = typeof content === 'string' && content && kind !== 'number' ? isolated(content) : content
  return isHeader
    ? html`<th scope="row" role="rowheader" class="${kind}">${shown}</th>`
    : html`<td role="cell" class="${card ? `${kind} card-${card}` : kind}" data-label="${label}">${shown}</td>`
}

export const PAGE_SIZE = 25
const PAGE_SIZES = [PAGE_SIZE, 50, 100]

interface Pagination {
  page: number
  /** Rows per page. */
  limit?: number
  total: number
  totalPages: number
}

/** Rows per page of the main list, as requested in the URL. */
export const sizeOf = (query: URLSearchParams): number =>
  PAGE_SIZES.find((size) => String(size) === query.get('size')) ?? PAGE_SIZE

/** Reads the requested page of a list. `name` is the query parameter, for pages with several lists. */
export function pageOf(query: URLSearchParams, name = 'page'): { page: number; limit: number } {
  const page = Number(query.get(name) ?? 1)
  const limit = name === 'page' ? sizeOf(query) : PAGE_SIZE
  return { page: Number.isSafeInteger(page) && page > 0 && page < 1_000_000 ? page : 1, limit }
}

/** Returns one page of a complete list. */
export function slice<T>(all: T[], query: URLSearchParams, name = 'page'): { data: T[]; pagination: Pagination } {
  const { page, limit } = pageOf(query, name)
  const pagination = { page, limit, total: all.length, totalPages: Math.ceil(all.length / limit) }
  return { data: all.slice((page - 1) * limit, page * limit), pagination }
}

/** Thrown if the list has fewer pages than requested. */
export class PageOutOfRange extends Error {
  /** The last page's URL. */
  readonly to: string

  constructor(to: string) {
    super('Past the last page')
    this.to = to
  }
}

/**
 * Renders links to the previous and next page, or nothing for a single page.
 *
 * @throws PageOutOfRange with a link to the last page: an empty page would suggest that the list is empty.
 */
export function pager(path: string, query: URLSearchParams, pagination: Pagination, name = 'page'): Html {
  const { page, limit, total, totalPages } = pagination
  if (totalPages < 2 && page === 1 && total <= PAGE_SIZE) return html``
  const to = (number: number, size?: number) => {
    const there = new URLSearchParams(query)
    there.set(name, String(number))
    if (size !== undefined) there.set('size', String(size))
    return `${path}?${there}`
  }
  const isSized = name === 'page' && limit === sizeOf(query)
  // The page that contains this page's first row.
  const sizes = isSized ? sizeLinks(limit, (size) => to(Math.floor(((page - 1) * limit) / size) + 1, size)) : ''
  if (page > Math.max(1, totalPages)) throw new PageOutOfRange(to(Math.max(1, totalPages)))
  return html`<nav class="pager" aria-label="${name === 'page' ? 'Pages of this list' : `Pages of the list of ${name}`}">
${page > 1 ? html`<a class="button" rel="prev" href="${to(page - 1)}">Previous</a>` : ''}
<span>Page ${count(page)} of ${count(totalPages)} (${count(total)} in total)</span>
${page < totalPages ? html`<a class="button" rel="next" href="${to(page + 1)}">Next</a>` : ''}
${sizes}</nav>`
}

const sizeLinks = (current: number, to: (size: number) => string): Html =>
  html`<span class="sizes">Rows per page ${PAGE_SIZES.map((size) => (size === current ? html`<strong aria-current="true">${String(size)}</strong>` : html`<a href="${to(size)}">${String(size)}</a>`))}</span>`

/**
 * Links to the next page of a list that continues after an item, and back to its start.
 *
 * @param isSized whether users can choose the number of rows per page
 */
export function nextPage(path: string, query: URLSearchParams, after: string | undefined, isSized = false): Html {
  const to = (id: string | undefined) => {
    const there = new URLSearchParams(query)
    if (id) there.set('after', id)
    else there.delete('after')
    return there.size ? `${path}?${there}` : path
  }
  const toSize = (size: number) => {
    const there = new URLSearchParams(query)
    there.set('size', String(size))
    return `${path}?${there}`
  }
  if (!after && !query.has('after') && !(isSized && sizeOf(query) !== PAGE_SIZE)) return html``
  return html`<nav class="pager" aria-label="Pages of this list">
${query.has('after') ? html`<a class="button" href="${to(undefined)}">First page</a>` : ''}
${after ? html`<a class="button" rel="next" href="${to(after)}">Next</a>` : ''}
${isSized ? sizeLinks(sizeOf(query), toSize) : ''}</nav>`
}
