import * as audit from '../accounts/audit-log.ts'
import * as users from '../accounts/users.ts'
import type { components } from '../contract/schema.d.ts'
import { countAudits } from '../core/audit.ts'
import type { CsvCell } from '../core/csv.ts'
import { LARGE } from '../core/list-size.ts'
import { select } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { readListKept } from './kept.ts'
import { fileLink, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './list-file.ts'
import { dateInputs, filterForm, filterInput, givenOf, rangeChips, readPeriod } from './list-filter.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf } from './route.ts'
import { chips, empty, time } from './show.ts'
import { type Cell, type Column, inCard, nameColumn, numberColumn, pageOf, pager, table, wideColumn } from './table.ts'

type AuditRecord = components['schemas']['AuditRecord']

const PATH = '/admin/audit'
const COLUMNS: Column[] = [
  'Action',
  inCard('bare', nameColumn('By')),
  inCard('bare', 'Time'),
  inCard('inline', 'Subject'),
  wideColumn('Details'),
  inCard('lead', numberColumn('Number')),
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
  const { ctx, query } = request
  const given = givenOf(query, FILTERS)
  const { action, actor } = given
  const filter = listFilter(request)
  const names = await userNames(request)
  const page = pageOf(query)
  const { list: found, notice } = await readListKept(request, {
    key: ['audit', page, filter],
    isLarge: Object.keys(given).length > 0 && (await countAudits(ctx.db.read, ctx.shop.id)) > LARGE,
    read: (own) => audit.list(own, { ...page, ...filter }),
  })
  const data = found?.data ?? []
  const actors = [['', 'Everyone'], ...names, ['operator', 'The operator'], ['store', 'The store']] as [
    string,
    string,
  ][]
  const isOffered = !actor || actors.some(([id]) => id === actor)
  const rows = data.map((one) => row(one, names, request.zone))
  return {
    title: 'Audit log',
    lead: 'Who did what, and when. Each record contains the hash of the one before it, so that nothing can be changed or removed unnoticed.',
    actions: rows.length ? fileLink(`${PATH}.csv`, query) : undefined,
    body: html`${filterForm(request, {
      path: PATH,
      fields: html`${filterInput(request, { name: 'action', label: 'Action', placeholder: 'commission.approved', maxlength: 100 })}
${select('actor', 'By', isOffered ? actors : [...actors, [actor ?? '', actor ?? '']], actor ?? '')}
${dateInputs(request)}`,
    })}
${chips(PATH, given, {
  action: html`Action ${isolated(action ?? '')}`,
  actor: html`By ${isolated(actors.find(([id]) => id === actor)?.[1] ?? actor ?? '')}`,
  ...rangeChips(given),
})}
${rows.length ? table('Audit records', COLUMNS, rows) : found && empty('No records match', 'Change or clear the filter.', 'search')}
${notice}${found && pager(PATH, query, found.pagination)}`,
  }
}

const fileHeading = (zone: string) => ['Number', `Time (${zone})`, 'Action', 'By', 'Subject', 'Details', 'Request id']

/** The list with the same filter. The export of the API is the one that can be verified. */
async function download(request: PageRequest): Promise<View> {
  const { ctx, zone } = request
  const [filter, names] = [listFilter(request), await userNames(request)]
  const cells = (one: AuditRecord): CsvCell[] => [
    one.seq,
    timeCell(one.createdAt, zone),
    one.action,
    names.get(one.actor) ?? one.actor,
    one.subjectId,
    Object.keys(one.data).length ? JSON.stringify(one.data) : null,
    one.requestId,
  ]
  return listFile(request, { name: 'audit', heading: fileHeading(zone) }, async (before: string | undefined) => {
    const page = { page: 1, limit: ROWS_AT_ONCE, isUncounted: true, ...(before && { beforeSeq: Number(before) }) }
    const { data } = await audit.list(ctx, { ...filter, ...page })
    return { rows: data.map(cells), next: nextAfter(data, ({ seq }) => String(seq)) }
  })
}

const row = (one: AuditRecord, names: Map<string, string>, zone: string): Cell[] => [
  html`<code>${one.action}</code>`,
  actorName(one.actor, names),
  time(one.createdAt, '–', zone),
  one.subjectId === null ? '' : subject(one.subjectId),
  details(one.data),
  one.seq,
]

const actorName = (actor: string, names: Map<string, string>): Html => isolated(names.get(actor) ?? actor)

/** Pages of subjects, by the prefix of their id. */
const PAGES: Record<string, string> = { aff: '/admin/affiliates/', prg: '/admin/programs/', bat: '/admin/payouts/' }

function subject(id: string): Html {
  const page = PAGES[id.split('_')[0] ?? '']
  return page ? html`<a href="${page}${id}"><code>${isolated(id)}</code></a>` : html`<code>${isolated(id)}</code>`
}

const MAX_DETAILS = 200

function details(data: Record<string, unknown>): Html | string {
  const text = Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
  return text ? isolated(text.length > MAX_DETAILS ? `${text.slice(0, MAX_DETAILS)}…` : text) : ''
}
