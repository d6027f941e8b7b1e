import { ApiError, invalidBody, notFound } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { minorUnitDigits } from '../core/currencies.ts'
import * as commissions from '../domains/commissions/commissions.ts'
import { findMoved, moderate, moderateMany } from '../domains/commissions/moderation.ts'
import { findByOrderName, orderNameOf, search } from '../domains/commissions/search.ts'
import { approveAllLink } from './commission-bulk.ts'
import {
  COMMISSION_FILTERS,
  type CommissionFilter,
  commissionFilterForm,
  isByAmount,
  isNarrowed,
  readFilter,
  statusTabs,
} from './commission-filter.ts'
import { COMMISSION_COLUMNS, type CommissionNames, commissionCells, namesOf } from './commission-table.ts'
import { empty } from './components.ts'
import { fileLink } from './csv-download.ts'
import { form, formOfButtons, hidden } from './form.ts'
import { counted, money, time } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import { loadingNotice, readListForPage } from './report-cache.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES, rolesAndAuditOf, validateBody } from './route.ts'
import { ACTIONS, type Cell, CHOICE, nextPage, PAGE_SIZE, pageOf, pager, sizeOf, table } from './table.ts'
import { urlWithQuery } from './url.ts'

type Commission = components['schemas']['Commission']

const PATH = '/admin/commissions'
const MOVES = { approve: 'approved', reject: 'rejected', reopen: 'reopened' } as const
type Move = keyof typeof MOVES

/** The buttons of rows are not part of the form of the selection: Enter on a checkbox presses the first button of its form. */
const ROW_FORM = 'row'

export const commissionRoutes: Route[] = [
  { path: '/commissions', roles: ALL_ROLES, audit: 'commissions.listed', show: list, filters: COMMISSION_FILTERS },
  { path: '/commissions/moderate', ...rolesAndAuditOf('moderateCommissions'), act: moderateSelected, page: list },
  { path: '/commissions/:id/:move', ...rolesAndAuditOf('approveCommission'), act: moderateOne, page: list },
]

async function list(request: PageRequest): Promise<View> {
  const { isOwner, query, form: sent } = request
  const filter = await readFilter(request, sent.size ? sent : query)
  const [{ data, rest, isOpen }, tabs, filters] = await Promise.all([
    request.problem ? NOTHING : read(request, filter),
    statusTabs(request, filter),
    commissionFilterForm(request, filter),
  ])
  const names = await namesOf(request, data)
  const isMany = isOwner && filter.status === 'PENDING'
  const rows = data.map((one) => row(request, one, names, isMany))
  const columns = isMany ? [CHOICE, ...COMMISSION_COLUMNS] : COMMISSION_COLUMNS
  const content = rows.length
    ? table('Commissions', isOwner ? [...columns, ACTIONS] : columns, rows)
    : isOpen
      ? ''
      : emptyState(filter)
  const kept = Object.entries({
    ...filter.given,
    status: filter.tab,
    page: query.get('page') ?? '',
    size: query.get('size') ?? '',
  }).map(([name, text]) => hidden(name, text))
  return {
    title: 'Commissions',
    actions: rows.length
      ? html`${fileLink(`${PATH}.csv`, new URLSearchParams({ ...filter.given, status: filter.tab }))}${isMany ? approveAllLink(filter) : ''}`
      : undefined,
    body: html`${tabs}${filters}
${isOwner ? formOfButtons(request, ROW_FORM, kept) : ''}
${isMany && rows.length ? form(request, `${PATH}/moderate`, html`${kept}${content}${bulk()}`) : content}${rest}`,
  }
}

interface Found {
  data: Commission[]
  /** Links to the other pages of the list. */
  rest: Html
  /** The rows are still being read, or not at all. */
  isOpen?: boolean
}

/** A rejected filter matches nothing. */
const NOTHING: Found = { data: [], rest: html``, isOpen: true }

const searching = (text: string): Found => ({ data: [], rest: loadingNotice(text), isOpen: true })

/** A page of the list. */
async function read(request: PageRequest, filter: CommissionFilter): Promise<Found> {
  const { ctx, query } = request
  if (filter.isSearching) return searching('Searching for the affiliate…')
  if (filter.order) return { data: await findOfOrder(ctx, filter), rest: html`` }
  if (isByAmount(filter)) {
    const after = query.get('after') ?? undefined
    const size = sizeOf(query)
    const asked = { ...listFilter(filter), ...amountsOf(filter), after, limit: size }
    const { list: found, notice } = await readListForPage(
      request,
      search,
      asked,
      'The commissions that match are being searched.',
    )
    if (!found) return { data: [], rest: notice, isOpen: true }
    const { data, next } = found
    const hint =
      next && data.length < size
        ? html`<p class="hint">Results go back to ${time(next.at, '–', request.zone)}. Continue on the next page.</p>`
        : ''
    return { data, rest: html`${hint}${nextPage(PATH, query, next?.after, true)}${notice}` }
  }
  const asked = { ...pageOf(query), ...listFilter(filter) }
  const { list: found, notice } = await readListForPage(request, commissions.list, asked)
  if (!found) return { data: [], rest: notice, isOpen: true }
  return { data: found.data, rest: html`${notice}${pager(PATH, query, found.pagination)}` }
}

/** The conditions that the list of the API has, too. */
export const listFilter = ({ status, affiliateId, programId, from, to }: CommissionFilter) => ({
  ...(status && { status }),
  ...(affiliateId && { affiliateId }),
  ...(programId && { programId }),
  ...(from && { from }),
  ...(to && { to }),
})

export const amountsOf = ({ currency, minAmountCents, maxAmountCents }: CommissionFilter) => ({
  currency,
  minAmountCents,
  maxAmountCents,
})

/** The commissions of an order that is searched by its id or its own name. */
export async function findOfOrder(ctx: PageRequest['ctx'], filter: CommissionFilter): Promise<Commission[]> {
  const { order = '' } = filter
  const { from: _from, to: _to, ...shared } = listFilter(filter)
  const { data } = await commissions.list(ctx, { ...shared, externalOrderId: order, page: 1, limit: PAGE_SIZE })
  const named = (await findByOrderName(ctx, order)).filter(({ id }) => data.every((one) => one.id !== id))
  return [...data, ...named].filter((one) => matchesAll(one, filter))
}

function matchesAll(one: Commission, filter: CommissionFilter): boolean {
  const { status, affiliateId, programId, from, to, currency } = filter
  const { minAmountCents: min = one.commissionAmountCents, maxAmountCents: max = one.commissionAmountCents } = filter
  return (
    (!status || one.orderStatus === status) &&
    (!affiliateId || one.affiliateId === affiliateId) &&
    (!programId || one.programId === programId) &&
    (!from || one.happenedAt >= from) &&
    (!to || one.happenedAt <= to) &&
    (!currency || one.currency === currency) &&
    one.commissionAmountCents >= min &&
    one.commissionAmountCents <= max
  )
}

const bulk =
  (): Html => html`<div class="sticky"><label class="box all"><input type="checkbox" data-all="ids" hidden> <span>All on this page</span></label>
<button name="move" value="approve" class="main">Approve selected</button> <button name="move" value="reject">Reject selected</button> <span class="hint" data-selected="ids" aria-live="polite"></span></div>`

function emptyState(filter: CommissionFilter): Html {
  if (isNarrowed(filter)) return empty('Nothing matches these filters', 'Change or clear them.', 'search')
  return filter.status === 'PENDING'
    ? empty(
        'No commissions await approval',
        'Orders of programs without automatic approval appear here.',
        'commissions',
      )
    : empty(
        'No commissions',
        html`Report an order to see its commission. The <a href="/api/v1/docs">quick start</a> shows how.`,
        'commissions',
      )
}

function row({ isOwner, zone }: PageRequest, one: Commission, names: CommissionNames, isMany: boolean): Cell[] {
  const order = orderNameOf(one)
  const isAdjustment = one.trackingMethod === 'ADJUSTMENT'
  const choice = html`<input type="checkbox" name="ids" value="${one.id}" data-cents="${one.commissionAmountCents}" data-currency="${one.currency}" data-digits="${minorUnitDigits(one.currency)}" aria-label="Select order ${order}">`
  return [
    ...(isMany ? [isAdjustment ? '' : choice] : []),
    ...commissionCells(one, names, zone),
    ...(isOwner ? [isAdjustment ? '' : movesOf(one).map((move) => button(one, move, order))] : []),
  ]
}

const movesOf = ({ orderStatus }: Commission): Move[] => {
  if (orderStatus === 'PENDING') return ['approve', 'reject']
  return orderStatus === 'REJECTED' ? ['reopen'] : []
}

const button = ({ id }: Commission, move: Move, order: string): Html =>
  html`<button class="small" form="${ROW_FORM}" formaction="${PATH}/${id}/${move}">${move[0]?.toUpperCase()}${move.slice(1)}<span class="visually-hidden"> order ${isolated(order)}</span></button> `

/** The same page of the list. */
async function back(request: PageRequest): Promise<string> {
  const { given, tab } = await readFilter(request, request.form)
  return urlWithQuery(PATH, {
    ...given,
    status: tab,
    page: request.form.get('page') ?? undefined,
    size: request.form.get('size') ?? undefined,
  })
}

async function moderateOne(request: PageRequest) {
  const { id = '', move = '' } = request.params
  if (!Object.hasOwn(MOVES, move)) throw notFound('path_unknown', 'No such page.')
  const row = await moderate(request.ctx, move as Move, id).catch(async (error) => {
    // Pressed twice: the first request has done it.
    const [moved] = isConflict(error) ? await findMoved(request.ctx, move as Move, [id]) : []
    if (!moved) throw error
    return moved
  })
  const text = `Order ${orderNameOf(row)} ${MOVES[move as Move]}: ${money(row.commissionAmountCents, row.currency)}.`
  return { to: await back(request), flash: { text } }
}

const isConflict = (error: unknown) => error instanceof ApiError && error.status === 409

async function moderateSelected(request: PageRequest) {
  const { ctx, form } = request
  const ids = form.getAll('ids')
  const move = form.get('move') === 'reject' ? 'reject' : 'approve'
  if (ids.length === 0) throw invalidBody('Select at least one commission.')
  const result = await moderateMany(ctx, validateBody('moderateCommissions', { action: move, ids }))
  const skipped = result.skipped.map(({ id }) => id)
  const done = skipped.length ? await findMoved(ctx, move, skipped) : []
  const changed = result.changed + done.length
  const others = skipped.length - done.length
  const left = others ? ` ${others} skipped, because another request changed them.` : ''
  const text = `${counted(changed, 'commission')} ${MOVES[move]}.${left}`
  return { to: await back(request), flash: { text } }
}
