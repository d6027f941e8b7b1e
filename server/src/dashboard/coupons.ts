import { ApiError, affiliateNotFound, invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { sizesByStatus } from '../core/lists.ts'
import { figuresOf } from '../domains/affiliates/figures.ts'
import * as coupons from '../domains/coupons/coupons.ts'
import { ORDER_FIGURE_COLUMNS, orderFigureCells } from './affiliate-figures.ts'
import { chips, countOf, empty, tabs } from './components.ts'
import { codeInput, field, form, hidden, input } from './form.ts'
import { money } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import { filterForm, filterInput } from './list-filter.ts'
import { readListForPage } from './report-cache.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES, OWNER_ONLY, validateBody } from './route.ts'
import { findAffiliates, programOptions } from './select-options.ts'
import { badge, nameOf } from './status.ts'
import { type Cell, type Column, inCard, nameColumn, pageOf, pager, table, wideColumn } from './table.ts'
import { urlWithQuery } from './url.ts'

type Coupon = components['schemas']['Coupon']

const PATH = '/admin/coupons'
const STATUSES = [undefined, 'APPROVED', 'ACTIVE', 'PENDING', 'REJECTED'] as const
const COLUMNS: Column[] = [
  'Code',
  inCard('bare', nameColumn('Affiliate')),
  inCard('lead', 'Status'),
  inCard('bare', nameColumn('Program')),
  ...ORDER_FIGURE_COLUMNS,
]

export const couponRoutes: Route[] = [
  { path: '/coupons', roles: ALL_ROLES, audit: 'coupons.listed', show: list },
  { path: '/coupons/new', roles: OWNER_ONLY, show: assignment },
  { path: '/coupons/new', roles: OWNER_ONLY, act: assign, page: assignment },
]

async function list(request: PageRequest): Promise<View> {
  const { ctx, isOwner, query } = request
  const code = field(query, 'code')
  const status = STATUSES.find((one) => one === query.get('status'))
  const asked = { ...pageOf(query), ...(code && { code }), ...(status && { status }) }
  const [{ list: found, notice }, programs, counts] = await Promise.all([
    readListForPage(request, coupons.list, asked),
    programOptions(request),
    // Each affiliate has one code. There is no stored count for searches.
    code ? undefined : sizesByStatus(ctx, { list: 'affiliates' }),
  ])
  const data = found?.data ?? []
  const names = new Map(programs)
  const earned = await figuresOf(
    ctx,
    data.map(({ affiliateId }) => affiliateId),
  )
  // Most shops give no discount and have no codes that need a note.
  const optional = [
    { column: inCard('inline', 'Discount'), textOf: (one: Coupon) => discountOf(one, ctx.shop.currency) },
    { column: wideColumn('Notes'), textOf: (one: Coupon) => one.warnings.map(({ message }) => message).join(' ') },
  ].filter(({ textOf }) => data.some(textOf))
  const rows = data.map((one) => [
    ...row(one, names),
    ...orderFigureCells(earned.get(one.affiliateId), ctx.shop.currency),
    ...optional.map(({ textOf }) => textOf(one) || '–'),
  ])
  const none = code
    ? empty('No code matches', 'Change or clear the search.', 'search')
    : empty('No codes yet', html`Each <a href="/admin/affiliates">affiliate</a> has one.`, 'coupons')
  return {
    title: 'Coupons',
    lead: 'The discount code of each affiliate. An order with a code is credited to its affiliate. Orders and amounts include those with the affiliate’s link.',
    actions: isOwner ? html`<a class="button main" href="${PATH}/new">Assign a code</a>` : undefined,
    body: html`${tabs(
      'By status of the affiliate',
      STATUSES.map((one) => ({
        to: urlWithQuery(PATH, { code, status: one }),
        text: one ? nameOf(one) : 'All',
        isCurrent: one === status,
        count: countOf(counts, one),
      })),
    )}
${filterForm(request, {
  path: PATH,
  fields: html`${status ? hidden('status', status) : ''}
${filterInput(request, { name: 'code', label: 'Search', id: 'search', value: code ?? '', placeholder: 'Part of a code', maxlength: 100 })}`,
  button: 'Search',
})}
${chips(PATH, { code, status }, { code: html`Search ${isolated(code ?? '')}` })}
${rows.length ? table('Coupons', [...COLUMNS, ...optional.map(({ column }) => column)], rows, 'figures') : found && none}
${notice}${found && pager(PATH, query, found.pagination)}`,
  }
}

const row = (one: Coupon, programs: Map<string, string>): Cell[] => [
  html`<code>${isolated(one.code)}</code>`,
  html`<a href="/admin/affiliates/${one.affiliateId}">${isolated(one.affiliateName)}</a>`,
  badge(one.affiliateStatus),
  one.programId === null ? '–' : (programs.get(one.programId) ?? one.programId),
]

function discountOf({ discountEnabled, discountType, discountValue }: Coupon, currency: string): string {
  if (!discountEnabled || discountValue === null) return ''
  return discountType === 'PERCENT' ? `${discountValue}%` : money(Math.round(discountValue * 100), currency)
}

async function assignment(request: PageRequest): Promise<View> {
  return {
    title: 'Assign a code',
    crumb: { to: PATH, text: 'Coupons' },
    lead: 'The code replaces the current one of the affiliate, which others can then have.',
    body: html`<section class="card narrow">${form(
      request,
      `${PATH}/new`,
      html`${input(request, { name: 'affiliate', label: 'Affiliate', required: true, placeholder: 'Name, email or current code', maxlength: 320 })}
${codeForm(request, '')}`,
    )}</section>`,
  }
}

/** The field of a code, with the nearest allowed code when the one that was sent is not allowed. */
export function codeForm(request: PageRequest, current: string): Html {
  const typed = request.form.get('code') ?? current
  const nearest = coupons.nearestAllowed(typed)
  return html`${codeInput(request, { id: 'code', value: typed })}
<p class="row"><button class="main">Assign code</button>${nearest ? html` <button name="code" value="${nearest}">Assign ${isolated(nearest)} instead</button>` : ''}</p>`
}

/**
 * Assigns the code of the form, or a random one. The error for a code that is not allowed or taken names one that is free.
 *
 * @throws ApiError as {@link coupons.assign} does.
 */
export async function assignCode({ ctx, form }: PageRequest, affiliateId: string): Promise<Coupon> {
  // The second button of the form sends its code after the field.
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
  const found = await findAffiliates(request, text)
  if (found.length > 1) throw invalidBody('Several affiliates match. Enter the email address or the current code.')
  if (!found[0]) throw affiliateNotFound()
  const { code, affiliateName } = await assignCode(request, found[0].id)
  return { to: urlWithQuery(PATH, { code }), flash: { text: `Code ${code} assigned to ${affiliateName}.` } }
}
