import { ApiError, invalidBody, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { minorUnitDigits } from '../../core/currencies.ts'
import { findMoved, moderate, moderateMany } from '../../domains/commissions/moderation.ts'
import { orderNameOf } from '../../domains/commissions/search.ts'
import { form, formOfButtons } from '../kit/form.ts'
import { counted, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { addressOf, bulkButtons, downloadList, type ListFilter, pageFields, showList } from '../kit/list-page.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { ACTIONS, type Cell, CHOICE } from '../kit/table.ts'
import { approveAllLink } from './commission-bulk.ts'
import { commissionColumns, commissionList, isAdjustment } from './commission-list.ts'

type Commission = components['schemas']['Commission']

const PATH = '/admin/commissions'
const MOVES = { approve: 'approved', reject: 'rejected', reopen: 'reopened' } as const
type Move = keyof typeof MOVES

/** A separate form for the rows' buttons: Enter on a checkbox presses the first button in its form. */
const ROW_FORM = 'row'

export const commissionRoutes: Route[] = [
  { path: '/commissions', roles: ALL_ROLES, audit: 'commissions.listed', show, hasFilter: true },
  {
    path: '/commissions.csv',
    roles: ALL_ROLES,
    audit: 'commissions.exported',
    show: async (request) => downloadList(request, await commissionList(request)),
  },
  { path: '/commissions/moderate', ...rolesAndAuditOf('moderateCommissions'), act: moderateSelected, page: show },
  { path: '/commissions/:id/:move', ...rolesAndAuditOf('approveCommission'), act: moderateOne, page: show },
]

/** The list with an owner's actions. */
async function show(request: PageRequest): Promise<View> {
  const list = await commissionList(request)
  if (!request.isOwner) return showList(request, list)
  const isMany = ({ status }: ListFilter) => status === 'PENDING'
  return showList(request, {
    ...list,
    columns: async (filter, rows) => [
      ...(isMany(filter) ? [{ ...CHOICE, cell: choice }] : []),
      ...(await commissionColumns(request, rows)),
      { ...ACTIONS, cell: buttons },
    ],
    actions: (filter, { rows }) => (rows?.length && isMany(filter) ? approveAllLink(filter) : undefined),
    around: (filter, content) => {
      const fields = pageFields(request, filter)
      const selection = () =>
        form(request, `${PATH}/moderate`, html`${fields}${content}${bulkButtons(['approve', 'reject'])}`)
      return html`${formOfButtons(request, ROW_FORM, html`${fields}`)}
${isMany(filter) ? selection() : content}`
    },
  })
}

const choice = (commission: Commission): Cell =>
  isAdjustment(commission)
    ? ''
    : html`<input type="checkbox" name="ids" value="${commission.id}" data-cents="${commission.commissionAmountCents}" data-currency="${commission.currency}" data-digits="${minorUnitDigits(commission.currency)}" aria-label="Select order ${orderNameOf(commission)}">`

const buttons = (commission: Commission): Cell =>
  isAdjustment(commission) ? '' : movesOf(commission).map((move) => button(commission, move, orderNameOf(commission)))

const movesOf = ({ orderStatus }: Commission): Move[] => {
  if (orderStatus === 'PENDING') return ['approve', 'reject']
  return orderStatus === 'REJECTED' ? ['reopen'] : []
}

const button = ({ id }: Commission, move: Move, order: string): Html =>
  html`<button class="small" form="${ROW_FORM}" formaction="${PATH}/${id}/${move}">${move[0]?.toUpperCase()}${move.slice(1)}<span class="visually-hidden"> order ${isolated(order)}</span></button> `

/** The same page of the list. */
const back = async (request: PageRequest): Promise<string> => addressOf(request, await commissionList(request))

async function moderateOne(request: PageRequest) {
  const { id = '', move = '' } = request.params
  if (!Object.hasOwn(MOVES, move)) throw notFound('path_unknown', 'No such page.')
  const row = await moderate(request.ctx, move as Move, id).catch(async (error) => {
    // A double click: the first request already changed it.
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
