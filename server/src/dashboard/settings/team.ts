import { invalidBody, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import * as users from '../../domains/accounts/users.ts'
import { buttonForm, confirmation, field, form, input, limitsOf, select } from '../kit/form.ts'
import { day, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { type ListColumn, listTable } from '../kit/list-columns.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { OWNER_ONLY, validateBody } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { ACTIONS, pager, slice } from '../kit/table.ts'

type User = components['schemas']['ShopUser']

const PATH = '/admin/team'
const ROLES = [
  ['STAFF', 'Staff'],
  ['OWNER', 'Owner'],
] as const

export const teamRoutes: Route[] = [
  { path: '/team', roles: OWNER_ONLY, audit: 'users.listed', show: list },
  { path: '/team', roles: OWNER_ONLY, act: create, page: list },
  { path: '/team/:id/link', roles: OWNER_ONLY, act: createLink, page: list },
  { path: '/team/:id/token', roles: OWNER_ONLY, audit: 'users.listed', show: confirmToken },
  { path: '/team/:id/token', roles: OWNER_ONLY, act: replaceToken, page: list },
  { path: '/team/:id/revoke', roles: OWNER_ONLY, audit: 'users.listed', show: confirmRevoke },
  { path: '/team/:id/revoke', roles: OWNER_ONLY, act: revoke, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { data, pagination } = slice((await users.list(request.ctx)).data, request.query)
  const lastSignIns = await users.lastSignIns(request.ctx)
  return {
    title: 'Team',
    lead: 'People who can sign in, and what they can do.',
    body: html`${listTable('Users', columns(request, lastSignIns), data)}
${pager(PATH, request.query, pagination)}
<section class="card narrow" aria-labelledby="add"><h2 id="add">Add a user</h2>
${form(
  request,
  PATH,
  html`${input(request, { name: 'email', label: 'Email', type: 'email', required: true, ...limitsOf('createShopUser', 'email') })}
${select('role', 'Role', ROLES, request.form.get('role') ?? 'STAFF')}
<p class="hint">Staff can view orders, commissions, and affiliates, and redeliver webhooks. Owners have full access, including payouts and API keys. The access token is shown once.</p>
<button class="main">Add user</button>`,
)}</section>`,
  }
}

const columns = (request: PageRequest, lastSignIns: Map<string, string | null>): ListColumn<User>[] => [
  {
    label: 'User',
    kind: 'name',
    cell: (user) => html`${isolated(user.email)}${isSelf(request, user) ? html`<small>You</small>` : ''}`,
  },
  { label: 'Role', card: 'bare', cell: ({ role }) => (role === 'OWNER' ? 'Owner' : 'Staff') },
  { label: 'Status', card: 'lead', cell: ({ revokedAt }) => badge(revokedAt === null ? 'active' : 'revoked') },
  { label: 'Since', card: 'inline', cell: ({ createdAt }) => day(createdAt, request.zone) },
  { label: 'Last sign-in', card: 'inline', cell: ({ id }) => time(lastSignIns.get(id) ?? null, 'Never', request.zone) },
  { ...ACTIONS, cell: (user) => (user.revokedAt === null && !isSelf(request, user) ? actions(request, user) : '') },
]

const isSelf = ({ ctx }: PageRequest, { id }: User): boolean => id === ctx.user.id

const actions = (request: PageRequest, { id, email }: User): Html[] => [
  buttonForm(request, `${PATH}/${id}/link`, 'Sign-in link', `for ${email}`),
  html` <a class="button small" href="${PATH}/${id}/token">New token<span class="visually-hidden"> for ${email}</span></a> <a class="button small" href="${PATH}/${id}/revoke">Revoke<span class="visually-hidden"> ${email}</span></a>`,
]

async function create({ ctx, form }: PageRequest) {
  const body = { email: field(form, 'email') ?? '', role: form.get('role') === 'OWNER' ? 'OWNER' : 'STAFF' }
  const { email, token } = await users.create(ctx, validateBody('createShopUser', body))
  const text = `${email} added. Copy the access token now and give it to them; it is shown only once.`
  return { to: PATH, flash: { text, secret: { name: 'Access token', value: token } } }
}

async function createLink({ ctx, params, origin }: PageRequest) {
  const { path } = await users.createLink(ctx, { id: params.id ?? '' })
  const text = 'The link signs the user in once, within 15 minutes.'
  return { to: PATH, flash: { text, secret: { name: 'Sign-in link', value: origin + path } } }
}

/** @throws ApiError 400 when owners target themselves, because they could lock everyone out. */
function requireOther({ ctx, params }: PageRequest): string {
  if (params.id === ctx.user.id) throw invalidBody('You cannot do this to yourself. Ask another owner.')
  return params.id ?? ''
}

const findOther = async (request: PageRequest): Promise<User> => {
  const id = requireOther(request)
  const other = (await users.list(request.ctx)).data.find((user) => user.id === id)
  if (!other) throw notFound('user_not_found', 'No user with this ID exists in this shop.')
  return other
}

async function confirmToken(request: PageRequest): Promise<View> {
  const { id, email } = await findOther(request)
  const text: Html = html`<p>${isolated(email)} is signed out everywhere and gets a new access token. The old one, sign-in links, and passkeys stop working.</p>`
  const view = { title: 'Replace the access token?', crumb: { to: PATH, text: 'Team' }, subjectId: id }
  return confirmation(request, { ...view, text, action: `${PATH}/${id}/token`, button: 'Replace the token' })
}

async function replaceToken(request: PageRequest) {
  const { email, token } = await users.replaceToken(request.ctx, { id: requireOther(request) })
  const text = `${email}’s token replaced. Copy the new one now and give it to them; it is shown only once.`
  return { to: PATH, flash: { text, secret: { name: 'Access token', value: token } } }
}

async function confirmRevoke(request: PageRequest): Promise<View> {
  const { id, email } = await findOther(request)
  const text: Html = html`<p>${isolated(email)} is signed out everywhere and cannot sign in again. This cannot be undone.</p>`
  const view = { title: 'Revoke this user?', crumb: { to: PATH, text: 'Team' }, subjectId: id }
  return confirmation(request, { ...view, text, action: `${PATH}/${id}/revoke`, button: 'Revoke user' })
}

async function revoke(request: PageRequest) {
  await users.revoke(request.ctx, { id: requireOther(request) })
  return { to: PATH, flash: { text: 'User revoked and signed out.' } }
}
