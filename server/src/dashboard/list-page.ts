import type { ListReader } from '../core/lists.ts'
import type { Page, PageQuery } from '../core/pagination.ts'
import { chips, countOf, empty, tabs } from './components.ts'
import { type FileRows, fileLink, listFile } from './csv-download.ts'
import { field, hidden } from './form.ts'
import { time } from './format.ts'
import { type Html, html } from './html.ts'
import { fileColumns, type ListColumn, listTable } from './list-columns.ts'
import {
  type AffiliateFilter,
  type Amounts,
  affiliateNotice,
  type FilterField,
  type FilterValues,
  filterForm,
  filterValues,
  monthLinks,
  type Period,
  readAffiliate,
  readAmounts,
  readPeriod,
} from './list-filter.ts'
import { loadingNotice, readListForPage } from './report-cache.ts'
import type { PageRequest, View } from './route.ts'
import { pageOf, pager } from './table.ts'
import { urlWithQuery } from './url.ts'

/** What the address of a list, or a form that repeats it, asks for. */
export interface ListFilter extends AffiliateFilter, Amounts {
  period: Period
  /** The parameters that are set. */
  values: FilterValues
  tab: string | undefined
  /** The status of the tab; undefined for all rows. */
  status: string | undefined
}

/** A page of the rows of a list. */
export interface ShownRows<Row> {
  /** Undefined while they are read, and when the filter was rejected, which matches nothing. */
  rows?: Row[] | undefined
  /** How many rows match, if they were counted. */
  total?: number | undefined
  /** When they were read, and links to the other pages. */
  rest: Html
}

type FileReader<Row> = (after: string | undefined) => Promise<FileRows<Row, string>>

/** Everything that a list has in one request: its filters, its columns in the page and in the file, and how it is read. */
export interface ListPage<Row> {
  path: string
  title: string
  lead?: Html | string
  /** The accessible name of the table, by default the title. */
  name?: string
  className?: string
  /** Links that filter by status. */
  tabs?: {
    label?: string
    values: readonly string[]
    text: (value: string | undefined) => string
    /** The tab of an address without one; that of all rows by default. */
    first?: (filter: AffiliateFilter) => Promise<string | undefined>
    /** Reads the stored counts, which exist for filters by these fields only. */
    counts: (filter: ListFilter) => Promise<Map<string, number> | undefined>
    countedBy?: readonly string[]
    /** A tab that is shown only when it has rows. */
    rare?: string
    /** A tab without a stored count. */
    uncounted?: string
  }
  filters: readonly FilterField[]
  /** The button of the filter. */
  button?: string
  /** Reads the names that these rows show. */
  columns: (filter: ListFilter, rows: Row[]) => readonly ListColumn<Row>[] | Promise<readonly ListColumn<Row>[]>
  read: (filter: ListFilter) => Promise<ShownRows<Row>>
  /** Returns what reads the rows of the file after one. */
  readFile?: (filter: ListFilter) => FileReader<Row> | Promise<FileReader<Row>>
  /** What is shown without rows. */
  none: (filter: ListFilter) => Html
  actions?: (filter: ListFilter, shown: ShownRows<Row>) => Html | undefined
  above?: (filter: ListFilter) => Promise<Html> | Html
  /** The form around the rows. */
  around?: (filter: ListFilter, content: Html) => Html
}

/** The tab of all rows, where an address without a tab means another one. */
const ALL = 'ALL'

/**
 * Reads the filter. A typed affiliate that is not exactly one matches nothing.
 *
 * @throws ApiError 400 for a day or an amount that is not one: without it, the filter would match more.
 */
export async function readFilter<Row>(
  request: PageRequest,
  { filters, tabs }: Pick<ListPage<Row>, 'filters' | 'tabs'>,
): Promise<ListFilter> {
  const status = { names: ['status'], values: tabs?.values ?? [] }
  const fields: Pick<FilterField, 'names' | 'values' | 'fixed'>[] = tabs ? [status, ...filters] : [...filters]
  const params = filterValues(
    sentBy(request),
    fields.flatMap(({ names }) => names),
  )
  for (const { names, values, fixed } of fields)
    for (const name of names) {
      if (values && !values.includes(params[name] ?? '')) delete params[name]
      if (fixed) params[name] = fixed
    }
  const amounts = readAmounts(request, params)
  const period = readPeriod(request, params)
  const affiliate = await readAffiliate(request, params)
  const tab = tabs && (params.status ?? (await tabs.first?.(affiliate)))
  return { ...affiliate, ...amounts, period, values: params, tab, status: tab === ALL ? undefined : tab }
}

/** The list with its filter, from the query or from a form that is shown again. */
export async function showList<Row>(request: PageRequest, list: ListPage<Row>): Promise<View> {
  const filter = await readFilter(request, list)
  const [shown, above, statusTabs] = await Promise.all([
    readRows(request, list, filter),
    list.above?.(filter),
    renderTabs(request, list, filter),
  ])
  const { rows = [], rest } = shown
  const content = rows.length
    ? listTable(list.name ?? list.title, await list.columns(filter, rows), rows, list.className)
    : html`${shown.rows && list.none(filter)}`
  const { path, title, lead, readFile } = list
  const file = rows.length && readFile ? fileLink(`${path}.csv`, new URLSearchParams(paramsOf(filter))) : undefined
  const actions = list.actions?.(filter, shown)
  return {
    title,
    ...(lead && { lead }),
    actions: file || actions ? html`${file}${actions}` : undefined,
    body: html`${above}${statusTabs}${renderFilter(request, list, filter)}
${rows.length && list.around ? list.around(filter, content) : content}
${rest}`,
  }
}

/** The list with its filter as CSV. */
export async function downloadList<Row>(request: PageRequest, list: ListPage<Row>): Promise<View> {
  const filter = await readFilter(request, list)
  const name = list.path.slice(list.path.lastIndexOf('/') + 1)
  const read = await list.readFile?.(filter)
  if (!read) throw new Error('This list has no file')
  const columnsOf = async (rows: Row[]) => fileColumns(await list.columns(filter, rows))
  return listFile(request, { name, columnsOf }, read)
}

/** The parameters of the address of a list, with the tab that it shows. */
export const paramsOf = ({ values, tab }: ListFilter): FilterValues => ({ ...(tab && { status: tab }), ...values })

const sentBy = ({ form, query }: PageRequest): URLSearchParams => (form.size ? form : query)

function readRows<Row>(request: PageRequest, list: ListPage<Row>, filter: ListFilter): Promise<ShownRows<Row>> {
  if (request.problem) return Promise.resolve({ rest: html`` })
  if (filter.isSearching) return Promise.resolve({ rest: loadingNotice('Searching for the affiliate…') })
  return list.read(filter)
}

/** A numbered page of a list. */
export async function numberedRows<Query extends PageQuery, Row>(
  request: PageRequest,
  { path, list, query }: { path: string; list: ListReader<Query, Page<Row>>; query: Omit<Query, keyof PageQuery> },
): Promise<ShownRows<Row>> {
  const { list: page, notice } = await readListForPage(request, list, { ...query, ...pageOf(request.query) } as Query)
  return {
    rows: page?.data,
    total: page?.pagination.total,
    rest: html`${notice}${page && pager(path, request.query, page.pagination)}`,
  }
}

/** How far back a search has read, if it found less than a page. */
export const searchedTo = (
  next: { at: string } | undefined,
  { isFull, zone }: { isFull: boolean; zone: string },
): Html =>
  next && !isFull
    ? html`<p class="hint">Results go back to ${time(next.at, '–', zone)}. Continue on the next page.</p>`
    : html``

async function renderTabs<Row>(
  request: PageRequest,
  { path, tabs: statusTabs }: ListPage<Row>,
  filter: ListFilter,
): Promise<Html> {
  if (!statusTabs) return html``
  const { label = 'By status', values, text, countedBy = [], rare, uncounted } = statusTabs
  const isCounted = Object.keys(filter.values).every((name) => name === 'status' || countedBy.includes(name))
  const counts = isCounted && !filter.isSearching ? await statusTabs.counts(filter) : undefined
  const size = field(sentBy(request), 'size')
  const links = (values.includes(ALL) ? values : [undefined, ...values])
    .filter((tab) => tab === undefined || tab !== rare || tab === filter.tab || countOf(counts, tab))
    .map((tab) => ({
      to: urlWithQuery(path, { ...filter.values, status: tab, size }),
      text: text(tab),
      isCurrent: tab === filter.tab,
      count: tab !== undefined && tab === uncounted ? undefined : countOf(counts, tab === ALL ? undefined : tab),
    }))
  return tabs(label, links)
}

/** The form above the list. What is set is shown as links that remove it. */
function renderFilter<Row>(request: PageRequest, list: ListPage<Row>, filter: ListFilter): Html {
  const { path, filters, button } = list
  if (filters.length === 0) return html``
  const rare = filters.filter(({ isRare }) => isRare)
  const params = paramsOf(filter)
  const size = field(sentBy(request), 'size')
  return html`${filterForm(request, {
    path,
    fields: html`${filter.tab ? hidden('status', filter.tab) : ''}${filters.filter(({ isRare }) => !isRare).map(({ input }) => input)}`,
    ...(rare.length && { more: { names: rare.flatMap(({ names }) => names), fields: rare.map(({ input }) => input) } }),
    ...(button && { button }),
  })}
${filters.some(({ hasMonths }) => hasMonths) ? monthLinks(request, path, params) : ''}
${chips(path, { ...params, size }, chipsOf(list, filter))}
${affiliateNotice(path, filter, filter.values)}`
}

/** Each condition of the filter as text, by its parameter. */
export const chipsOf = <Row>({ filters }: Pick<ListPage<Row>, 'filters'>, filter: ListFilter): Record<string, Html> =>
  Object.assign({}, ...filters.map(({ chips }) => chips?.(filter)))

export const NO_MATCH = empty('Nothing matches these filters', 'Change or clear them.', 'search')

/** Whether something else than the tab narrows the list. */
export const isNarrowed = ({ values }: ListFilter): boolean => Object.keys(values).some((name) => name !== 'status')
