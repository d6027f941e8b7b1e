import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { localDate, monthsBetween } from '../../core/time-zone.ts'
import { affiliateNames } from '../../domains/affiliates/affiliates.ts'
import * as customers from '../../domains/customers/customers.ts'
import { readOrders } from '../../domains/orders/reported.ts'
import { affiliateLink } from '../commissions/commission-list.ts'
import { empty, facts } from '../kit/components.ts'
import { timeCell, wholeList } from '../kit/csv-download.ts'
import { confirmation } from '../kit/form.ts'
import { count, day, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { countColumn, type ListColumn, listTable, timeColumn } from '../kit/list-columns.ts'
import { affiliateField, rare, selectField, textField } from '../kit/list-filter.ts'
import {
  downloadList,
  isNarrowed,
  type ListFilter,
  type ListPage,
  NO_MATCH,
  numberedRows,
  showList,
} from '../kit/list-page.ts'
import { readListForPage } from '../kit/report-cache.ts'
import { ALL_ROLES, OWNER_ONLY, type PageRequest, type Route, type View } from '../kit/route.ts'
import { programOptions } from '../kit/select-options.ts'
import { badge, nameOf } from '../kit/status.ts'
import { pageOf, pager } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { orderColumns } from '../orders/order-list.ts'

type Customer = components['schemas']['Customer']

const PATH = '/admin/customers'

export const customerRoutes: Route[] = [
  {
    path: '/customers',
    roles: ALL_ROLES,
    audit: 'customers.listed',
    show: async (request) => showList(request, await customerPage(request)),
    hasFilter: true,
  },
  {
    path: '/customers.csv',
    roles: ALL_ROLES,
    audit: 'customers.exported',
    show: async (request) => downloadList(request, await customerPage(request)),
  },
  { path: '/customers/:id', roles: ALL_ROLES, audit: 'customer.shown', show },
  { path: '/customers/:id/unbind', roles: OWNER_ONLY, audit: 'customer.shown', show: confirmUnbinding },
  { path: '/customers/:id/unbind', roles: OWNER_ONLY, act: unbind, page: show },
]

async function customerPage(request: PageRequest): Promise<ListPage<Customer>> {
  const { ctx } = request
  const programs = await programOptions(request)
  return {
    path: PATH,
    title: 'Customers',
    lead: 'Who referred whom. A bound customer’s later orders are credited to the affiliate, even without a code or link.',
    filters: [
      textField(request, { name: 'customerId', label: 'Customer ID', maxlength: 255, chip: 'Customer' }),
      affiliateField(request),
      selectField(request, { name: 'programId', label: 'Program', options: programs, isOpen: true }),
      rare(textField(request, { name: 'customerEmail', label: 'Email', maxlength: 320, chip: 'Email' })),
    ],
    columns: (_filter, rows) => customerColumns(request, rows, programs),
    read: (filter) => numberedRows(request, { path: PATH, list: customers.list, query: queryOf(filter) }),
    readFile: (filter) => (after) =>
      wholeList(ctx, customers.list, { ...queryOf(filter), after }, ({ id }) => id ?? ''),
    none: (filter) =>
      isNarrowed(filter)
        ? NO_MATCH
        : empty(
            'No customers yet',
            html`They appear with their first order, or when they sign up. The <a href="/api/v1/docs">quick start</a> shows how to report a sign-up.`,
            'customers',
          ),
  }
}

const queryOf = ({ affiliateId, values: { programId, customerId, customerEmail } }: ListFilter) => ({
  ...(affiliateId && { affiliateId }),
  ...(programId && { programId }),
  ...(customerId && { customerId }),
  ...(customerEmail && { customerEmail }),
})

/** How a customer was bound. */
const BOUND_BY: Record<NonNullable<Customer['boundBy']>, string> = {
  SIGNUP: 'Sign-up',
  ORDER: 'First order',
  OWNER: 'Connected by an owner',
  IMPORT: 'Import',
}

const nameIn = ({ customerId }: Customer): Html | string =>
  customerId === null ? 'Known by email' : isolated(customerId)

/** Email addresses are not stored, so a customer without an ID has no name. */
const customerCell = (customer: Customer): Html => html`<a href="${PATH}/${customer.id ?? ''}">${nameIn(customer)}</a>`

/** Columns of customers, for the page and the CSV file. */
async function customerColumns(
  { ctx, zone }: PageRequest,
  rows: Customer[],
  programs: Awaited<ReturnType<typeof programOptions>>,
): Promise<ListColumn<Customer>[]> {
  const names = await affiliateNames(
    ctx,
    rows.flatMap(({ affiliateId }) => affiliateId ?? []),
  )
  const programNames = new Map(programs)
  const programOf = ({ programId }: Customer) => programId && (programNames.get(programId) ?? programId)
  const now = nowIso(ctx)
  const months: ListColumn<Customer> = {
    label: 'Months left',
    card: 'inline',
    cell: (customer) => monthsLeft(customer, now, zone) ?? '–',
  }
  return [
    { label: 'Customer', cell: customerCell, file: ({ customerId }) => customerId },
    {
      label: 'Affiliate',
      kind: 'name',
      card: 'bare',
      cell: ({ affiliateId }) => (affiliateId === null ? '–' : affiliateLink(affiliateId, names.get(affiliateId))),
      file: ({ affiliateId }) => affiliateId && (names.get(affiliateId) ?? null),
    },
    { label: 'Program', kind: 'name', card: 'bare', cell: (customer) => programOf(customer) ?? '–', file: programOf },
    {
      label: 'Bound',
      card: 'bare',
      cell: ({ boundAt, boundBy }) =>
        boundAt === null || boundBy === null ? '–' : html`${day(boundAt, zone)}<small>${BOUND_BY[boundBy]}</small>`,
      fileLabel: `Bound (${zone})`,
      file: ({ boundAt }) => timeCell(boundAt, zone),
    },
    { label: 'Bound by', file: ({ boundBy }) => boundBy },
    timeColumn({ label: 'First order', card: 'bare', zone, show: day }, ({ firstOrderAt }) => firstOrderAt),
    countColumn({ label: 'Orders', card: 'lead' }, ({ orders }) => orders),
    ...(rows.some((customer) => monthsLeft(customer, now, zone)) ? [months] : []),
    { label: `Commission ends (${zone})`, file: ({ commissionEndsAt }) => timeCell(commissionEndsAt, zone) },
    { label: 'Customer key', file: ({ id }) => id },
    { label: 'Affiliate ID', file: ({ affiliateId }) => affiliateId },
  ]
}

/**
 * `4 of 12 months left`, as the terms count them. Undefined before the first order, and if commission never ends. Terms
 * that pay only for the first order leave none.
 */
function monthsLeft({ firstOrderAt, commissionEndsAt }: Customer, now: string, zone: string): string | undefined {
  if (firstOrderAt === null || commissionEndsAt === null) return undefined
  const total = monthsBetween(firstOrderAt, commissionEndsAt, zone)
  if (total === 0) return 'No months left'
  const past = now < firstOrderAt ? 0 : Math.min(total, monthsBetween(firstOrderAt, now, zone))
  return `${count(total - past)} of ${count(total)} months left`
}

/** An affiliate's newest customers, for the affiliate's page. */
export async function customerSection(request: PageRequest, affiliateId: string): Promise<Html> {
  const { query } = request
  const listQuery = { affiliateId, ...pageOf(query, 'customers') }
  const [programs, { list, notice }] = await Promise.all([
    programOptions(request),
    readListForPage(request, customers.list, listQuery),
  ])
  const rows = list?.data ?? []
  const columns = (await customerColumns(request, rows, programs)).filter(({ label }) => label !== 'Affiliate')
  return html`<h2>Customers</h2>
${rows.length ? listTable('Customers', columns, rows) : list && html`<p>None.</p>`}
${notice}${list && pager(`/admin/affiliates/${affiliateId}`, query, list.pagination, 'customers')}`
}

async function show(request: PageRequest): Promise<View> {
  const { ctx, isOwner, zone, query } = request
  const customer = await customers.find(ctx, request.params.id ?? '')
  const id = customer.id ?? ''
  const [programs, names, { list, notice }] = await Promise.all([
    programOptions(request),
    affiliateNames(ctx, customer.affiliateId ? [customer.affiliateId] : []),
    readListForPage(request, customers.listOrderIds, { id, ...pageOf(query) }),
  ])
  const orders = await readOrders(ctx, list?.data ?? [])
  const evidence: ListColumn<(typeof orders)[number]> = {
    label: 'Evidence',
    card: 'bare',
    cell: ({ evidence }) => (evidence === null ? '–' : nameOf(evidence)),
  }
  const columns = [...(await orderColumns(request, orders)), evidence]
  const program = customer.programId && new Map(programs).get(customer.programId)
  return {
    title: customer.customerId ?? 'Customer known by email',
    crumb: { to: PATH, text: 'Customers' },
    badges: badge(customer.affiliateId === null ? 'NOT_BOUND' : 'BOUND'),
    subjectId: id,
    actions:
      isOwner && customer.affiliateId !== null
        ? html`<a class="button danger" href="${PATH}/${id}/unbind">Unbind</a>`
        : undefined,
    body: html`${facts(
      [
        ['Orders', count(customer.orders)],
        ['First order', customer.firstOrderAt === null ? 'none' : day(customer.firstOrderAt, zone)],
        ['Commission', monthsLeft(customer, nowIso(ctx), zone)],
        [
          'Affiliate',
          customer.affiliateId === null ? 'none' : affiliateLink(customer.affiliateId, names.get(customer.affiliateId)),
        ],
      ],
      'stats',
    )}
<section class="card" aria-labelledby="binding"><h2 id="binding">Binding</h2>
${bindingFacts(request, customer, program || customer.programId)}</section>
<h2>Orders</h2>
${orders.length ? listTable('Orders', columns, orders) : list && empty('No orders with a commission', 'Orders that an affiliate was credited for appear here.', 'orders')}
${notice}${list && pager(`${PATH}/${id}`, query, list.pagination)}`,
  }
}

function bindingFacts({ isOwner, zone }: PageRequest, customer: Customer, program: string | null): Html {
  const { boundAt, boundBy } = customer
  // The audit record names who bound the customer, and the evidence.
  const onDay = boundAt === null ? '' : localDate(boundAt, zone)
  const audit = urlWithQuery('/admin/audit', { action: 'customer.bound', from: onDay })
  return facts([
    ['Bound', boundAt === null ? 'no' : time(boundAt, '–', zone)],
    ['By', boundBy ? BOUND_BY[boundBy] : undefined],
    ['Evidence', isOwner && boundBy === 'SIGNUP' ? html`<a href="${audit}">Audit log</a>` : undefined],
    ['Program', program ? html`<a href="/admin/programs/${customer.programId}">${isolated(program)}</a>` : undefined],
    ['Commission until', customer.commissionEndsAt ? day(customer.commissionEndsAt, zone) : undefined],
    ['Known since', day(customer.createdAt, zone)],
    ['Key', html`<code>${customer.id ?? ''}</code>`],
  ])
}

async function confirmUnbinding(request: PageRequest): Promise<View> {
  const customer = await customers.find(request.ctx, request.params.id ?? '')
  const to = `${PATH}/${customer.id}`
  const name = customer.customerId ?? 'Customer known by email'
  return confirmation(request, {
    title: 'Unbind this customer?',
    crumb: { to, text: name },
    subjectId: customer.id ?? '',
    text: html`<p>Later orders from ${nameIn(customer)} need other evidence. A later sign-up, order, or import can bind the customer again. Recorded commissions are kept.</p>`,
    action: `${to}/unbind`,
    button: 'Unbind customer',
  })
}

async function unbind({ ctx, params }: PageRequest) {
  const { id } = await customers.unbind(ctx, params.id ?? '')
  return { to: `${PATH}/${id}`, flash: { text: 'Customer unbound.' } }
}
