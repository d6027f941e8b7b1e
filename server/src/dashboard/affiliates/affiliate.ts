import { ApiError } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { sizeOf } from '../../core/lists.ts'
import { lastMonth } from '../../core/time-zone.ts'
import * as affiliates from '../../domains/affiliates/affiliates.ts'
import * as aliases from '../../domains/affiliates/aliases.ts'
import { figuresOf, NO_FIGURES } from '../../domains/affiliates/figures.ts'
import * as commissions from '../../domains/commissions/commissions.ts'
import * as connections from '../../domains/customers/connections.ts'
import { readBalance } from '../../domains/ledger/balance.ts'
import { commissionColumns } from '../commissions/commission-list.ts'
import { assignCode, codeForm } from '../coupons/coupons.ts'
import { customerSection } from '../customers/customers.ts'
import { copyable, empty, facts } from '../kit/components.ts'
import { buttonForm, confirmation, form, input, limitsOf, select } from '../kit/form.ts'
import { count, counted, day, money, monthText } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { listTable } from '../kit/list-columns.ts'
import { type Cached, figuresNotice, loadingNotice, readForPage, readListForPage } from '../kit/report-cache.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, OWNER_ONLY, rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { programOptions } from '../kit/select-options.ts'
import { badge, nameOf } from '../kit/status.ts'
import { ACTIONS, type Column, numberColumn, pageOf, pager, table, wideColumn } from '../kit/table.ts'
import { linkOf, urlWithQuery } from '../kit/url.ts'
import { approvedText } from '../payouts/payout-summary.ts'
import { accessCard, affiliateAccessRoutes } from './affiliate-access.ts'
import { affiliateEditRoutes } from './affiliate-edit.ts'
import { affiliateCharts, figureSummary } from './affiliate-figures.ts'
import { firstInvite, inviteCard } from './affiliate-invite.ts'

type Affiliate = components['schemas']['Affiliate']

const LIST = '/admin/affiliates'
const RECENT = 10

export const affiliatePageRoutes: Route[] = [
  { path: '/affiliates/:id', roles: ALL_ROLES, audit: 'affiliate.shown', show },
  ...affiliateEditRoutes,
  { path: '/affiliates/:id/status', roles: OWNER_ONLY, act: changeStatus, page: show },
  { path: '/affiliates/:id/code', roles: OWNER_ONLY, act: changeCode, page: show },
  { path: '/affiliates/:id/aliases', roles: OWNER_ONLY, act: addAlias, page: show },
  { path: '/affiliates/:id/aliases/:alias/delete', roles: OWNER_ONLY, act: removeAlias, page: show },
  ...affiliateAccessRoutes(show),
  { path: '/affiliates/:id/archive', roles: OWNER_ONLY, audit: 'affiliate.shown', show: confirmArchive },
  { path: '/affiliates/:id/archive', roles: OWNER_ONLY, act: archive, page: show },
  { path: '/affiliates/:id/unarchive', roles: OWNER_ONLY, act: unarchive, page: show },
  { path: '/affiliates/:id/connections', ...rolesAndAuditOf('createConnection'), act: connect, page: show },
  {
    path: '/affiliates/:id/connections/:connection/delete',
    ...rolesAndAuditOf('deleteConnection'),
    act: disconnect,
    page: show,
  },
]

/** Hides every control that changes an affiliate once they are archived. */
async function show(pageRequest: PageRequest): Promise<View> {
  const affiliate = await affiliates.find(pageRequest.ctx, pageRequest.params.id ?? '')
  const request = { ...pageRequest, isOwner: pageRequest.isOwner && affiliate.deletedAt === null }
  const { ctx, isOwner, zone } = request
  const [total, all] = await Promise.all([
    sizeOf(ctx, { list: 'commissions', scope: affiliate.id }),
    figuresOf(ctx, [affiliate.id]),
  ])
  const figures = all.get(affiliate.id) ?? NO_FIGURES
  const [charts, customers, linked, balances, programs, recent, others] = await Promise.all([
    total + figures.clicks > 0 ? affiliateCharts(request, affiliate, Math.max(total, figures.clicks)) : '',
    customerSection(request, affiliate.id),
    connectionSection(request, affiliate),
    readBalanceKept(request, { id: affiliate.id, total }),
    programOptions(request),
    commissions.list(ctx, { affiliateId: affiliate.id, page: 1, limit: RECENT }),
    aliases.listOf(ctx, affiliate.id),
  ])
  const columns = (await commissionColumns(request, recent.data)).filter(({ label }) => label !== 'Affiliate')
  const program = affiliate.campaignId && programs.find(([id]) => id === affiliate.campaignId)?.[1]
  return {
    title: affiliate.name,
    crumb: { to: LIST, text: 'Affiliates' },
    badges: badge(affiliate.deletedAt === null ? affiliate.status : 'ARCHIVED'),
    subjectId: affiliate.id,
    actions: isOwner
      ? html`<a class="button" href="${LIST}/${affiliate.id}/edit">Edit</a><a class="button" href="${LIST}/${affiliate.id}/payee">Payee details</a>${statusButtons(request, affiliate)}`
      : pageRequest.isOwner
        ? form(request, `${LIST}/${affiliate.id}/unarchive`, html`<button>Restore affiliate</button>`)
        : undefined,
    body: html`${affiliate.deletedAt === null ? '' : archivedNotice(affiliate.deletedAt, zone)}${isOwner ? inviteCard(pageRequest, affiliate) : ''}<section aria-labelledby="all-time"><h2 id="all-time">All time</h2>${figureSummary(figures, ctx.shop.currency)}</section>
<section aria-labelledby="balance"><h2 id="balance">Balance</h2>${balance(request, balances, total)}</section>
${charts}
<div class="columns"><div>
<h2>Latest commissions</h2>
${
  recent.data.length
    ? html`${listTable('Latest commissions', columns, recent.data)}<p><a href="${urlWithQuery('/admin/commissions', { status: 'ALL', affiliate: affiliate.id })}">All ${count(total)} commissions</a> · <a href="${urlWithQuery('/admin/journey', { affiliateId: affiliate.id })}">Visits and orders</a>${pageRequest.isOwner ? statementLink(request, affiliate) : ''}</p>`
    : empty('No commissions yet', 'Orders with their code or link appear here.', 'commissions')
}
${customers}
${linked}
</div><div>
<section class="card" aria-labelledby="share"><h2 id="share">Link and code</h2>
${facts(
  [
    ['Link', copyable('link', 'Link', linkOf(ctx.shop, affiliate.slug))],
    ['Code', copyable('code-value', 'Code', affiliate.discountCode)],
  ],
  'facts stack',
)}
${isOwner ? html`<details${request.form.has('code') ? html` open` : ''}><summary>Change the code</summary>${form(request, `${LIST}/${affiliate.id}/code`, codeForm(request, affiliate.discountCode))}</details>` : ''}
${aliasSection(request, affiliate, others)}</section>
${isOwner ? accessCard(request, affiliate) : ''}
<section class="card" aria-labelledby="about"><h2 id="about">About</h2>
${facts(
  [
    ['Email', html`<a href="mailto:${encodeURIComponent(affiliate.email)}">${isolated(affiliate.email)}</a>`],
    ['Program', program ? html`<a href="/admin/programs/${affiliate.campaignId}">${isolated(program)}</a>` : 'none'],
    ['Phone', affiliate.phone ?? undefined],
    ['Website', affiliate.website ? isolated(affiliate.website) : undefined],
    ['Instagram', affiliate.instagramHandle ? isolated(affiliate.instagramHandle) : undefined],
    ['TikTok', affiliate.tiktokHandle ? isolated(affiliate.tiktokHandle) : undefined],
    ['YouTube', affiliate.youtubeHandle ? isolated(affiliate.youtubeHandle) : undefined],
    ['Address', addressOf(affiliate)],
    ['Joined', day(affiliate.createdAt, zone)],
    ['ID', html`<code>${affiliate.id}</code>`],
  ],
  'facts one',
)}
${isOwner ? html`<p class="row"><a class="button small danger" href="${LIST}/${affiliate.id}/archive">Archive</a></p>` : ''}</section>
</div></div>`,
  }
}

const archivedNotice = (at: string, zone: string): Html =>
  html`<p class="notice wait">Archived on ${day(at, zone)}. New orders earn no commission, and unpaid commissions are held back, except those in an open payout. Their code and link stay reserved.</p>`

const addressOf = ({ homeAddress, homePostalCode, homeCity, homeState, homeCountry }: Affiliate): Html | undefined => {
  const text = [homeAddress, [homePostalCode, homeCity].filter(Boolean).join(' '), homeState, homeCountry]
    .filter(Boolean)
    .join(', ')
  return text ? isolated(text) : undefined
}

type Balances = Awaited<ReturnType<typeof readBalance>>

const readBalanceKept = (
  { ctx }: PageRequest,
  { id, total }: { id: string; total: number },
): Promise<Cached<Balances>> =>
  readForPage(ctx, { key: ['balance', id], cost: total, read: (readCtx) => readBalance(readCtx, id) })

function balance({ ctx, zone }: PageRequest, { value, readAt }: Cached<Balances>, total: number): Html {
  if (!value) return loadingNotice(`Calculating the balance of ${counted(total, 'commission')}…`)
  // The shop's currency first.
  const balances = value.balances.toSorted(
    (a, b) => Number(b.currency === ctx.shop.currency) - Number(a.currency === ctx.shop.currency),
  )
  const asOf = figuresNotice(readAt, zone)
  const [only, ...others] = balances
  if (others.length === 0)
    return html`${facts([...(only ? sums(only) : [['Unpaid', money(0, ctx.shop.currency)] as const]), ['Commissions', count(total)]], 'stats')}${asOf}`
  return html`${table(
    'Balance by currency',
    ['Currency', ...sums(balances[0]!).map(([name]) => numberColumn(name))],
    balances.map((balance) => [balance.currency, ...sums(balance).map(([, text]) => text)]),
  )}${asOf}`
}

const sums = ({ currency, ...cents }: Balances['balances'][number]): (readonly [name: string, text: string])[] => [
  ['Awaiting approval', money(cents.pendingCents, currency)],
  ['Approved, not in a payout', approvedText({ currency, ...cents })],
  ['In a payout', money(cents.batchedCents, currency)],
  ['Tax withheld', money(cents.taxWithheldCents, currency)],
]

const statusButtons = (request: PageRequest, { id, status }: Affiliate): Html => {
  const approve = status === 'PENDING' || status === 'REJECTED'
  const reject = status !== 'REJECTED'
  return form(
    request,
    `${LIST}/${id}/status`,
    html`${approve ? html`<button class="main" name="status" value="APPROVED">Approve</button>` : ''}${reject ? html` <button name="status" value="REJECTED">Reject</button>` : ''}`,
    'actions',
  )
}

async function changeStatus(request: PageRequest) {
  const { ctx, params, form } = request
  const input = { status: form.get('status') ?? '' }
  const body = validateBody('updateAffiliate', input)
  const changed = await affiliates.update(ctx, params.id ?? '', body).catch(async (error) => {
    // A double click: the first request already changed it.
    const now =
      error instanceof ApiError && error.code === 'concurrent_change'
        ? await affiliates.find(ctx, params.id ?? '')
        : undefined
    if (!now || now.deletedAt !== null || now.status !== body.status) throw error
    return now
  })
  const { id, name, status } = changed
  const invite = await firstInvite(request, changed)
  return { to: `${LIST}/${id}`, flash: { text: `${nameOf(status)} ${name}.`, ...(invite && { invite }) } }
}

async function changeCode(request: PageRequest) {
  const id = request.params.id ?? ''
  const { code } = await assignCode(request, id)
  return { to: `${LIST}/${id}`, flash: { text: `The code is now ${code}. The old code is available again.` } }
}

const ALIAS_KINDS = [
  ['CODE', 'Code'],
  ['LINK', 'Link name'],
] as const

type Alias = components['schemas']['Alias']

/** Additional codes and link names, such as from an earlier system. */
function aliasSection(request: PageRequest, { id }: Affiliate, others: Alias[]): Html {
  const { ctx, isOwner, form: submitted } = request
  const remove = ({ id: alias, value }: Alias) =>
    buttonForm(request, `${LIST}/${id}/aliases/${alias}/delete`, 'Remove', value)
  // The link above already shows the shop's address.
  const known = others.length
    ? html`<h3>Also credited</h3><ul class="items">${others.map((alias) => html`<li><span>${alias.kind === 'CODE' ? 'Code' : 'Link'} <code title="${alias.kind === 'CODE' ? alias.value : linkOf(ctx.shop, alias.value)}">${isolated(alias.kind === 'CODE' ? alias.value : `?ref=${alias.value}`)}</code></span>${isOwner ? remove(alias) : ''}</li>`)}</ul>`
    : html``
  if (!isOwner) return known
  return html`${known}
<details${submitted.has('alias') ? html` open` : ''}><summary>Add a code or link from another system</summary>${form(
    request,
    `${LIST}/${id}/aliases`,
    html`${select('aliasKind', 'Kind', ALIAS_KINDS, submitted.get('aliasKind') ?? 'CODE')}
${input(request, { name: 'alias', label: 'Value', required: true, ...limitsOf('createAlias', 'value'), hint: 'For example SARAH10, or sarah for ?ref=sarah. Up to 100 characters, no spaces; 0 and o are allowed.' })}
<button class="main">Add</button>`,
  )}</details>`
}

async function addAlias({ ctx, params, form }: PageRequest) {
  const affiliateId = params.id ?? ''
  const body = { affiliateId, kind: form.get('aliasKind'), value: form.get('alias')?.trim() ?? '' }
  const { value } = await aliases.create(ctx, validateBody('createAlias', body))
  return { to: `${LIST}/${affiliateId}`, flash: { text: `Orders with ${value} are now credited to this affiliate.` } }
}

async function removeAlias({ ctx, params }: PageRequest) {
  await aliases.remove(ctx, params.alias ?? '')
  return { to: `${LIST}/${params.id}`, flash: { text: 'Alias removed.' } }
}

const KINDS = [
  ['customerEmail', 'Customer by email'],
  ['customerId', 'Customer by ID'],
  ['product', 'Product'],
  ['variant', 'Variant'],
] as const

const CONNECTION_COLUMNS: Column[] = ['Kind', wideColumn('Value'), 'Since', ACTIONS]

async function connectionSection(request: PageRequest, { id, deletedAt }: Affiliate): Promise<Html> {
  const { isOwner, query, zone } = request
  const listQuery = { affiliateId: id, isOfProducts: true, ...pageOf(query, 'connections') }
  const { list: connectionList, notice } = await readListForPage(request, connections.list, listQuery)
  const data = connectionList?.data ?? []
  const rows = data.map((connection) => [
    KINDS.find(([kind]) => kind === connection.kind)?.[1] ?? connection.kind,
    connection.value === null ? '' : isolated(connection.value),
    day(connection.createdAt, zone),
    isOwner
      ? buttonForm(
          request,
          `${LIST}/${id}/connections/${connection.id}/delete`,
          'Remove',
          connection.value ?? connection.id,
        )
      : '',
  ])
  const submitted = request.form
  return html`<h2>Connections</h2>
${deletedAt === null ? html`<p class="hint">Orders for these products are credited to the affiliate, even without a code or link.</p>` : ''}
${rows.length ? table('Connections', CONNECTION_COLUMNS, rows) : connectionList && html`<p>None.</p>`}
${notice}${connectionList && pager(`${LIST}/${id}`, query, connectionList.pagination, 'connections')}
${
  isOwner
    ? html`<details${submitted.has('kind') ? html` open` : ''}><summary>Add a connection</summary><section class="card">${form(
        request,
        `${LIST}/${id}/connections`,
        html`<div class="fields">${select('kind', 'Kind', KINDS, submitted.get('kind') ?? 'customerEmail')}
${input(request, { name: 'value', label: 'Value', required: true, ...limitsOf('createConnection', 'value'), hint: 'An email address, or the numeric ID of the customer, product, or variant in your store.' })}</div>
<button class="main">Connect</button>`,
      )}</section></details>`
    : ''
}`
}

async function connect({ ctx, params, form }: PageRequest) {
  const affiliateId = params.id ?? ''
  const body = { kind: form.get('kind'), value: form.get('value') ?? '', affiliateId }
  await connections.create(ctx, validateBody('createConnection', body))
  return { to: `${LIST}/${affiliateId}`, flash: { text: 'Connection added.' } }
}

async function disconnect({ ctx, params }: PageRequest) {
  await connections.remove(ctx, params.connection ?? '')
  return { to: `${LIST}/${params.id}`, flash: { text: 'Connection removed.' } }
}

async function confirmArchive(request: PageRequest): Promise<View> {
  const { ctx } = request
  const { id, name } = await affiliates.findUnarchived(ctx, request.params.id ?? '')
  const total = await sizeOf(ctx, { list: 'commissions', scope: id })
  const { value } = await readBalanceKept(request, { id, total })
  const text = html`<p>${isolated(name)} will no longer be listed and will earn nothing on new orders. Their code and link stay reserved, and existing commissions are kept.</p>
${value ? heldBackText(value) : loadingNotice(`Calculating the balance of ${counted(total, 'commission')}…`)}<p>Their links and tokens stop working permanently. You can restore the affiliate.</p>`
  return confirmation(request, {
    title: 'Archive this affiliate?',
    crumb: { to: `${LIST}/${id}`, text: name },
    subjectId: id,
    text,
    action: `${LIST}/${id}/archive`,
    button: 'Archive affiliate',
  })
}

/** How archiving affects an affiliate's balance. */
function heldBackText({ balances }: Balances): Html {
  const sumOf = (cents: (balance: Balances['balances'][number]) => number) =>
    balances
      .filter((balance) => cents(balance) !== 0)
      .map((balance) => money(cents(balance), balance.currency))
      .join(', ')
  const unbatched = sumOf((balance) => balance.pendingCents + balance.approvedCents)
  const batched = sumOf((balance) => balance.batchedCents)
  return html`<p>${unbatched ? html`Unpaid commissions are held back: <strong>${unbatched}</strong> before tax. They will not be paid while the affiliate is archived.` : 'No commissions are awaiting approval or payout.'}${batched ? html` Those in a payout are still paid: <strong>${batched}</strong> before tax.` : ''}</p>`
}

async function archive({ ctx, params }: PageRequest) {
  await affiliates.archive(ctx, params.id ?? '')
  return { to: LIST, flash: { text: 'Affiliate archived.' } }
}

async function unarchive({ ctx, params }: PageRequest) {
  const { id } = await affiliates.unarchive(ctx, params.id ?? '')
  return { to: `${LIST}/${id}`, flash: { text: 'Affiliate restored.' } }
}

/** A link to last month's statement, for printing. */
function statementLink({ ctx, zone }: PageRequest, { id }: Affiliate): Html {
  const month = lastMonth(nowIso(ctx), zone)
  const path = `/admin/v1/affiliates/${id}/statement/file`
  return html` · <a href="${urlWithQuery(path, { month, format: 'html' })}" target="_blank">${monthText(month)} statement<span class="visually-hidden"> (opens a new tab)</span></a>`
}
