import { ApiError, invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { sizesByStatus } from '../../core/lists.ts'
import * as affiliates from '../../domains/affiliates/affiliates.ts'
import type { AffiliateFigures, AffiliateSort } from '../../domains/affiliates/figures.ts'
import * as figures from '../../domains/affiliates/figures.ts'
import { findByCode } from '../../domains/affiliates/search.ts'
import { empty } from '../kit/components.ts'
import { ROWS_AT_ONCE, timeCell, wholeList } from '../kit/csv-download.ts'
import { field, form, input, limitsOf, select } from '../kit/form.ts'
import { counted, day } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { ListColumn } from '../kit/list-columns.ts'
import { type FilterField, selectField, textField } from '../kit/list-filter.ts'
import {
  addressOf,
  bulkButtons,
  downloadList,
  type ListFilter,
  type ListPage,
  numberedRows,
  pageFields,
  paramsOf,
  showList,
} from '../kit/list-page.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { ALL_ROLES, OWNER_ONLY, validateBody } from '../kit/route.ts'
import { programOptions } from '../kit/select-options.ts'
import { badge, nameOf } from '../kit/status.ts'
import { type Cell, CHOICE } from '../kit/table.ts'
import { linkOf, urlWithQuery } from '../kit/url.ts'
import { figureColumns, otherCurrencies } from './affiliate-figures.ts'
import { firstInvite } from './affiliate-invite.ts'

type Affiliate = components['schemas']['Affiliate']

const PATH = '/admin/affiliates'
const ARCHIVED = 'ARCHIVED'
const STATUSES = ['PENDING', 'APPROVED', 'ACTIVE', 'REJECTED', ARCHIVED] as const

/** Sort keys: the column's heading, the names of both directions, and the default direction. */
const SORTS: Record<AffiliateSort['by'], { heading: string; ascending: string; descending: string; first: Way }> = {
  joined: { heading: 'Joined', ascending: 'Oldest first', descending: 'Newest first', first: '-' },
  name: { heading: 'Affiliate', ascending: 'Name, A to Z', descending: 'Name, Z to A', first: '' },
  clicks: { heading: 'Clicks', ascending: 'Fewest clicks', descending: 'Most clicks', first: '-' },
  orders: { heading: 'Orders', ascending: 'Fewest orders', descending: 'Most orders', first: '-' },
  revenue: { heading: 'Revenue', ascending: 'Lowest revenue', descending: 'Highest revenue', first: '-' },
  commission: { heading: 'Commission', ascending: 'Lowest commission', descending: 'Highest commission', first: '-' },
}
/** The prefix of a descending order in an address. */
type Way = '' | '-'
const BY = Object.keys(SORTS) as AffiliateSort['by'][]
const NEWEST_FIRST = '-joined'

export const affiliateRoutes: Route[] = [
  { path: '/affiliates', roles: ALL_ROLES, audit: 'affiliates.listed', show, hasFilter: true },
  {
    path: '/affiliates.csv',
    roles: ALL_ROLES,
    audit: 'affiliates.exported',
    show: async (request) => downloadList(request, await affiliatePage(request)),
  },
  { path: '/affiliates/status', roles: OWNER_ONLY, act: changeStatuses, page: show },
  { path: '/affiliates/new', roles: OWNER_ONLY, show: creation },
  { path: '/affiliates/new', roles: OWNER_ONLY, act: create, page: creation },
]

async function show(request: PageRequest): Promise<View> {
  return showList(request, await affiliatePage(request))
}

async function affiliatePage(request: PageRequest): Promise<ListPage<Affiliate>> {
  const { ctx, isOwner } = request
  const programs = await programOptions(request)
  const names = new Map(programs)
  const isChoice = ({ status }: ListFilter) => isOwner && status !== ARCHIVED
  return {
    path: PATH,
    title: 'Affiliates',
    className: 'figures',
    lead: 'The people and companies who refer customers to your shop.',
    tabs: {
      values: STATUSES,
      text: (status) => (status === undefined ? 'All' : status === 'PENDING' ? 'Awaiting approval' : nameOf(status)),
      counts: ({ values: { campaignId } }) =>
        sizesByStatus(ctx, { list: 'affiliates', ...(campaignId && { programId: campaignId }) }),
      countedBy: ['campaignId', 'sort'],
      uncounted: ARCHIVED,
    },
    filters: [
      textField(request, {
        name: 'q',
        label: 'Search',
        placeholder: 'Name, email, or code',
        maxlength: 200,
        chip: 'Search',
      }),
      selectField(request, { name: 'campaignId', label: 'Program', options: programs, isOpen: true }),
      sortField(request),
    ],
    button: 'Search',
    columns: async (filter, rows) => {
      const ids = rows.map(({ id }) => id)
      const all = columns(request, filter, { programs: names, earned: await figures.figuresOf(ctx, ids) })
      return isChoice(filter) ? [{ ...CHOICE, cell: choice }, ...all] : all
    },
    read: async (filter) =>
      numberedRows(request, { path: PATH, list: affiliates.list, query: await listFilter(request, filter) }),
    readFile: (filter) => fileReader(request, filter),
    none: (filter) => none(filter, isOwner),
    actions: () => (isOwner ? html`<a class="button main" href="${PATH}/new">New affiliate</a>` : undefined),
    around: (filter, content) => {
      if (filter.status === ARCHIVED) return html`${ARCHIVED_HINT}${content}`
      if (!isOwner) return content
      const fields = pageFields(request, filter)
      return form(request, `${PATH}/status`, html`${fields}${content}${bulkButtons(['APPROVED', 'REJECTED'])}`)
    },
  }
}

const ARCHIVED_HINT = html`<p class="hint">Archived affiliates earn nothing on new orders, and their unpaid commissions are held back. You can restore an affiliate on their page.</p>`

/** The sort order. Amounts are compared in the shop's currency. */
const sortOf = ({ ctx }: PageRequest, { values: { sort = NEWEST_FIRST } }: ListFilter): AffiliateSort => ({
  by: BY.find((by) => sort.endsWith(by)) ?? 'joined',
  isAscending: !sort.startsWith('-'),
  currency: ctx.shop.currency,
})

/** The list's query for a filter. Aliases match only as a whole. */
async function listFilter(request: PageRequest, filter: ListFilter) {
  const { ctx } = request
  const {
    values: { q, campaignId, sort },
    status,
  } = filter
  const byCode = q && (await findByCode(ctx, q))
  const search = byCode ? { id: byCode.id } : { ...(q && { q, hasCodes: true }) }
  const isArchived = status === ARCHIVED
  return {
    ...search,
    ...(isArchived ? { isArchived } : status && { status: status as Affiliate['status'] }),
    ...(campaignId && { campaignId }),
    ...(sort && { sort: sortOf(request, filter) }),
  }
}

/** A sorted list continues at a position in the list of all IDs, an unsorted one after an affiliate. */
async function fileReader(request: PageRequest, filter: ListFilter) {
  const { ctx } = request
  const filtered = await listFilter(request, filter)
  const { sort } = filtered
  if (!sort)
    return (after: string | undefined) => wholeList(ctx, affiliates.list, { ...filtered, after }, ({ id }) => id)
  const ids = await figures.listSortedIds(ctx, { ...filtered, sort })
  return async (position = '0') => {
    const [start, end] = [Number(position), Number(position) + ROWS_AT_ONCE]
    const rows = await figures.listByIds(ctx, ids.slice(start, end), filter.status === ARCHIVED)
    return { rows, next: end < ids.length ? String(end) : undefined }
  }
}

/** A select for the sort order on small screens, where rows are cards without headings. */
function sortField({ form: submitted, query }: PageRequest): FilterField {
  const options = BY.flatMap((by): (readonly [string, string])[] => {
    const { first, ascending, descending } = SORTS[by]
    const both = [[by, ascending] as const, [`-${by}`, descending] as const]
    return first ? both.toReversed() : both
  })
  const chosen = (submitted.size ? submitted : query).get('sort')
  const sort = options.find(([value]) => value === chosen)?.[0] ?? NEWEST_FIRST
  return {
    names: ['sort'],
    values: options.map(([value]) => value).filter((value) => value !== NEWEST_FIRST),
    input: select('sort', 'Sort by', options, sort),
  }
}

function columns(
  request: PageRequest,
  filter: ListFilter,
  { programs, earned }: { programs: Map<string, string>; earned: Map<string, AffiliateFigures> },
): ListColumn<Affiliate>[] {
  const { ctx, zone } = request
  const shopCurrency = ctx.shop.currency
  const current = sortOf(request, filter)
  const programOf = ({ campaignId }: Affiliate) => campaignId && (programs.get(campaignId) ?? campaignId)
  // The current column's heading reverses the order.
  const sorted = (by: AffiliateSort['by']) => {
    const isCurrent = current.by === by
    const sort = `${isCurrent ? (current.isAscending ? '-' : '') : SORTS[by].first}${by}`
    const to = urlWithQuery(PATH, {
      ...paramsOf(filter),
      sort: sort === NEWEST_FIRST ? undefined : sort,
      size: request.query.get('size') ?? undefined,
    })
    return {
      to,
      current: isCurrent ? (current.isAscending ? ('ascending' as const) : ('descending' as const)) : undefined,
    }
  }
  const { clicks, orders, revenue, commission } = figureColumns<Affiliate>(shopCurrency, ({ id }) => earned.get(id))
  return [
    { label: 'Affiliate', kind: 'name', sort: sorted('name'), cell: nameCell },
    { label: 'Name', file: ({ name }) => name },
    { label: 'Email', file: ({ email }) => email },
    { label: 'Status', card: 'lead', cell: (affiliate) => badge(statusOf(affiliate)), file: statusOf },
    { label: 'Code', card: 'bare', cell: codeCell, file: ({ discountCode }) => discountCode },
    { label: 'Link', file: ({ slug }) => linkOf(ctx.shop, slug) },
    { label: 'Program', kind: 'name', card: 'bare', cell: (affiliate) => programOf(affiliate) ?? '–', file: programOf },
    { label: 'Phone', file: ({ phone }) => phone },
    { label: 'Website', file: ({ website }) => website },
    { label: 'Country', file: ({ homeCountry }) => homeCountry },
    { label: `Joined (${zone})`, file: ({ createdAt }) => timeCell(createdAt, zone) },
    { label: 'Affiliate ID', file: ({ id }) => id },
    { ...clicks, sort: sorted('clicks') },
    { ...orders, sort: sorted('orders') },
    { ...revenue, sort: sorted('revenue') },
    { ...commission, sort: sorted('commission') },
    { label: 'Other currencies', file: ({ id }) => otherCurrencies(earned.get(id), shopCurrency) },
    { label: 'Joined', card: 'inline', sort: sorted('joined'), cell: ({ createdAt }) => day(createdAt, zone) },
  ]
}

const codeCell = ({ discountCode }: Affiliate): Cell => html`<code>${isolated(discountCode)}</code>`

const choice = ({ id, name }: Affiliate): Cell =>
  html`<input type="checkbox" name="ids" value="${id}" aria-label="Select ${name}">`

const nameCell = ({ id, name, email }: Affiliate): Cell =>
  html`<a href="${PATH}/${id}">${isolated(name)}</a><small>${isolated(email)}</small>`

const statusOf = ({ status, deletedAt }: Affiliate): string => (deletedAt === null ? status : ARCHIVED)

function none({ values: { q, campaignId }, status }: ListFilter, isOwner: boolean): Html {
  if (status === ARCHIVED && !q && !campaignId)
    return empty('No archived affiliates', 'You can archive an affiliate on their page.', 'affiliates')
  if (q || campaignId || status) return empty('No affiliates match', 'Change or clear the search.', 'search')
  const next = isOwner
    ? html`<a class="button main" href="${PATH}/new">Add the first affiliate</a>`
    : 'An owner can add one.'
  return empty('No affiliates yet', next, 'affiliates')
}

/** As many as one page lists. More in one form would delay other changes. */
const MAX_CHANGED = 100

async function changeStatuses(request: PageRequest) {
  const { ctx, form } = request
  const ids = [...new Set(form.getAll('ids'))]
  const status = form.get('move') === 'REJECTED' ? 'REJECTED' : 'APPROVED'
  if (ids.length === 0) throw invalidBody('Select at least one affiliate.')
  if (ids.length > MAX_CHANGED) throw invalidBody(`Select at most ${MAX_CHANGED} affiliates.`)
  let changed = 0
  let skipped = 0
  for (const id of ids) {
    try {
      await affiliates.update(ctx, id, validateBody('updateAffiliate', { status }))
      changed += 1
    } catch (error) {
      // Another request archived or changed it. Continue with the others.
      if (!(error instanceof ApiError) || ![404, 409].includes(error.status)) throw error
      skipped += 1
    }
  }
  const left = skipped ? ` ${skipped} skipped, because another request changed them.` : ''
  const text = `${counted(changed, 'affiliate')} ${status.toLowerCase()}.${left}`
  return { to: await addressOf(request, await affiliatePage(request)), flash: { text } }
}

async function creation(request: PageRequest): Promise<View> {
  const { form: submitted } = request
  const value = (name: string) => submitted.get(name) ?? ''
  const programs = await programOptions(request)
  return {
    title: 'New affiliate',
    crumb: { to: PATH, text: 'Affiliates' },
    lead: 'A link and a discount code are generated. Once the affiliate is approved, you can send them a message with both.',
    body: html`<section class="card narrow">${form(
      request,
      `${PATH}/new`,
      html`${input(request, { name: 'name', label: 'Name', value: value('name'), required: true, ...limitsOf('createAffiliate', 'name') })}
${input(request, { name: 'email', label: 'Email', type: 'email', value: value('email'), required: true, ...limitsOf('createAffiliate', 'email') })}
${select('campaignId', 'Program', [['', 'The shop’s default program'], ...programs], value('campaignId'))}
<div class="sticky"><button class="main">Create affiliate</button> <a class="button" href="${PATH}">Back</a></div>`,
    )}</section>`,
  }
}

async function create(request: PageRequest) {
  const { ctx, form } = request
  const body = {
    name: form.get('name') ?? '',
    email: form.get('email')?.trim() ?? '',
    campaignId: field(form, 'campaignId'),
  }
  const created = await affiliates.create(ctx, validateBody('createAffiliate', body))
  const { id, name, status } = created
  const text = `Affiliate ${name} created${status === 'PENDING' ? '; awaiting approval' : ' and approved'}.`
  const invite = await firstInvite(request, created)
  return { to: `${PATH}/${id}`, flash: { text, ...(invite && { invite }) } }
}
