import type { components } from '../contract/schema.d.ts'
import { type AffiliateFigures, programFiguresOf } from '../domains/affiliates/figures.ts'
import * as programs from '../domains/programs/programs.ts'
import { ORDER_FIGURE_COLUMNS, orderFigureCells } from './affiliate-figures.ts'
import { empty } from './components.ts'
import { createOnce, form, newIdField } from './form.ts'
import { count, rateText } from './format.ts'
import { html, isolated } from './html.ts'
import { programFields, sentProgram } from './program-form.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES, OWNER_ONLY, validateBody } from './route.ts'
import { badge } from './status.ts'
import { type Cell, type Column, inCard, nameColumn, numberColumn, pageOf, pager, table } from './table.ts'

type Program = components['schemas']['Program']

const PATH = '/admin/programs'
const COLUMNS: Column[] = [
  nameColumn('Program'),
  inCard('lead', 'Status'),
  inCard('bare', 'Rate'),
  inCard('inline', 'Click window'),
  inCard('inline', numberColumn('Affiliates')),
  inCard('inline', 'Approval'),
  ...ORDER_FIGURE_COLUMNS,
]

export const programRoutes: Route[] = [
  { path: '/programs', roles: ALL_ROLES, audit: 'programs.listed', show: list },
  { path: '/programs/new', roles: OWNER_ONLY, show: creation },
  { path: '/programs/new', roles: OWNER_ONLY, act: create, page: creation },
]

async function list(request: PageRequest): Promise<View> {
  const { ctx, isOwner, query } = request
  const { data, pagination } = await programs.list(ctx, pageOf(query))
  const earned = await programFiguresOf(
    ctx,
    data.map(({ id }) => id),
  )
  const rows = data.map((one) => row(one, ctx.shop.currency, earned.get(one.id)))
  const none = empty(
    'No programs yet',
    isOwner ? html`<a class="button main" href="${PATH}/new">Create the first program</a>` : 'An owner can create one.',
    'programs',
  )
  return {
    title: 'Programs',
    lead: 'A program defines what its affiliates earn, and for which orders.',
    actions: isOwner ? html`<a class="button main" href="${PATH}/new">New program</a>` : undefined,
    body: html`${rows.length ? table('Programs', COLUMNS, rows, 'figures') : none}${pager(PATH, query, pagination)}`,
  }
}

const row = (one: Program, currency: string, earned: AffiliateFigures | undefined): Cell[] => [
  html`<a href="${PATH}/${one.id}">${isolated(one.name)}</a>${one.isDefault ? html`<small>Default for new affiliates</small>` : ''}`,
  badge(one.status),
  rateText(one.commissionType, one.defaultCommissionBps, currency),
  one.cookieDurationDays === 0 ? 'no link evidence' : `${count(one.cookieDurationDays)} days`,
  html`<a href="/admin/affiliates?campaignId=${one.id}">${count(one.affiliateCount)}</a>`,
  one.autoApproveOrder ? 'automatic' : 'manual',
  ...orderFigureCells(earned, currency),
]

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
    ...sent
  } = sentProgram(request.form)
  const body = validateBody('createProgram', sent)
  const once = { prefix: 'prg', made: 'This program was created when the form was sent the first time.' } as const
  const { id, name } = await createOnce(request, once, (ctx) => programs.create(ctx, body))
  return { to: `${PATH}/${id}`, flash: { text: `Program “${name}” created.` } }
}
