import { affiliateNames } from '../affiliates/affiliates.ts'
import * as commissions from '../commissions/commissions.ts'
import { moderate, moderateMany } from '../commissions/moderation.ts'
import { invalidBody, notFound } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { form } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES, rolesAndAuditOf, validateBody } from './route.ts'
import { badge, empty, money, time, urlWithQuery } from './show.ts'
import { ACTIONS, type Cell, CHOICE, type Column, nameColumn, numberColumn, pageOf, pager, table } from './table.ts'

type Commission = components['schemas']['Commission']
type Status = Commission['orderStatus']

const PATH = '/admin/commissions'
const TABS = ['PENDING', 'APPROVED', 'PAYABLE', 'PAID', 'REJECTED', 'ALL']
const MOVES = { approve: 'approved', reject: 'rejected', reopen: 'reopened' } as const
type Move = keyof typeof MOVES

export const commissionRoutes: Route[] = [
  { path: '/commissions', roles: ALL_ROLES, audit: 'commissions.listed', show: list },
  { path: '/commissions/moderate', ...rolesAndAuditOf('moderateCommissions'), act: moderateSelected, page: list },
  { path: '/commissions/:id/:move', ...rolesAndAuditOf('approveCommission'), act: moderateOne, page: list },
]

const COLUMNS: Column[] = [
  'Order',
  nameColumn('Affiliate'),
  'Date',
  numberColumn('Goods'),
  numberColumn('Commission'),
  'Status',
  ACTIONS,
]

async function list(request: PageRequest): Promise<View> {
  const { ctx, isOwner, query } = request
  const status = chosen(request)
  const filter = status === 'ALL' ? {} : { status: status as Status }
  const { data, pagination } = await commissions.list(ctx, { ...pageOf(query), ...filter })
  const names = await affiliateNames(
    ctx,
    data.map((one) => one.affiliateId),
  )
  const many = isOwner && status === 'PENDING'
  const rows = data.map((one) => row(one, names.get(one.affiliateId) ?? '', { isOwner, many }))
  const columns = many ? [CHOICE, ...COLUMNS] : COLUMNS
  const content = rows.length ? table('Commissions', columns, rows) : emptyState(status)
  const body = isOwner
    ? form(request, `${PATH}/moderate`, html`${hidden(request, status)}${many && rows.length ? bulk() : ''}${content}`)
    : content
  return {
    title: 'Commissions',
    body: html`${tabs(status)}${body}${pager(PATH, query, pagination)}`,
  }
}

/** The selected tab. Forms send it, so the response returns to the same list. */
function chosen({ query, form }: PageRequest): string {
  const status = form.get('status') ?? query.get('status') ?? 'PENDING'
  return TABS.includes(status) ? status : 'PENDING'
}

const hidden = ({ query }: PageRequest, status: string): Html =>
  html`<input type="hidden" name="status" value="${status}"><input type="hidden" name="page" value="${query.get('page') ?? ''}">`

const tabs = (status: string): Html =>
  html`<nav class="tabs" aria-label="By status"><ul>${TABS.map(
    (one) =>
      html`<li><a href="${urlWithQuery(PATH, { status: one })}"${one === status ? html` aria-current="true"` : ''}>${one === 'PENDING' ? 'Awaiting approval' : one[0] + one.slice(1).toLowerCase()}</a></li>`,
  )}</ul></nav>`

const bulk =
  (): Html => html`<p class="row"><label class="box all"><input type="checkbox" data-all="ids" hidden> <span>All on this page</span></label>
<button name="move" value="approve" class="main">Approve selected</button> <button name="move" value="reject">Reject selected</button></p>`

const emptyState = (status: string): Html =>
  status === 'PENDING'
    ? empty('No commissions await approval', 'Orders of programs without automatic approval appear here.')
    : empty(
        'No commissions',
        html`Report an order to see its commission. The <a href="/api/v1/docs">quick start</a> shows how.`,
      )

function row(one: Commission, name: string, { isOwner, many }: { isOwner: boolean; many: boolean }): Cell[] {
  const order = one.externalOrderId ?? one.orderId
  const isAdjustment = one.trackingMethod === 'ADJUSTMENT'
  const choice = html`<input type="checkbox" name="ids" value="${one.id}" aria-label="Select order ${order}">`
  return [
    ...(many ? [choice] : []),
    isAdjustment
      ? 'Adjustment'
      : html`<a href="${urlWithQuery('/admin/orders', { id: one.orderId })}">${isolated(order)}</a>`,
    name || one.affiliateId,
    time(one.happenedAt),
    money(one.orderSubtotalCents - one.orderDiscountCents, one.orderCurrency),
    money(one.commissionAmountCents, one.currency),
    html`${badge(one.orderStatus)}${one.restrictionReasonCode ? html` <small>${one.restrictionReasonCode}</small>` : ''}`,
    isOwner && !isAdjustment ? movesOf(one).map((move) => button(one, move, order)) : '',
  ]
}

const movesOf = ({ orderStatus }: Commission): Move[] => {
  if (orderStatus === 'PENDING') return ['approve', 'reject']
  return orderStatus === 'REJECTED' ? ['reopen'] : []
}

const button = ({ id }: Commission, move: Move, order: string): Html =>
  html`<button class="small" formaction="${PATH}/${id}/${move}">${move[0]?.toUpperCase()}${move.slice(1)}<span class="visually-hidden"> order ${isolated(order)}</span></button> `

const back = (request: PageRequest) =>
  urlWithQuery(PATH, { status: chosen(request), page: request.form.get('page') ?? undefined })

async function moderateOne(request: PageRequest) {
  const { id = '', move = '' } = request.params
  if (!Object.hasOwn(MOVES, move)) throw notFound('path_unknown', 'No such page.')
  const row = await moderate(request.ctx, move as Move, id)
  const text = `Order ${row.externalOrderId ?? row.orderId} is ${MOVES[move as Move]}: ${money(row.commissionAmountCents, row.currency)}.`
  return { to: back(request), flash: { text } }
}

async function moderateSelected(request: PageRequest) {
  const { ctx, form } = request
  const ids = form.getAll('ids')
  const move = form.get('move') === 'reject' ? 'reject' : 'approve'
  if (ids.length === 0) throw invalidBody('Select at least one commission.')
  const { changed, skipped } = await moderateMany(ctx, validateBody('moderateCommissions', { action: move, ids }))
  const left = skipped.length ? ` ${skipped.length} skipped, because another request changed them.` : ''
  return {
    to: back(request),
    flash: { text: `${changed} ${changed === 1 ? 'commission is' : 'commissions are'} ${MOVES[move]}.${left}` },
  }
}
