import type { components } from '../contract/schema.d.ts'
import type { FileColumn } from '../core/csv.ts'
import * as audit from '../domains/accounts/audit-log.ts'
import * as users from '../domains/accounts/users.ts'
import { actorName, namesOf, type SubjectNames, sentenceOf } from './audit-descriptions.ts'
import { chips, empty, tabs } from './components.ts'
import { fileLink, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './csv-download.ts'
import { field, hidden, select } from './form.ts'
import { time } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import { dateInputs, filterForm, filterInput, givenOf, rangeChips, readPeriod } from './list-filter.ts'
import { readListForPage } from './report-cache.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf } from './route.ts'
import {
  type Cell,
  type Column,
  inCard,
  nameColumn,
  nextPage,
  numberColumn,
  PAGE_SIZE,
  pageOf,
  pager,
  table,
  wideColumn,
} from './table.ts'
import { urlWithQuery } from './url.ts'

type AuditRecord = components['schemas']['AuditRecord']

const PATH = '/admin/audit'
const COLUMNS: Column[] = [
  wideColumn('Event'),
  inCard('bare', nameColumn('By')),
  inCard('bare', 'Time'),
  inCard('inline', numberColumn('Number')),
]

const FILTERS = ['action', 'actor', 'from', 'to']

export const auditRoutes: Route[] = [
  { path: '/audit', ...rolesAndAuditOf('listAudit'), show, filters: FILTERS },
  { path: '/audit.csv', ...rolesAndAuditOf('exportAudit'), show: download },
]

/** The filter as the list of the API has it. @throws ApiError 400 for a day that is not one. */
function listFilter(request: PageRequest) {
  const { action, actor, ...given } = givenOf(request.query, FILTERS)
  return { ...(action && { action }), ...(actor && { actor }), ...readPeriod(request, given) }
}

/** The email addresses of users, by actor. */
const userNames = async ({ ctx }: PageRequest): Promise<Map<string, string>> =>
  new Map((await users.list(ctx)).data.map(({ id, email }) => [`user:${id}`, email]))

async function show(request: PageRequest): Promise<View> {
  const { query } = request
  const given = givenOf(query, FILTERS)
  const { action, actor } = given
  const isEverything = showsEverything(query)
  const read = isEverything ? readEverything : readChanges
  const [people, { data, notice, pages }] = await Promise.all([userNames(request), read(request)])
  const actors: [string, string][] = [['', 'Everyone'], ...people, ['operator', 'The operator'], ['store', 'The store']]
  const isOffered = !actor || actors.some(([id]) => id === actor)
  const names = await namesOf(request, data ?? [])
  const rows = (data ?? []).map((one) => row(one, names))
  const none = isEverything ? 'Change or clear the filter.' : 'Change or clear the filter, or show everything.'
  return {
    title: 'Audit log',
    lead: 'Who did what, and when. Each record contains the hash of the one before it. Keep the last hash elsewhere: it reveals whether records were changed or removed in the database.',
    actions: rows.length ? fileLink(`${PATH}.csv`, query) : undefined,
    body: html`<div class="toolbar">${tabs(
      'Records',
      [
        { to: urlWithQuery(PATH, { ...given, action: undefined }), text: 'Changes', isCurrent: !isEverything },
        { to: urlWithQuery(PATH, { ...given, view: 'all' }), text: 'All, including views', isCurrent: isEverything },
      ],
      'segments',
    )}</div>
${filterForm(request, {
  path: PATH,
  fields: html`${isEverything ? hidden('view', 'all') : ''}
${filterInput(request, { name: 'action', label: 'Action', placeholder: 'commission.approved', maxlength: 100 })}
${select('actor', 'By', isOffered ? actors : [...actors, [actor ?? '', actor ?? '']], actor ?? '')}
${dateInputs(request)}`,
})}
${chips(
  PATH,
  { ...given, ...(isEverything && { view: 'all' }) },
  {
    action: html`Action ${isolated(action ?? '')}`,
    actor: html`By ${isolated(actors.find(([id]) => id === actor)?.[1] ?? actor ?? '')}`,
    ...rangeChips(given),
  },
)}
${rows.length ? table('Audit records', COLUMNS, rows) : data && empty('No records match', none, 'search')}
${notice}${pages}`,
  }
}

/** Views are shown when they are asked for, and when an action is, which may be one. */
const showsEverything = (query: URLSearchParams): boolean =>
  query.get('view') === 'all' || Boolean(field(query, 'action'))

interface Read {
  /** Undefined while it is read. */
  data: AuditRecord[] | undefined
  notice: Html
  pages: Html
}

async function readEverything(request: PageRequest): Promise<Read> {
  const { query } = request
  const page = pageOf(query)
  const filter = listFilter(request)
  const { list, notice } = await readListForPage(request, audit.list, { ...page, ...filter })
  return { data: list?.data, notice, pages: html`${list && pager(PATH, query, list.pagination)}` }
}

/** Reading more rows for a page could take longer than it may. */
const READ_AT_ONCE = 1000

/** The newest changes are found at once, unless the shop had many views since: then they are searched for. */
async function readChanges(request: PageRequest): Promise<Read> {
  const { ctx, query } = request
  const beforeSeq = beforeOf(query)
  const filter = { ...listFilter(request), limit: PAGE_SIZE, ...(beforeSeq && { beforeSeq }) }
  const shown = ({ data, next }: audit.ChangeList, notice: Html): Read => ({
    data,
    notice,
    pages: nextPage(PATH, query, next === undefined ? undefined : String(next)),
  })
  const recent = await audit.listChanges(ctx, { ...filter, maxRead: READ_AT_ONCE })
  if (recent.isComplete) return shown(recent, html``)
  const { list, notice } = await readListForPage(request, audit.listChanges, filter, 'Searching changes…')
  return list ? shown(list, notice) : { data: undefined, notice, pages: html`` }
}

/** Where a page begins. */
const beforeOf = (query: URLSearchParams): number | undefined => {
  const seq = Number(query.get('after'))
  return Number.isSafeInteger(seq) && seq > 0 ? seq : undefined
}

const fileColumns = (zone: string, names: Map<string, string>): FileColumn<AuditRecord>[] => [
  ['Number', ({ seq }) => seq],
  [`Time (${zone})`, ({ createdAt }) => timeCell(createdAt, zone)],
  ['Action', ({ action }) => action],
  ['By', ({ actor }) => names.get(actor) ?? actor],
  ['Subject', ({ subjectId }) => subjectId],
  ['Details', ({ data }) => (Object.keys(data).length ? JSON.stringify(data) : null)],
  ['Request ID', ({ requestId }) => requestId],
]

/** The list with the same filter. The export of the API is the one that can be verified. */
async function download(request: PageRequest): Promise<View> {
  const { ctx, zone } = request
  const [filter, names] = [listFilter(request), await userNames(request)]
  const columns = fileColumns(zone, names)
  return listFile(request, { name: 'audit', columns }, async (before: string | undefined) => {
    const page = { page: 1, limit: ROWS_AT_ONCE, isUncounted: true, ...(before && { beforeSeq: Number(before) }) }
    const { data } = showsEverything(request.query)
      ? await audit.list(ctx, { ...filter, ...page })
      : await audit.listChanges(ctx, { ...filter, limit: ROWS_AT_ONCE, ...(before && { beforeSeq: Number(before) }) })
    return { rows: data, next: nextAfter(data, ({ seq }) => String(seq)) }
  })
}

const row = (one: AuditRecord, names: SubjectNames): Cell[] => [
  html`${sentenceOf(one, names)}${details(one)}`,
  isolated(actorName(one.actor, names).replace(/^the /, 'The ')),
  time(one.createdAt, '–', names.zone),
  one.seq,
]

const MAX_DETAILS = 200

/** The action as it is filtered by, and what else was recorded behind it. */
function details({ action, data }: AuditRecord): Html {
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
  if (!text) return html`<small><code>${action}</code></small>`
  const shown = text.length > MAX_DETAILS ? `${text.slice(0, MAX_DETAILS)}…` : text
  return html`<details class="record"><summary><code>${action}</code></summary><small>${isolated(shown)}</small></details>`
}
