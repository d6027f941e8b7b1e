import type { ListReader } from '../../core/lists.ts'
import type { Page, PageQuery } from '../../core/pagination.ts'
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

/** The requested filter, from the URL or from a form that repeats it. */
export interface ListFilter extends AffiliateFilter, Amounts {
  period: Period
  /** The active parameters. */
  values: FilterValues
  tab: string | undefined
  /** The tab's status; undefined for all rows. */
  status: string | undefined
}

/** One page of a list's rows. */
export interface ShownRows<Row> {
  /** Undefined while they are being read, and if the filter was rejected. */
  rows?: Row[] | undefined
  /** The number of matching rows, if counted. */
  total?: number | undefined
  /** Their age, and links to other pages. */
  rest: Html
}

type FileReader<Row> = (after: string | undefined) => Promise<FileRows<Row, string>>

/** A list during one request: its filters, its columns on the page and in the CSV file, and how its rows are read. */
export interface ListPage<Row> {
  path: string
  title: string
  lead?: Html | string
  /** The table's accessible name. Defaults to the title. */
  name?: string
  className?: string
  /** Links that filter by status. */
  tabs?: {
    label?: string
    values: readonly string[]
    text: (value: string | undefined) => string
    /** The tab shown if the URL names none. Defaults to all rows. */
    first?: (filter: AffiliateFilter) => Promise<string | undefined>
    /** Reads the stored counts, which exist only for filters by these fields. */
    counts: (filter: ListFilter) => Promise<Map<string, number> | undefined>
    countedBy?: readonly string[]
    /** A tab that is shown only when it has rows. */
    rare?: string
    /** A tab without a stored count. */
    uncounted?: string
  }
  filters: readonly FilterField[]
  /** The filter's button. */
  button?: string
  /** Reads the names to show in these rows. */
  columns: (filter: ListFilter, rows: Row[]) => readonly ListColumn<Row>[] | Promise<readonly ListColumn<Row>[]>
  read: (filter: ListFilter) => Promise<ShownRows<Row>>
  /** Returns a function that reads the CSV file's rows after a given one. */
  readFile?: (filter: ListFilter) => FileReader<Row> | Promise<FileReader<Row>>
  /** The empty state. */
  none: (filter: ListFilter) => Html
  actions?: (filter: ListFilter, shown: ShownRows<Row>) => Html | undefined
  above?: (filter: ListFilter) => Promise<Html> | Html
  /** Wraps the rows in a form. */
  around?: (filter: ListFilter, content: Html) => Html
}

/** The URL value for all rows, if another tab is the default. */
const ALL = 'ALL'

/**
 * Reads the filter. If the typed affiliate does not match exactly one, nothing matches.
 *
 * @throws ApiError 400 for an invalid day or amount. Ignoring it would match more rows than requested.
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

/** Renders the list, with the filter from the query or from a form that is shown again. */
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

/** Downloads the list as CSV with its filter applied. */
export async function downloadList<Row>(request: PageRequest, list: ListPage<Row>): Promise<View> {
  const filter = await readFilter(request, list)
  const name = list.path.slice(list.path.lastIndexOf('/') + 1)
  const read = await list.readFile?.(filter)
  if (!read) throw new Error('This list has no file')
  const columnsOf = async (rows: Row[]) => fileColumns(await list.columns(filter, rows))
  return listFile(request, { name, columnsOf }, read)
}

/** A list's URL parameters, including its tab. */
export const paramsOf = ({ values, tab }: ListFilter): FilterValues => ({ ...(tab && { status: tab }), ...values })

const sentBy = ({ form, query }: PageRequest): URLSearchParams => (form.size ? form : query)

function readRows<Row>(request: PageRequest, list: ListPage<Row>, filter: ListFilter): Promise<ShownRows<Row>> {
  if (request.problem) return Promise.resolve({ rest: html`` })
  if (filter.isSearching) return Promise.resolve({ rest: loadingNotice('Searching for the affiliate…') })
  return list.read(filter)
}

/** Reads a numbered page of a list. */
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

/** Says how far back a search has read, if it found less than a page. */
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

/** The form above the list, with links that remove each active condition. */
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

/** The hidden fields of a form on a list, which lead back to the same page of it. */
export const pageFields = ({ query }: PageRequest, filter: ListFilter): Html[] =>
  Object.entries({ ...paramsOf(filter), page: query.get('page') ?? '', size: query.get('size') ?? '' }).map(
    ([name, value]) => hidden(name, value),
  )

/** The address of the page of a list whose form was sent with {@link pageFields}. */
export async function addressOf<Row>(request: PageRequest, list: ListPage<Row>): Promise<string> {
  const { form } = request
  const [page, size] = [form.get('page') ?? undefined, form.get('size') ?? undefined]
  return urlWithQuery(list.path, { ...paramsOf(await readFilter(request, list)), page, size })
}

/** The buttons that approve or reject the selected rows. @param moves what the two are called in the form */
export const bulkButtons = (moves: readonly [approve: string, reject: string]): Html =>
  html`<div class="sticky"><label class="box all"><input type="checkbox" data-all="ids" hidden> <span>All on this page</span></label>
<button name="move" value="${moves[0]}" class="main">Approve selected</button> <button name="move" value="${moves[1]}">Reject selected</button> <span class="hint" data-selected="ids" aria-live="polite"></span></div>`

/** The text of each condition, by parameter. */
export const chipsOf = <Row>({ filters }: Pick<ListPage<Row>, 'filters'>, filter: ListFilter): Record<string, Html> =>
  Object.assign({}, ...filters.map(({ chips }) => chips?.(filter)))

export const NO_MATCH = empty('Nothing matches these filters', 'Change or clear them.', 'search')

/** Whether anything besides the tab narrows the list. */
export const isNarrowed = ({ values }: ListFilter): boolean => Object.keys(values).some((name) => name !== 'status')
