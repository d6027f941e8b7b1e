import type { components } from '../../contract/schema.d.ts'
import * as audit from '../../domains/accounts/audit-log.ts'
import * as users from '../../domains/accounts/users.ts'
import { empty, tabs } from '../kit/components.ts'
import { nextAfter, ROWS_AT_ONCE, timeCell } from '../kit/csv-download.ts'
import { field, hidden } from '../kit/form.ts'
import { time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { ListColumn } from '../kit/list-columns.ts'
import { daysField, selectField, textField } from '../kit/list-filter.ts'
import {
  downloadList,
  type ListFilter,
  type ListPage,
  numberedRows,
  type ShownRows,
  showList,
} from '../kit/list-page.ts'
import { readListForPage } from '../kit/report-cache.ts'
import type { PageRequest, Route } from '../kit/route.ts'
import { rolesAndAuditOf } from '../kit/route.ts'
import { nextPage, PAGE_SIZE } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { actorName, namesOf, type SubjectNames, sentenceOf } from './audit-descriptions.ts'

type AuditRecord = components['schemas']['AuditRecord']

const PATH = '/admin/audit'
export const auditRoutes: Route[] = [
  {
    path: '/audit',
    ...rolesAndAuditOf('listAudit'),
    show: async (request) => showList(request, await auditPage(request)),
    hasFilter: true,
  },
  // No CSV here: only the API's export can be verified.
  {
    path: '/audit.csv',
    ...rolesAndAuditOf('exportAudit'),
    show: async (request) => downloadList(request, await auditPage(request)),
  },
]

async function auditPage(request: PageRequest): Promise<ListPage<AuditRecord>> {
  const { ctx, query } = request
  const people = (await users.list(ctx)).data.map(({ id, email }) => [`user:${id}`, email] as const)
  const actors = [...people, ['operator', 'The operator'], ['store', 'The store']] as const
  const actor = field(query, 'actor')
  const isOffered = !actor || actors.some(([id]) => id === actor)
  const isEverything = showsEverything(query)
  return {
    path: PATH,
    title: 'Audit log',
    name: 'Audit records',
    lead: 'Who did what, and when. Each record contains the previous record’s hash. Keep a copy of the last hash elsewhere: it reveals whether records were changed or removed in the database.',
    above: ({ values }) => html`<div class="toolbar">${tabs(
      'Records',
      [
        {
          to: urlWithQuery(PATH, { ...values, view: undefined, action: undefined }),
          text: 'Changes',
          isCurrent: !isEverything,
        },
        { to: urlWithQuery(PATH, { ...values, view: 'all' }), text: 'All, including views', isCurrent: isEverything },
      ],
      'segments',
    )}</div>
`,
    filters: [
      textField(request, {
        name: 'action',
        label: 'Action',
        placeholder: 'commission.approved',
        maxlength: 100,
        chip: 'Action',
      }),
      selectField(request, {
        name: 'actor',
        label: 'By',
        any: 'Everyone',
        options: isOffered ? actors : [...actors, [actor, actor]],
      }),
      { ...daysField(request), hasMonths: false },
      {
        names: ['view'],
        fixed: isEverything ? 'all' : undefined,
        input: isEverything ? hidden('view', 'all') : html``,
      },
    ],
    columns: async (_filter, records) => columns(await namesOf(request, records), new Map(people)),
    read: (filter) =>
      isEverything
        ? numberedRows(request, { path: PATH, list: audit.list, query: queryOf(filter) })
        : readChanges(request, queryOf(filter)),
    readFile: (filter) => async (before) => {
      const query = { ...queryOf(filter), ...(before && { beforeSeq: Number(before) }) }
      const { data } = await (isEverything
        ? audit.list(ctx, { ...query, page: 1, limit: ROWS_AT_ONCE, isUncounted: true })
        : audit.listChanges(ctx, { ...query, limit: ROWS_AT_ONCE }))
      return { rows: data, next: nextAfter(data, ({ seq }) => String(seq)) }
    },
    none: () =>
      empty(
        'No records match',
        isEverything ? 'Change or clear the filter.' : 'Change or clear the filter, or show everything.',
        'search',
      ),
  }
}

/** The API's query for a filter. */
const queryOf = ({ values: { action, actor }, period }: ListFilter) => ({
  ...period,
  ...(action && { action }),
  ...(actor && { actor }),
})

/** Whether to include records of views: on request, or when filtering by action. */
const showsEverything = (query: URLSearchParams): boolean =>
  query.get('view') === 'all' || Boolean(field(query, 'action'))

/** Reading more rows could exceed a page's time limit. */
const READ_AT_ONCE = 1000

/** The newest changes are read directly. If many views were recorded since, they are searched for in the background. */
async function readChanges(request: PageRequest, filter: ReturnType<typeof queryOf>): Promise<ShownRows<AuditRecord>> {
  const { ctx, query } = request
  const beforeSeq = beforeOf(query)
  const listQuery = { ...filter, limit: PAGE_SIZE, ...(beforeSeq && { beforeSeq }) }
  const recent = await audit.listChanges(ctx, { ...listQuery, maxRead: READ_AT_ONCE })
  const { list, notice } = recent.isComplete
    ? { list: recent, notice: html`` }
    : await readListForPage(request, audit.listChanges, listQuery, 'Searching changes…')
  if (!list) return { rest: notice }
  const { data, next } = list
  return { rows: data, rest: html`${notice}${nextPage(PATH, query, next === undefined ? undefined : String(next))}` }
}

/** The record a page starts after. */
const beforeOf = (query: URLSearchParams): number | undefined => {
  const seq = Number(query.get('after'))
  return Number.isSafeInteger(seq) && seq > 0 ? seq : undefined
}

/** @param people users' email addresses by actor */
const columns = (names: SubjectNames, people: Map<string, string>): ListColumn<AuditRecord>[] => [
  { label: 'Event', kind: 'wide', cell: (record) => html`${sentenceOf(record, names)}${details(record)}` },
  {
    label: 'By',
    kind: 'name',
    card: 'bare',
    cell: ({ actor }) => isolated(actorName(actor, names).replace(/^the /, 'The ')),
  },
  { label: 'Time', card: 'bare', cell: ({ createdAt }) => time(createdAt, '–', names.zone) },
  { label: 'Number', kind: 'number', card: 'inline', cell: ({ seq }) => seq, file: ({ seq }) => seq },
  { label: `Time (${names.zone})`, file: ({ createdAt }) => timeCell(createdAt, names.zone) },
  { label: 'Action', file: ({ action }) => action },
  { label: 'By', file: ({ actor }) => people.get(actor) ?? actor },
  { label: 'Subject', file: ({ subjectId }) => subjectId },
  { label: 'Details', file: ({ data }) => (Object.keys(data).length ? JSON.stringify(data) : null) },
  { label: 'Request ID', file: ({ requestId }) => requestId },
]

const MAX_DETAILS = 200

/** The action's name, with the recorded data in a disclosure. */
function details({ action, data }: AuditRecord): Html {
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
  if (!text) return html`<small><code>${action}</code></small>`
  const shown = text.length > MAX_DETAILS ? `${text.slice(0, MAX_DETAILS)}…` : text
  return html`<details class="record"><summary><code>${action}</code></summary><small>${isolated(shown)}</small></details>`
}
