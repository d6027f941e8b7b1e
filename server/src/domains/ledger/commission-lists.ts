import { sql } from 'kysely'
import type { JsonText, Query } from '../../contract/spec.ts'
import { defineList, isDeep, type ReadCost, rowsOf } from '../../core/lists.ts'
import { afterCursor, type Page, type PageQuery, toPage } from '../../core/pagination.ts'
import { countByDay, countQuery, countRows, jsonRows, withoutIndex } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import { preparedByShape } from '../../database/prepared.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { storedOrderIds } from '../../engine/normalize.ts'
import { COMMISSION_COLUMNS, findCommissionByOrder } from './commissions.ts'

/** A column whose index can find the rows. */
type IndexedColumn = 'id' | 'orderId' | 'payoutBatchId' | 'affiliateId' | 'orderStatus' | 'programId'

/** How a filter selects rows, and how they are counted. */
type FilterRule = (
  | { column: IndexedColumn; operator: '=' | 'in' }
  /** No index is chosen for a range: the list is sorted by this column. */
  | { column: 'happenedAt'; operator: '>=' | '<=' }
) & {
  /**
   * The part of the stored counts that covers this filter. `rows`: none, so the matching rows are counted; `few` when there
   * are at most two.
   */
  countedBy: 'status' | 'programId' | 'scope' | 'day' | 'rows' | 'few'
}

type FilterName = Exclude<keyof Query<'listCommissions'>, 'page' | 'limit' | 'after'>

/**
 * Every filter of the list. All functions below derive from this table; a documented filter that is missing does not
 * compile. Indexed columns are in the order in which they usually match the fewest rows.
 */
const filters = {
  id: { column: 'id', operator: '=', countedBy: 'few' },
  externalOrderId: { column: 'orderId', operator: 'in', countedBy: 'few' },
  payoutBatchId: { column: 'payoutBatchId', operator: '=', countedBy: 'rows' },
  affiliateId: { column: 'affiliateId', operator: '=', countedBy: 'scope' },
  status: { column: 'orderStatus', operator: '=', countedBy: 'status' },
  programId: { column: 'programId', operator: '=', countedBy: 'programId' },
  from: { column: 'happenedAt', operator: '>=', countedBy: 'day' },
  to: { column: 'happenedAt', operator: '<=', countedBy: 'day' },
} as const satisfies Record<FilterName, FilterRule>

const FILTER_NAMES = Object.keys(filters) as FilterName[]

/** A filter as in a request; `from` and `to` are instants, both inclusive, of `happenedAt`. */
export type ListFilter = { [Name in FilterName]?: string }

/** A filter whose `externalOrderId` is the stored order id, such as `api:1001`, or one of those of each source. */
interface StoredFilter extends ListFilter {
  shopifyOrderId?: string
  stripeOrderId?: string
}

/** A stored filter of one shop; `before` is an instant, exclusive. */
interface ShopFilter extends StoredFilter {
  shopId: string
  before?: string
}

/** A filter with the start of its page. */
interface PageFilter extends ShopFilter {
  afterAt?: string
  afterId?: string
  limit: number
  offset: number
}

/** The filters that are present, in the order of the table. Empty values are ignored. */
const presentIn = (filter: ListFilter) =>
  FILTER_NAMES.flatMap((name) => {
    const value = filter[name]
    return value ? [{ name, value, ...filters[name] }] : []
  })

const isCountedBy = (filter: ListFilter, ...parts: FilterRule['countedBy'][]): boolean =>
  FILTER_NAMES.some((name) => filter[name] && parts.includes(filters[name].countedBy))

/** A row of the list. */
export type ListedCommission = Pick<CommissionRow, (typeof COMMISSION_COLUMNS)[number]>

function pageQuery(db: Reader, values: PageFilter, index: IndexedColumn | undefined) {
  const { afterAt, afterId, limit, offset } = values
  const list = matching(db, values, index).select(COMMISSION_COLUMNS)
  const rest = afterAt && afterId ? list.where(afterCursor('commissions', { at: afterAt, id: afterId })) : list
  // Of a few orders, SQLite would sort by reading the shop.
  const sorting = index === 'orderId' ? withoutIndex(db, 'happenedAt') : ('happenedAt' as const)
  return rest.orderBy(sorting, 'desc').orderBy('id', 'desc').limit(limit).offset(offset)
}

const selectBy = (index: IndexedColumn | undefined) =>
  preparedByShape<PageFilter>()((db, values) => pageQuery(db, values, index).compile())

const selects: Record<IndexedColumn | 'all', ReturnType<typeof selectBy>> = {
  all: selectBy(undefined),
  id: selectBy('id'),
  orderId: selectBy('orderId'),
  payoutBatchId: selectBy('payoutBatchId'),
  affiliateId: selectBy('affiliateId'),
  orderStatus: selectBy('orderStatus'),
  programId: selectBy('programId'),
}

/** Commissions by `happenedAt`, newest first. `externalOrderId` may also be the stored order id. */
export async function listCommissions(
  db: Reader,
  shopId: string,
  { page, limit, start, isUncounted, ...input }: ListFilter & PageQuery,
): Promise<Page<ListedCommission>> {
  const filter = await toStoredFilter(db, shopId, input)
  const counting = isUncounted ? Promise.resolve(Number.MAX_SAFE_INTEGER) : countCommissions(db, shopId, filter)
  const offset = (page - 1) * limit
  const readPage = async () => {
    const place = start
      ? { afterAt: start.at, afterId: start.id, offset }
      : await findPageStart(db, shopId, filter, offset)
    const select = selects[(await findMostSelective(db, shopId, filter)) ?? 'all']
    return select(db, { ...filter, shopId, limit, ...place })
  }
  // Both take one round trip. With several conditions an empty list would be searched for, so its total is read first.
  const conditions = Object.values(filter).filter((value) => value !== undefined).length
  if (offset === 0 ? conditions <= 1 : conditions === 0 && offset < DEEP_OFFSET) {
    const [total, rows] = await Promise.all([counting, readPage()])
    return toPage(rows, { page, limit }, total)
  }
  const total = await counting
  return toPage(total <= offset ? [] : await readPage(), { page, limit }, total)
}

/** A page of at most one condition with a stored count, and this count, in one statement. */
const textAndTotal = preparedByShape<PageFilter>()((db, values) => {
  const { shopId, affiliateId: scope = '', programId, status } = values
  const total = countQuery(db, { list: 'commissions', shopId, scope, programId, status })
  const data = jsonRows(db, pageQuery(db, values, mostSelectiveByKind(values)), COMMISSION_COLUMNS)
  return sql<{ total: number; data: string }>`select ${total} as total, ${data} as data`.compile(db)
})

/** {@link listCommissions} as the text of a response. */
async function writeCommissions(
  db: Reader,
  shopId: string,
  query: ListFilter & PageQuery,
): Promise<JsonText<Page<ListedCommission>>> {
  const { limit, start } = query
  const filter = await toStoredFilter(db, shopId, query)
  const hasStoredCount = !isUncounted(filter) && !isCountedBy(filter, 'day')
  if (query.page > 1 || !hasStoredCount || presentIn(filter).length > 1)
    return JSON.stringify(await listCommissions(db, shopId, query))
  const place = start && { afterAt: start.at, afterId: start.id }
  const [row] = await textAndTotal(db, { ...filter, ...place, shopId, limit, offset: 0 })
  const { pagination } = toPage([], query, row?.total ?? 0)
  return `{"data":${row?.data ?? '[]'},"pagination":${JSON.stringify(pagination)}}`
}

async function toStoredFilter(db: Reader, shopId: string, input: ListFilter): Promise<StoredFilter> {
  const filter: StoredFilter = Object.fromEntries(presentIn(input).map(({ name, value }) => [name, value]))
  return filter.externalOrderId ? { ...filter, ...(await findOrderIds(db, shopId, filter.externalOrderId)) } : filter
}

/** The stored id takes precedence. Otherwise the text is the caller's own id, of any source. */
async function findOrderIds(db: Reader, shopId: string, text: string): Promise<StoredFilter> {
  const { exact, bySource } = storedOrderIds(text)
  for (const orderId of exact) {
    if (await findCommissionByOrder(db, shopId, orderId)) return { externalOrderId: orderId }
  }
  const [externalOrderId, shopifyOrderId, stripeOrderId] = bySource
  return { externalOrderId, shopifyOrderId, stripeOrderId }
}

/** Commissions that match a filter. This index finds them; the other conditions are checked row by row. */
function matching(db: Reader, values: ShopFilter, index: IndexedColumn | undefined = mostSelectiveByKind(values)) {
  let list = db.selectFrom('commissions').where('shopId', '=', values.shopId)
  for (const { column, operator, value } of presentIn(values)) {
    const isPlain = column === index || column === 'happenedAt'
    const operand =
      operator === 'in' ? [value, values.shopifyOrderId, values.stripeOrderId].filter((id) => id !== undefined) : value
    list = list.where(isPlain ? column : withoutIndex(db, column), operator, operand)
  }
  return values.before ? list.where('happenedAt', '<', values.before) : list
}

/** The indexed columns of a filter, the one that usually matches the fewest rows first. */
const indexedColumns = (filter: ListFilter): IndexedColumn[] =>
  presentIn(filter).flatMap(({ column }) => (column === 'happenedAt' ? [] : column))

const mostSelectiveByKind = (filter: ListFilter): IndexedColumn | undefined => indexedColumns(filter)[0]

const count = preparedByShape<ShopFilter>()((db, values) =>
  matching(db, values)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .compile(),
)

const countMatching = async (db: Reader, values: ShopFilter): Promise<number> =>
  (await count(db, values))[0]?.total ?? 0

const DAY = /^\d{4}-\d\d-\d\dT/
const DAY_MS = 86_400_000
/** Sorts after the scope of every day. */
const AFTER_DAYS = 'day;'
/** The last day whose following day has a year of four digits. */
const LAST_DAY = '9999-12-31'

/** Matching rows are read where they are counted one by one, or precede a deep page. */
const costOf = (query: ListFilter & PageQuery): ReadCost =>
  isCountedBy(query, 'rows') || hasUncountedPeriod(query) || (isDeep(query) && isCountedBy(query, 'scope', 'day'))
    ? rowsOf({ list: 'commissions', ...(query.affiliateId && { scope: query.affiliateId }) })
    : undefined

/** The stored counts are by affiliate or by day, not by both. */
const hasUncountedPeriod = (filter: ListFilter): boolean => isCountedBy(filter, 'scope') && isCountedBy(filter, 'day')

/** Whether the filter has no stored count. Scopes of days contain a colon; ids of affiliates do not. */
const isUncounted = (filter: StoredFilter): boolean =>
  isCountedBy(filter, 'rows', 'few') || hasUncountedPeriod(filter) || (filter.affiliateId?.includes(':') ?? false)

/** The exact number of matching commissions. Rows are read only where a filter matches few of them. */
async function countCommissions(db: Reader, shopId: string, filter: StoredFilter): Promise<number> {
  const { from, to, affiliateId, programId, status } = filter
  if (isUncounted(filter)) return countMatching(db, { ...filter, shopId })
  if (!isCountedBy(filter, 'day')) {
    return countRows(db, shopId, { list: 'commissions', scope: affiliateId, programId, status })
  }
  const isDated = (!from || (DAY.test(from) && from < LAST_DAY)) && (!to || DAY.test(to))
  return isDated ? countPeriod(db, shopId, filter) : countMatching(db, { ...filter, shopId })
}

/** Uses the stored counts of whole days, and counts the rows of the first and last day. */
async function countPeriod(db: Reader, shopId: string, filter: StoredFilter): Promise<number> {
  const { from, to, programId, status } = filter
  const first = from && dayAfter(from)
  const last = to?.slice(0, 10)
  if (first && last && first >= last) return countMatching(db, { ...filter, shopId })
  const whole = await countByDay(db, {
    shopId,
    programId,
    status,
    from: `day:${first ?? ''}`,
    before: last ? `day:${last}` : AFTER_DAYS,
  })
  const edge = { shopId, programId, status }
  const before = from && first ? await countMatching(db, { ...edge, from, before: first }) : 0
  const after = to && last ? await countMatching(db, { ...edge, from: last, to }) : 0
  return before + whole.reduce((sum, { rows }) => sum + rows, 0) + after
}

const dayAfter = (at: string): string =>
  new Date(Date.parse(`${at.slice(0, 10)}T00:00:00.000Z`) + DAY_MS).toISOString().slice(0, 10)

const DEEP_OFFSET = 400

/** The start of a page. A deep page starts at its day, so that earlier rows are not read. */
async function findPageStart(
  db: Reader,
  shopId: string,
  filter: StoredFilter,
  offset: number,
): Promise<{ before?: string; offset: number }> {
  const { programId, status } = filter
  const isCountedPerDay = !isCountedBy(filter, 'scope', 'day', 'rows', 'few')
  if (offset < DEEP_OFFSET || !isCountedPerDay) return { offset }
  let skipped = 0
  let before: string | undefined
  for (const { day, rows } of await countByDay(db, { shopId, programId, status, from: 'day:', before: AFTER_DAYS })) {
    if (skipped + rows > offset) break
    skipped += rows
    before = day
  }
  return before === undefined ? { offset } : { before, offset: offset - skipped }
}

/** The column that matches the fewest rows; several broad ones are compared by their counts. */
async function findMostSelective(db: Reader, shopId: string, filter: StoredFilter): Promise<IndexedColumn | undefined> {
  if (isCountedBy(filter, 'rows', 'few') || indexedColumns(filter).length < 2) return mostSelectiveByKind(filter)
  const counted = await Promise.all(
    presentIn(filter).flatMap(({ column, countedBy, value }) => {
      if (column === 'happenedAt') return []
      return countRows(db, shopId, { list: 'commissions', [countedBy]: value }).then((rows) => ({ column, rows }))
    }),
  )
  return counted.reduce((least, candidate) => (candidate.rows < least.rows ? candidate : least)).column
}

export const commissionList = defineList(import.meta.url, 'commissionList', { read: listCommissions, cost: costOf })

/** {@link commissionList} as the text of a response. */
export const commissionText = defineList(import.meta.url, 'commissionText', { read: writeCommissions, cost: costOf })
