import * as sessions from '../accounts/sessions.ts'
import { form } from './form.ts'
import { type Html, html } from './html.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from './route.ts'
import { counted, time } from './show.ts'
import { ACTIONS, type Cell, type Column, nameColumn, pager, slice, table } from './table.ts'

const PATH = '/admin/account'
const COLUMNS: Column[] = [nameColumn('Browser'), 'From', 'Signed in', 'With', 'Ends', ACTIONS]
const METHODS: Record<sessions.ListedSession['method'], string> = {
  token: 'Owner token',
  link: 'One-time link',
}

export const accountRoutes: Route[] = [
  { path: '/account', roles: ALL_ROLES, audit: 'sessions.listed', show },
  { path: '/account/sessions/end-others', roles: ALL_ROLES, act: endOthers, page: show },
  { path: '/account/sessions/:id/end', roles: ALL_ROLES, act: end, page: show },
]

async function show(request: PageRequest): Promise<View> {
  const all = await sessions.list(request.ctx)
  return {
    title: 'Your account',
    lead: 'Where you are signed in. A session ends after 12 hours, or when you end it.',
    subjectId: request.ctx.user.id,
    body: html`<h2>Sessions</h2>${sessionList(request, all)}`,
  }
}

function sessionList(request: PageRequest, all: sessions.ListedSession[]): Html {
  const { data, pagination } = slice(all, request.query)
  return html`${table(
    'Sessions',
    COLUMNS,
    data.map((one) => row(request, one)),
  )}
${pager(PATH, request.query, pagination)}
${all.length > 1 ? form(request, `${PATH}/sessions/end-others`, html`<button>End all other sessions</button>`) : ''}`
}

const row = (request: PageRequest, one: sessions.ListedSession): Cell[] => [
  html`${one.browser}${one.isCurrent ? html`<small>This browser</small>` : ''}`,
  one.network,
  time(one.createdAt, '', request.zone),
  METHODS[one.method],
  time(one.expiresAt, '', request.zone),
  one.isCurrent
    ? ''
    : form(
        request,
        `${PATH}/sessions/${one.id}/end`,
        html`<button class="small">End<span class="visually-hidden"> the session of ${one.browser}, ${one.network}</span></button>`,
      ),
]

async function end({ ctx, params }: PageRequest) {
  await sessions.end(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'The session has ended.' } }
}

async function endOthers({ ctx }: PageRequest) {
  const count = await sessions.endOthers(ctx)
  return { to: PATH, flash: { text: `${counted(count, 'other session has', 'other sessions have')} ended.` } }
}
