import * as audit from '../accounts/audit-log.ts'
import * as users from '../accounts/users.ts'
import type { components } from '../contract/schema.d.ts'
import { firstInstantOf, lastInstantOf } from './commission-filter.ts'
import { field, input, select } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf } from './route.ts'
import { empty, time } from './show.ts'
import { type Cell, type Column, nameColumn, numberColumn, pageOf, pager, table, wideColumn } from './table.ts'

type AuditRecord = components['schemas']['AuditRecord']

const PATH = '/admin/audit'
const COLUMNS: Column[] = ['Action', nameColumn('By'), 'Time', 'Subject', wideColumn('Details'), numberColumn('Number')]

export const auditRoutes: Route[] = [{ path: '/audit', ...rolesAndAuditOf('listAudit'), show }]

async function show(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const [action, actor, from, to] = ['action', 'actor', 'from', 'to'].map((name) => field(query, name))
  const people = (await users.list(ctx)).data
  const { data, pagination } = await audit.list(ctx, {
    ...pageOf(query),
    ...(action && { action }),
    ...(actor && { actor }),
    ...(from && { from: firstInstantOf(from, request.zone) }),
    ...(to && { to: lastInstantOf(to, request.zone) }),
  })
  const names = new Map(people.map(({ id, email }) => [`user:${id}`, email]))
  const actors = [['', 'Everyone'], ...names, ['operator', 'The operator'], ['store', 'The store']] as [
    string,
    string,
  ][]
  const isOffered = !actor || actors.some(([id]) => id === actor)
  const rows = data.map((one) => row(one, names, request.zone))
  return {
    title: 'Audit log',
    lead: 'Who did what, and when. Each record contains the hash of the one before it, so that nothing can be changed or removed unnoticed.',
    body: html`<form class="filters" method="get" action="${PATH}" aria-label="Filter">
${input({ name: 'action', label: 'Action', value: action, placeholder: 'commission.approved', maxlength: 100 })}
${select('actor', 'By', isOffered ? actors : [...actors, [actor ?? '', actor ?? '']], actor ?? '')}
${input({ name: 'from', label: 'From', type: 'date', value: from, maxlength: 10 })}
${input({ name: 'to', label: 'To', type: 'date', value: to, maxlength: 10 })}
<div class="row"><button>Filter</button>${query.size ? html`<a class="button quiet" href="${PATH}">Clear</a>` : ''}</div></form>
${rows.length ? table('Audit records', COLUMNS, rows) : empty('No records match', 'Change or clear the filter.', 'search')}
${pager(PATH, query, pagination)}`,
  }
}

const row = (one: AuditRecord, names: Map<string, string>, zone: string): Cell[] => [
  html`<code>${one.action}</code>`,
  actorName(one.actor, names),
  time(one.createdAt, '–', zone),
  one.subjectId === null ? '–' : subject(one.subjectId),
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
  return text ? isolated(text.length > MAX_DETAILS ? `${text.slice(0, MAX_DETAILS)}…` : text) : '–'
}
