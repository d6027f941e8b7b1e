import { ApiError, invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import type { FileColumn } from '../core/csv.ts'
import { sizesByStatus } from '../core/lists.ts'
import * as affiliates from '../domains/affiliates/affiliates.ts'
import type { AffiliateFigures, AffiliateSort } from '../domains/affiliates/figures.ts'
import * as figures from '../domains/affiliates/figures.ts'
import { findByCode } from '../domains/affiliates/search.ts'
import { figureCells, figureColumns } from './affiliate-figures.ts'
import { firstLetter } from './affiliate-letter.ts'
import { chips, countOf, empty, tabs } from './components.ts'
import { fileLink, listFile, nextAfter, ROWS_AT_ONCE, timeCell } from './csv-download.ts'
import { field, form, hidden, input, limitsOf, select } from './form.ts'
import { counted, day } from './format.ts'
import { type Html, html, isolated } from './html.ts'
import { filterForm, filterInput } from './list-filter.ts'
import { readListForPage } from './report-cache.ts'
import type { PageRequest, Route, View } from './route.ts'
import { ALL_ROLES, OWNER_ONLY, validateBody } from './route.ts'
import { programOptions } from './select-options.ts'
import { badge, nameOf } from './status.ts'
import {
  type Cell,
  CHOICE,
  type Column,
  inCard,
  nameColumn,
  numberColumn,
  pageOf,
  pager,
  sortable,
  table,
} from './table.ts'
import { linkOf, urlWithQuery } from './url.ts'

type Affiliate = components['schemas']['Affiliate']

const PATH = '/admin/affiliates'
const ARCHIVED = 'ARCHIVED'
const STATUSES = ['PENDING', 'APPROVED', 'ACTIVE', 'REJECTED', ARCHIVED] as const

/** Sort keys: the heading of the column, the names of both directions, and the default direction. */
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
  { path: '/affiliates', roles: ALL_ROLES, audit: 'affiliates.listed', show: list },
  { path: '/affiliates.csv', roles: ALL_ROLES, audit: 'affiliates.exported', show: download },
  { path: '/affiliates/status', roles: OWNER_ONLY, act: changeStatuses, page: list },
  { path: '/affiliates/new', roles: OWNER_ONLY, show: creation },
  { path: '/affiliates/new', roles: OWNER_ONLY, act: create, page: creation },
]

interface Filter {
  q: string | undefined
  status: (typeof STATUSES)[number] | undefined
  campaignId: string | undefined
  /** As in the address: `-commission`. Undefined for newest first. */
  sort: string | undefined
  /** The rows of a page, as in the address. */
  size: string | undefined
}

const filterOf = (sent: URLSearchParams): Filter => ({
  q: field(sent, 'q'),
  status: STATUSES.find((one) => one === sent.get('status')),
  campaignId: field(sent, 'campaignId'),
  sort: BY.flatMap((by) => [by, `-${by}`]).find((one) => one !== NEWEST_FIRST && one === sent.get('sort')),
  size: field(sent, 'size'),
})

/** The order of the list; amounts are compared in the currency of the shop. */
const sortOf = ({ ctx }: PageRequest, { sort = NEWEST_FIRST }: Filter): AffiliateSort => ({
  by: BY.find((by) => sort.endsWith(by)) ?? 'joined',
  isAscending: !sort.startsWith('-'),
  currency: ctx.shop.currency,
})

/** The filter as the list has it. Aliases are found whole. */
async function listFilter({ ctx }: PageRequest, { q, status, campaignId }: Filter) {
  const byCode = q && (await findByCode(ctx, q))
  const search = byCode ? { id: byCode.id } : { ...(q && { q, hasCodes: true }) }
  const isArchived = status === ARCHIVED
  return {
    ...search,
    ...(isArchived ? { isArchived } : status && { status }),
    ...(campaignId && { campaignId }),
  }
}

async function list(request: PageRequest): Promise<View> {
  const { ctx, query, form: sent } = request
  const filter = filterOf(sent.size ? sent : query)
  const { q, status, campaignId } = filter
  const isChoice = request.isOwner && status !== ARCHIVED
  const [asked, sort, page] = [await listFilter(request, filter), sortOf(request, filter), pageOf(query)]
  const [{ list: found, notice }, programs, tabsOfStatus] = await Promise.all([
    filter.sort === undefined
      ? readListForPage(request, affiliates.list, { ...page, ...asked })
      : readListForPage(request, figures.listSorted, { ...page, ...asked, sort }),
    programOptions(request),
    statusTabs(request, filter),
  ])
  const data = found?.data ?? []
  const names = new Map(programs)
  const earned = await figures.figuresOf(
    ctx,
    data.map(({ id }) => id),
  )
  const rows = data.map((one) => row(request, one, { isChoice, programs: names, earned: earned.get(one.id) }))
  const columns = columnsOf(filter, sort)
  const content = rows.length
    ? table('Affiliates', isChoice ? [CHOICE, ...columns] : columns, rows, 'figures')
    : found && emptyState(filter, request.isOwner)
  return {
    title: 'Affiliates',
    lead: 'The people and companies who refer customers to your shop.',
    actions: html`${rows.length ? fileLink(`${PATH}.csv`, query) : ''}${request.isOwner ? html`<a class="button main" href="${PATH}/new">New affiliate</a>` : ''}`,
    body: html`${tabsOfStatus}
${filterForm(request, {
  path: PATH,
  fields: html`${status ? hidden('status', status) : ''}
${filterInput(request, { name: 'q', label: 'Search', placeholder: 'Name, email or code', maxlength: 200 })}
${select('campaignId', 'Program', [['', 'All'], ...programs], campaignId ?? '')}
${select('sort', 'Sort by', sortOptions(), filter.sort ?? NEWEST_FIRST)}`,
  button: 'Search',
})}
${chips(
  PATH,
  { ...filter },
  {
    q: html`Search ${isolated(q ?? '')}`,
    campaignId: html`Program ${isolated(names.get(campaignId ?? '') ?? campaignId ?? '')}`,
  },
)}
${status === ARCHIVED && rows.length ? html`<p class="hint">New orders of archived affiliates earn no commission, and their unpaid commissions are held back. Restore one on its page.</p>` : ''}${isChoice && rows.length ? form(request, `${PATH}/status`, html`${Object.entries({ ...filter, page: query.get('page') ?? '' }).map(([name, value]) => hidden(name, value ?? ''))}${content}${bulk()}`) : content}
${notice}${found && pager(PATH, query, found.pagination)}`,
  }
}

const addressOf = (filter: Filter): string => urlWithQuery(PATH, { ...filter })

/** On small screens, where rows are cards without headings, the list is sorted by a select. */
const sortOptions = (): [string, string][] =>
  BY.flatMap((by) => {
    const { first, ascending, descending } = SORTS[by]
    const both: [string, string][] = [
      [by, ascending],
      [`-${by}`, descending],
    ]
    return first ? both.toReversed() : both
  })

/** The heading of the current order leads to its opposite. */
function columnsOf(filter: Filter, sort: AffiliateSort): Column[] {
  const sorted = (by: AffiliateSort['by'], column: (heading: string) => Column): Column => {
    const { heading, first } = SORTS[by]
    const isCurrent = sort.by === by
    const way = isCurrent ? (sort.isAscending ? '-' : '') : first
    return sortable(column(heading), {
      to: addressOf({ ...filter, sort: `${way}${by}` === NEWEST_FIRST ? undefined : `${way}${by}` }),
      current: isCurrent ? (sort.isAscending ? 'ascending' : 'descending') : undefined,
    })
  }
  const inLine = (heading: string) => inCard('inline', numberColumn(heading))
  return [
    sorted('name', nameColumn),
    inCard('lead', 'Status'),
    inCard('bare', 'Code'),
    inCard('bare', nameColumn('Program')),
    sorted('clicks', inLine),
    sorted('orders', inLine),
    sorted('revenue', numberColumn),
    sorted('commission', numberColumn),
    sorted('joined', (heading) => inCard('inline', heading)),
  ]
}

interface FileRow {
  affiliate: Affiliate
  earned: AffiliateFigures
}

function fileColumns({ ctx: { shop }, zone }: PageRequest, programs: Map<string, string>): FileColumn<FileRow>[] {
  return [
    ['Name', ({ affiliate }) => affiliate.name],
    ['Email', ({ affiliate }) => affiliate.email],
    ['Status', ({ affiliate }) => statusOf(affiliate)],
    ['Code', ({ affiliate }) => affiliate.discountCode],
    ['Link', ({ affiliate }) => linkOf(shop, affiliate.slug)],
    [
      'Program',
      ({ affiliate }) => affiliate.campaignId && (programs.get(affiliate.campaignId) ?? affiliate.campaignId),
    ],
    ['Phone', ({ affiliate }) => affiliate.phone],
    ['Website', ({ affiliate }) => affiliate.website],
    ['Country', ({ affiliate }) => affiliate.homeCountry],
    [`Joined (${zone})`, ({ affiliate }) => timeCell(affiliate.createdAt, zone)],
    ['Affiliate ID', ({ affiliate }) => affiliate.id],
    ...figureColumns(shop.currency),
  ]
}

/** The list with the same filter and order. */
async function download(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const asked = filterOf(query)
  const filter = await listFilter(request, asked)
  const toRows = async (data: Affiliate[]): Promise<FileRow[]> => {
    const earned = await figures.figuresOf(
      ctx,
      data.map(({ id }) => id),
    )
    return data.map((affiliate) => ({ affiliate, earned: earned.get(affiliate.id) ?? figures.NO_FIGURES }))
  }
  const file = { name: 'affiliates', columns: fileColumns(request, new Map(await programOptions(request))) }
  if (asked.sort === undefined)
    return listFile(request, file, async (after: string | undefined) => {
      const page = { page: 1, limit: ROWS_AT_ONCE, isUncounted: true, ...(after && { after }) }
      const { data } = await affiliates.list(ctx, { ...filter, ...page })
      return { rows: await toRows(data), next: nextAfter(data, ({ id }) => id) }
    })
  const ids = await figures.listSortedIds(ctx, filter, sortOf(request, asked))
  return listFile(request, file, async (start: number = 0) => {
    const end = start + ROWS_AT_ONCE
    return {
      rows: await toRows(await figures.listByIds(ctx, ids.slice(start, end), asked.status === ARCHIVED)),
      next: end < ids.length ? end : undefined,
    }
  })
}

const statusOf = ({ status, deletedAt }: Affiliate): string => (deletedAt === null ? status : ARCHIVED)

async function statusTabs({ ctx }: PageRequest, filter: Filter): Promise<Html> {
  const { q, status, campaignId } = filter
  // There is no stored count for searches.
  const own = { list: 'affiliates', ...(campaignId && { programId: campaignId }) } as const
  const counts = q ? undefined : await sizesByStatus(ctx, own)
  return tabs(
    'By status',
    [undefined, ...STATUSES].map((one) => ({
      to: addressOf({ ...filter, status: one }),
      text: one === undefined ? 'All' : one === 'PENDING' ? 'Awaiting approval' : nameOf(one),
      isCurrent: one === status,
      // Archived affiliates are not counted.
      count: one === ARCHIVED ? undefined : countOf(counts, one),
    })),
  )
}

const bulk =
  (): Html => html`<div class="sticky"><label class="box all"><input type="checkbox" data-all="ids" hidden> <span>All on this page</span></label>
<button name="move" value="APPROVED" class="main">Approve selected</button> <button name="move" value="REJECTED">Reject selected</button> <span class="hint" data-selected="ids" aria-live="polite"></span></div>`

function emptyState({ q, status, campaignId }: Filter, isOwner: boolean): Html {
  if (status === ARCHIVED && !q && !campaignId)
    return empty('No archived affiliates', 'An affiliate is archived on their page.', 'affiliates')
  if (q || campaignId || status) return empty('No affiliate matches', 'Change or clear the search.', 'search')
  const next = isOwner
    ? html`<a class="button main" href="${PATH}/new">Add the first affiliate</a>`
    : 'An owner can add one.'
  return empty('No affiliates yet', next, 'affiliates')
}

function row(
  { ctx, zone }: PageRequest,
  one: Affiliate,
  given: { isChoice: boolean; programs: Map<string, string>; earned: AffiliateFigures | undefined },
): Cell[] {
  const { isChoice, programs, earned } = given
  const choice = html`<input type="checkbox" name="ids" value="${one.id}" aria-label="Select ${one.name}">`
  return [
    ...(isChoice ? [choice] : []),
    html`<a href="${PATH}/${one.id}">${isolated(one.name)}</a><small>${isolated(one.email)}</small>`,
    badge(statusOf(one)),
    html`<code>${isolated(one.discountCode)}</code>`,
    one.campaignId === null ? '–' : (programs.get(one.campaignId) ?? one.campaignId),
    ...figureCells(earned, ctx.shop.currency),
    day(one.createdAt, zone),
  ]
}

/** A page of the list has at most as many; more at once would delay other changes. */
const MAX_CHANGED = 100

async function changeStatuses({ ctx, form }: PageRequest) {
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
      // Archived or changed by another request; the others continue.
      if (!(error instanceof ApiError) || ![404, 409].includes(error.status)) throw error
      skipped += 1
    }
  }
  const left = skipped ? ` ${skipped} skipped, because another request changed them.` : ''
  const text = `${counted(changed, 'affiliate')} ${status.toLowerCase()}.${left}`
  return {
    to: urlWithQuery(PATH, { ...filterOf(form), page: form.get('page') ?? undefined }),
    flash: { text },
  }
}

async function creation(request: PageRequest): Promise<View> {
  const { form: sent } = request
  const value = (name: string) => sent.get(name) ?? ''
  const programs = await programOptions(request)
  return {
    title: 'New affiliate',
    crumb: { to: PATH, text: 'Affiliates' },
    lead: 'A link and a discount code are generated. A message with both is offered once the affiliate is approved.',
    body: html`<section class="card narrow">${form(
      request,
      `${PATH}/new`,
      html`${input(request, { name: 'name', label: 'Name', value: value('name'), required: true, ...limitsOf('createAffiliate', 'name') })}
${input(request, { name: 'email', label: 'Email', type: 'email', value: value('email'), required: true, ...limitsOf('createAffiliate', 'email') })}
${select('campaignId', 'Program', [['', 'The default program of the shop'], ...programs], value('campaignId'))}
<div class="sticky"><button class="main">Create affiliate</button> <a class="button" href="${PATH}">Back</a></div>`,
    )}</section>`,
  }
}

async function create(request: PageRequest) {
  const { ctx, form } = request
  const sent = {
    name: form.get('name') ?? '',
    email: form.get('email')?.trim() ?? '',
    campaignId: field(form, 'campaignId'),
  }
  const created = await affiliates.create(ctx, validateBody('createAffiliate', sent))
  const { id, name, status } = created
  const text = `Affiliate ${name} created${status === 'PENDING' ? '; awaiting approval' : ' and approved'}.`
  const letter = await firstLetter(request, created)
  return { to: `${PATH}/${id}`, flash: { text, ...(letter && { letter }) } }
}
