import { ApiError, affiliateNotFound, invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { sizesByStatus } from '../../core/lists.ts'
import { type AffiliateFigures, figuresOf } from '../../domains/affiliates/figures.ts'
import * as coupons from '../../domains/coupons/coupons.ts'
import { figureColumns } from '../affiliates/affiliate-figures.ts'
import { empty } from '../kit/components.ts'
import { codeInput, field, form, input } from '../kit/form.ts'
import { discountText } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { ListColumn } from '../kit/list-columns.ts'
import { textField } from '../kit/list-filter.ts'
import { type ListPage, numberedRows, showList } from '../kit/list-page.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, OWNER_ONLY, validateBody } from '../kit/route.ts'
import { findAffiliates, programOptions } from '../kit/select-options.ts'
import { badge, nameOf } from '../kit/status.ts'
import { urlWithQuery } from '../kit/url.ts'

type Coupon = components['schemas']['Coupon']

const PATH = '/admin/coupons'
const STATUSES = ['APPROVED', 'ACTIVE', 'PENDING', 'REJECTED'] as const

export const couponRoutes: Route[] = [
  {
    path: '/coupons',
    roles: ALL_ROLES,
    audit: 'coupons.listed',
    show: async (request) => showList(request, await couponPage(request)),
    hasFilter: true,
  },
  { path: '/coupons/new', roles: OWNER_ONLY, show: assignment },
  { path: '/coupons/new', roles: OWNER_ONLY, act: assign, page: assignment },
]

async function couponPage(request: PageRequest): Promise<ListPage<Coupon>> {
  const { ctx, isOwner } = request
  const programs = new Map(await programOptions(request))
  return {
    path: PATH,
    title: 'Coupons',
    className: 'figures',
    lead: 'Each affiliate’s discount code. An order with a code is credited to its affiliate. Orders and amounts cover everything credited to the affiliate, by code or link.',
    tabs: {
      label: 'By status of the affiliate',
      values: STATUSES,
      text: (status) => (status ? nameOf(status) : 'All'),
      // Each affiliate has one code.
      counts: () => sizesByStatus(ctx, { list: 'affiliates' }),
    },
    filters: [
      textField(request, {
        name: 'code',
        label: 'Search',
        id: 'search',
        placeholder: 'Part of a code',
        maxlength: 100,
        chip: 'Search',
      }),
    ],
    button: 'Search',
    columns: async (_filter, rows) => {
      const ids = rows.map(({ affiliateId }) => affiliateId)
      return columns(ctx.shop.currency, rows, { programs, earned: await figuresOf(ctx, ids) })
    },
    read: ({ values: { code }, status }) => {
      const query = { ...(code && { code }), ...(status && { status: status as Coupon['affiliateStatus'] }) }
      return numberedRows(request, { path: PATH, list: coupons.list, query })
    },
    none: ({ values: { code } }) =>
      code
        ? empty('No codes match', 'Change or clear the search.', 'search')
        : empty('No codes yet', html`Each <a href="/admin/affiliates">affiliate</a> has one.`, 'coupons'),
    actions: () => (isOwner ? html`<a class="button main" href="${PATH}/new">Assign a code</a>` : undefined),
  }
}

function columns(
  currency: string,
  rows: Coupon[],
  { programs, earned }: { programs: Map<string, string>; earned: Map<string, AffiliateFigures> },
): ListColumn<Coupon>[] {
  const { orders, revenue, commission } = figureColumns<Coupon>(currency, ({ affiliateId }) => earned.get(affiliateId))
  // Most shops give no discount, and their codes need no note.
  const optional = [
    { label: 'Discount', card: 'inline', text: (coupon: Coupon) => discountOf(coupon, currency) },
    { label: 'Notes', kind: 'wide', text: (coupon: Coupon) => coupon.warnings.map(({ message }) => message).join(' ') },
  ] as const
  return [
    { label: 'Code', cell: ({ code }) => html`<code>${isolated(code)}</code>` },
    { label: 'Affiliate', kind: 'name', card: 'bare', cell: affiliateCell },
    { label: 'Status', card: 'lead', cell: ({ affiliateStatus }) => badge(affiliateStatus) },
    {
      label: 'Program',
      kind: 'name',
      card: 'bare',
      cell: ({ programId: id }) => (id === null ? '–' : (programs.get(id) ?? id)),
    },
    orders,
    revenue,
    commission,
    ...optional
      .filter(({ text }) => rows.some(text))
      .map(({ text, ...column }) => ({ ...column, cell: (coupon: Coupon) => text(coupon) || '–' })),
  ]
}

const affiliateCell = ({ affiliateId, affiliateName }: Coupon): Html =>
  html`<a href="/admin/affiliates/${affiliateId}">${isolated(affiliateName)}</a>`

const discountOf = ({ discountEnabled, ...discount }: Coupon, currency: string): string =>
  discountEnabled ? discountText(discount, currency) : ''

async function assignment(request: PageRequest): Promise<View> {
  return {
    title: 'Assign a code',
    crumb: { to: PATH, text: 'Coupons' },
    lead: 'Replaces the affiliate’s current code, which then becomes available to others.',
    body: html`<section class="card narrow">${form(
      request,
      `${PATH}/new`,
      html`${input(request, { name: 'affiliate', label: 'Affiliate', required: true, placeholder: 'Name, email, or current code', maxlength: 320 })}
${codeForm(request, '')}`,
    )}</section>`,
  }
}

/** The code field. If the submitted code is not allowed, a button offers the nearest one that is. */
export function codeForm(request: PageRequest, current: string): Html {
  const typed = request.form.get('code') ?? current
  const nearest = coupons.nearestAllowed(typed)
  return html`${codeInput(request, { id: 'code', value: typed })}
<p class="row"><button class="main">Assign code</button>${nearest ? html` <button name="code" value="${nearest}">Assign ${isolated(nearest)} instead</button>` : ''}</p>`
}

/**
 * Assigns the submitted code, or a random one. The error for an invalid or taken code suggests a free one.
 *
 * @throws ApiError as {@link coupons.assign} does.
 */
export async function assignCode({ ctx, form }: PageRequest, affiliateId: string): Promise<Coupon> {
  // The form's second button sends its code after the field's value.
  const code = form.getAll('code').at(-1)?.trim()
  if (code) form.set('code', code)
  try {
    return await coupons.assign(ctx, validateBody('assignCoupon', { affiliateId, ...(code && { code }) }))
  } catch (error) {
    const isAboutCode = error instanceof ApiError && /^discount_code_(invalid|taken)$/.test(error.code)
    const free = isAboutCode && code ? await coupons.findFreeCode(ctx, code) : undefined
    if (!isAboutCode || !free) throw error
    const nearest = ` The nearest free code is ${free}.`
    const { status, code: errorCode, message, field = 'code', rule } = error
    throw new ApiError(status, errorCode, message + nearest, { field, ...(rule && { rule: rule + nearest }) })
  }
}

async function assign(request: PageRequest) {
  const text = field(request.form, 'affiliate')
  if (!text) throw invalidBody('Enter the affiliate.')
  const matches = await findAffiliates(request, text)
  if (matches.length > 1) throw invalidBody('Several affiliates match. Enter the email address or the current code.')
  if (!matches[0]) throw affiliateNotFound()
  const { code, affiliateName } = await assignCode(request, matches[0].id)
  return { to: urlWithQuery(PATH, { code }), flash: { text: `Code ${code} assigned to ${affiliateName}.` } }
}
