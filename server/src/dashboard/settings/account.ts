import * as passkeys from '../../domains/accounts/passkeys.ts'
import * as sessions from '../../domains/accounts/sessions.ts'
import * as users from '../../domains/accounts/users.ts'
import { buttonForm, field, form, hidden, input, passkeyForm } from '../kit/form.ts'
import { counted, day, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { type ListColumn, listTable } from '../kit/list-columns.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from '../kit/route.ts'
import { ACTIONS, pager, slice } from '../kit/table.ts'

const PATH = '/admin/account'
const METHODS: Record<sessions.ListedSession['method'], string> = {
  token: 'Access token',
  link: 'One-time link',
  passkey: 'Passkey',
  oidc: 'Single sign-on',
}

export const accountRoutes: Route[] = [
  { path: '/account', roles: ALL_ROLES, audit: 'sessions.listed', show },
  { path: '/account/sessions/end-others', roles: ALL_ROLES, act: endOthers, page: show },
  { path: '/account/sessions/:id/end', roles: ALL_ROLES, act: end, page: show },
  { path: '/account/passkeys', roles: ALL_ROLES, act: addPasskey, page: show },
  { path: '/account/passkeys/:id/remove', roles: ALL_ROLES, act: removePasskey, page: show },
]

async function show(request: PageRequest): Promise<View> {
  const all = await sessions.list(request.ctx)
  return {
    title: 'Your account',
    lead: 'How you sign in, and where you are signed in.',
    subjectId: request.ctx.user.id,
    body: html`<h2>Passkeys</h2>
<p class="hint">Sign in with a fingerprint, your face, or a security key. Your access token and one-time links keep working.</p>
${await passkeySection(request)}
<h2>Sessions</h2>
<p class="hint">A session ends after 12 hours, or when you end it.</p>
${await sessionList(request, all)}`,
  }
}

async function passkeySection(request: PageRequest): Promise<Html> {
  const { ctx } = request
  const party = passkeys.relyingPartyOf(ctx.config)
  const all = await passkeys.list(ctx)
  return html`${all.length ? listTable('Passkeys', passkeyColumns(request), all) : ''}
${party ? await addForm(request, party) : html`<p class="notice info">Passkeys are not set up on this server. Ask the operator of the server to set its public address.</p>`}`
}

const passkeyColumns = (request: PageRequest): ListColumn<passkeys.ListedPasskey>[] => [
  { label: 'Passkey', kind: 'name', cell: ({ name }) => name },
  { label: 'Added', card: 'inline', cell: ({ createdAt }) => day(createdAt, request.zone) },
  { label: 'Last used', card: 'inline', cell: ({ lastUsedAt }) => time(lastUsedAt, 'Never', request.zone) },
  { ...ACTIONS, cell: ({ id, name }) => buttonForm(request, `${PATH}/passkeys/${id}/remove`, 'Remove', name) },
]

async function addForm(request: PageRequest, party: passkeys.RelyingParty): Promise<Html> {
  const inner = html`${hidden('csrf', request.csrf)}
${input(request, { name: 'name', label: 'Name', placeholder: 'My laptop', maxlength: 60 })}
<button class="main">Add a passkey</button>`
  const options = await passkeys.registrationOptions(request.ctx, party)
  return html`<section class="card narrow" aria-labelledby="add"><h2 id="add">Add a passkey</h2>
<p data-no-passkey>Open <a href="${party.origin}${PATH}">${party.origin}</a> in a browser with passkeys and JavaScript.</p>
${passkeyForm(party, { kind: 'create', action: `${PATH}/passkeys`, options, inner })}</section>`
}

async function addPasskey({ ctx, form }: PageRequest) {
  await passkeys.add(ctx, { name: field(form, 'name') ?? '', response: form.get('response') ?? '' })
  return { to: PATH, flash: { text: 'Passkey added. You can sign in with it now.' } }
}

async function removePasskey({ ctx, params }: PageRequest) {
  await passkeys.remove(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'Passkey removed. Sessions that it created remain until you end them.' } }
}

async function sessionList(request: PageRequest, all: sessions.ListedSession[]): Promise<Html> {
  const names = new Map((await users.list(request.ctx)).data.map(({ id, email }) => [id, email]))
  const { data, pagination } = slice(all, request.query)
  return html`${listTable('Sessions', sessionColumns(request, names), data)}
${pager(PATH, request.query, pagination)}
${all.length > 1 ? form(request, `${PATH}/sessions/end-others`, html`<button>End all other sessions</button>`) : ''}`
}

/** Owners can create sign-in links for others, so users see who created theirs. */
const creatorOf = (actor: string, names: Map<string, string>): string =>
  actor === 'operator' ? 'the server’s operator' : (names.get(actor.replace('user:', '')) ?? actor)

const sessionColumns = (request: PageRequest, names: Map<string, string>): ListColumn<sessions.ListedSession>[] => [
  {
    label: 'Browser',
    kind: 'name',
    cell: ({ browser, isCurrent }) => html`${browser}${isCurrent ? html`<small>This browser</small>` : ''}`,
  },
  { label: 'Network', card: 'bare', cell: ({ network }) => network },
  { label: 'Signed in', card: 'inline', cell: ({ createdAt }) => time(createdAt, '', request.zone) },
  {
    label: 'Method',
    card: 'inline',
    cell: ({ method, linkCreatedBy: by }) =>
      html`${METHODS[method]}${by ? html`<small>created by ${isolated(creatorOf(by, names))}</small>` : ''}`,
  },
  { label: 'Expires', card: 'inline', cell: ({ expiresAt }) => time(expiresAt, '', request.zone) },
  {
    ...ACTIONS,
    cell: ({ id, isCurrent, browser, network }) =>
      isCurrent
        ? ''
        : buttonForm(request, `${PATH}/sessions/${id}/end`, 'End', `the session of ${browser}, ${network}`),
  },
]

async function end({ ctx, params }: PageRequest) {
  await sessions.end(ctx, params.id ?? '')
  return { to: PATH, flash: { text: 'Session ended.' } }
}

async function endOthers({ ctx }: PageRequest) {
  const count = await sessions.endOthers(ctx)
  return { to: PATH, flash: { text: `${counted(count, 'other session')} ended.` } }
}
