import type { components } from '../../contract/schema.d.ts'
import { type AffiliateFigures, programFiguresOf } from '../../domains/affiliates/figures.ts'
import * as programs from '../../domains/programs/programs.ts'
import { figureColumns } from '../affiliates/affiliate-figures.ts'
import { empty } from '../kit/components.ts'
import { createOnce, form, newIdField } from '../kit/form.ts'
import { count, rateText } from '../kit/format.ts'
import { html, isolated } from '../kit/html.ts'
import type { ListColumn } from '../kit/list-columns.ts'
import { type ListPage, showList } from '../kit/list-page.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, OWNER_ONLY, validateBody } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { pageOf, pager } from '../kit/table.ts'
import { programFields, sentProgram } from './program-form.ts'

type Program = components['schemas']['Program']

const PATH = '/admin/programs'
export const programRoutes: Route[] = [
  {
    path: '/programs',
    roles: ALL_ROLES,
    audit: 'programs.listed',
    show: (request) => showList(request, programPage(request)),
  },
  { path: '/programs/new', roles: OWNER_ONLY, show: creation },
  { path: '/programs/new', roles: OWNER_ONLY, act: create, page: creation },
]

const programPage = (request: PageRequest): ListPage<Program> => ({
  path: PATH,
  title: 'Programs',
  className: 'figures',
  lead: 'A program defines what its affiliates earn, and for which orders.',
  filters: [],
  columns: async (_filter, rows) => {
    const ids = rows.map(({ id }) => id)
    return columns(request.ctx.shop.currency, await programFiguresOf(request.ctx, ids))
  },
  read: async () => {
    const { data, pagination } = await programs.list(request.ctx, pageOf(request.query))
    return { rows: data, rest: pager(PATH, request.query, pagination) }
  },
  none: () =>
    empty(
      'No programs yet',
      request.isOwner
        ? html`<a class="button main" href="${PATH}/new">Create the first program</a>`
        : 'An owner can create one.',
      'programs',
    ),
  actions: () => (request.isOwner ? html`<a class="button main" href="${PATH}/new">New program</a>` : undefined),
})

function columns(currency: string, earned: Map<string, AffiliateFigures>): ListColumn<Program>[] {
  const { orders, revenue, commission } = figureColumns<Program>(currency, ({ id }) => earned.get(id))
  return [
    { label: 'Program', kind: 'name', cell: nameCell },
    { label: 'Status', card: 'lead', cell: ({ status }) => badge(status) },
    {
      label: 'Rate',
      card: 'bare',
      cell: (program) => rateText(program.commissionType, program.defaultCommissionBps, currency),
    },
    { label: 'Click window', card: 'inline', cell: windowCell },
    { label: 'Affiliates', kind: 'number', card: 'inline', cell: affiliatesCell },
    { label: 'Approval', card: 'inline', cell: ({ autoApproveOrder }) => (autoApproveOrder ? 'automatic' : 'manual') },
    orders,
    revenue,
    commission,
  ]
}

const nameCell = ({ id, name, isDefault }: Program) =>
  html`<a href="${PATH}/${id}">${isolated(name)}</a>${isDefault ? html`<small>Default for new affiliates</small>` : ''}`
const windowCell = ({ cookieDurationDays: days }: Program) =>
  days === 0 ? 'links earn nothing' : `${count(days)} days`
const affiliatesCell = ({ id, affiliateCount }: Program) =>
  html`<a href="/admin/affiliates?campaignId=${id}">${count(affiliateCount)}</a>`

async function creation(request: PageRequest): Promise<View> {
  return {
    title: 'New program',
    crumb: { to: PATH, text: 'Programs' },
    body: html`<section class="card narrow">${form(
      request,
      `${PATH}/new`,
      html`${newIdField(request, 'prg')}${programFields(request, undefined)}
<div class="sticky"><button class="main">Create program</button> <a class="button" href="${PATH}">Back</a></div>`,
    )}</section>`,
  }
}

async function create(request: PageRequest) {
  const {
    lifetimeCommission: _,
    discountEnabled: _enabled,
    discountType: _type,
    discountValue: _value,
    ...fields
  } = sentProgram(request.form)
  const body = validateBody('createProgram', fields)
  const once = { prefix: 'prg', made: 'This program was already created when you first sent the form.' } as const
  const { id, name } = await createOnce(request, once, (ctx) => programs.create(ctx, body))
  return { to: `${PATH}/${id}`, flash: { text: `Program “${name}” created.` } }
}
