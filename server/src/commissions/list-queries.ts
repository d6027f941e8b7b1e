import { afterCursor, type Page, type PageQuery, toPage } from '../core/pagination.ts'
import { type CountFilter, countByDay, countRows, withoutIndex } from '../core/queries.ts'
import { defineReport, type Reader } from '../database/database.ts'
import { preparedByShape } from '../database/prepared.ts'
import type { CommissionRow } from '../database/tables.ts'
import { storedOrderIds } from '../engine/normalize.ts'
import { findCommissionByOrder } from './queries.ts'

/** A filter with the start of its page. */
interface PageFilter extends ShopFilter {
  afterAt?: string
  afterId?: string
  limit: number
  offset: number
}

/** A filter as in a request. */
type ListFilter = Omit<CommissionFilter, 'orderId' | 'otherOrderId'> & {
  /** The caller's own order id or the stored one. */
  externalOrderId?: string
}

/** The columns of the list in the order of openapi.yaml, so that rows need no copying. */
const LISTED_COLUMNS = [
  'id',
  'affiliateId',
  'programId',
  'externalOrderId',
  'orderId',
  'orderName',
  'currency',
  'orderCurrency',
  'commissionType',
  'commissionBaseCents',
  'commissionRateBps',
  'commissionAmountCents',
  'taxWithheldCents',
  'orderSubtotalCents',
  'orderDiscountCents',
  'orderShippingCents',
  'orderTaxCents',
  'trackingMethod',
  'attributionMethod',
  'attributionReasonCode',
  'restrictionReasonCode',
  'orderStatus',
  'payoutBatchId',
  'happenedAt',
  'paidAt',
  'createdAt',
  'updatedAt',
] as const satisfies (keyof CommissionRow)[]

const selectBy = (readBy: IndexedColumn | undefined) =>
  preparedByShape<PageFilter>()((db, values) => {
    const { afterAt, afterId, limit, offset } = values
    const list = matching(db, values, readBy).select(LISTED_COLUMNS)
    const rest = afterAt && afterId ? list.where(afterCursor('commissions', { at: afterAt, id: afterId })) : list
    return rest.orderBy('happenedAt', 'desc').orderBy('id', 'desc').limit(limit).offset(offset).compile()
  })

const selects = {
  all: selectBy(undefined),
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
  { page, limit, start, ...input }: ListFilter & PageQuery,
): Promise<Page<Pick<CommissionRow, (typeof LISTED_COLUMNS)[number]>>> {
  const filter = await readFilter(db, shopId, input)
  const total = await countCommissions(db, shopId, filter)
  const offset = (page - 1) * limit
  if (total <= offset) return toPage([], { page, limit }, total)
  const place = start
    ? { afterAt: start.at, afterId: start.id, offset }
    : await findPageStart(db, shopId, filter, offset)
  const select = selects[(await findMostSelective(db, shopId, filter)) ?? 'all']
  return toPage(await select(db, { ...filter, shopId, limit, ...place }), { page, limit }, total)
}

/** Empty values are ignored. */
async function readFilter(db: Reader, shopId: string, input: ListFilter): Promise<CommissionFilter> {
  const { status, from, to, externalOrderId } = input
  const filter: CommissionFilter = { status, from, to }
  if (input.affiliateId) filter.affiliateId = input.affiliateId
  if (input.programId) filter.programId = input.programId
  if (input.payoutBatchId) filter.payoutBatchId = input.payoutBatchId
  return externalOrderId ? { ...filter, ...(await orderFilter(db, shopId, externalOrderId)) } : filter
}

/** The stored id takes precedence. Otherwise the text is the caller's own id, of either source. */
async function orderFilter(db: Reader, shopId: string, text: string): Promise<CommissionFilter> {
  const { exact, bySource } = storedOrderIds(text)
  for (const orderId of exact) if (await findCommissionByOrder(db, shopId, orderId)) return { orderId }
  const [orderId, otherOrderId] = bySource
  return { orderId, otherOrderId }
}

export interface CommissionFilter {
  status?: CommissionRow['orderStatus']
  affiliateId?: string
  programId?: string
  payoutBatchId?: string
  /** The stored order id, such as `api:1001`, or one of two. */
  orderId?: string
  otherOrderId?: string
  /** Instants, both inclusive, of `happenedAt`. */
  from?: string
  to?: string
}

/** A filter of one shop. */
export interface ShopFilter extends CommissionFilter {
  shopId: string
  before?: string
}

/** A column whose index can find the rows. */
export type IndexedColumn = 'orderId' | 'payoutBatchId' | 'affiliateId' | 'orderStatus' | 'programId'

/**
 * Commissions that match a filter. The index of `readBy` finds them; the other conditions are checked row by row.
 */
export function matching(
  db: Reader,
  values: ShopFilter,
  readBy: IndexedColumn | undefined = mostSelectiveByKind(values),
) {
  const { status, affiliateId, programId, payoutBatchId, orderId, otherOrderId, from, to, before } = values
  let list = db.selectFrom('commissions').where('shopId', '=', values.shopId)
  const equal = (column: IndexedColumn, value: string | undefined) => {
    if (!value) return
    list = list.where(column === readBy ? column : withoutIndex(db, column), '=', value)
  }
  if (orderId) list = list.where('orderId', 'in', otherOrderId ? [orderId, otherOrderId] : [orderId])
  equal('payoutBatchId', payoutBatchId)
  equal('affiliateId', affiliateId)
  equal('orderStatus', status)
  equal('programId', programId)
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  return before ? list.where('happenedAt', '<', before) : list
}

/** The condition that usually matches the fewest rows. */
export function mostSelectiveByKind(filter: CommissionFilter): IndexedColumn | undefined {
  if (filter.orderId) return 'orderId'
  if (filter.payoutBatchId) return 'payoutBatchId'
  if (filter.affiliateId) return 'affiliateId'
  if (filter.status) return 'orderStatus'
  return filter.programId ? 'programId' : undefined
}

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

/** The exact number of matching commissions. Rows are read only where a filter matches few of them. */
export async function countCommissions(db: Reader, shopId: string, filter: CommissionFilter): Promise<number> {
  const { payoutBatchId, orderId, from, to, affiliateId, programId, status } = filter
  if (payoutBatchId || orderId) return countMatching(db, { ...filter, shopId })
  // Scopes of days contain a colon; ids of affiliates do not.
  if (affiliateId?.includes(':')) return countMatching(db, { ...filter, shopId })
  if (!from && !to) return countRows(db, shopId, { list: 'commissions', scope: affiliateId, programId, status })
  const isDated = (!from || (DAY.test(from) && from < LAST_DAY)) && (!to || DAY.test(to))
  return affiliateId || !isDated ? countMatching(db, { ...filter, shopId }) : countPeriod(db, shopId, filter)
}

/** Uses the stored counts of whole days, and counts the rows of the first and last day. */
async function countPeriod(db: Reader, shopId: string, filter: CommissionFilter): Promise<number> {
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
export async function findPageStart(
  db: Reader,
  shopId: string,
  filter: CommissionFilter,
  offset: number,
): Promise<{ before?: string; offset: number }> {
  const { programId, status, affiliateId, payoutBatchId, orderId, from, to } = filter
  const isNarrow = affiliateId || payoutBatchId || orderId || from || to
  if (offset < DEEP_OFFSET || isNarrow) return { offset }
  let skipped = 0
  let before: string | undefined
  for (const { day, rows } of await countByDay(db, { shopId, programId, status, from: 'day:', before: AFTER_DAYS })) {
    if (skipped + rows > offset) break
    skipped += rows
    before = day
  }
  return before === undefined ? { offset } : { before, offset: offset - skipped }
}

/** The condition that matches the fewest rows; several broad ones are compared by their counts. */
export async function findMostSelective(
  db: Reader,
  shopId: string,
  filter: CommissionFilter,
): Promise<IndexedColumn | undefined> {
  const { orderId, payoutBatchId, affiliateId, status, programId } = filter
  const broad: [IndexedColumn, Omit<CountFilter, 'list'>][] = []
  if (affiliateId) broad.push(['affiliateId', { scope: affiliateId }])
  if (status) broad.push(['orderStatus', { status }])
  if (programId) broad.push(['programId', { programId }])
  if (orderId || payoutBatchId || broad.length < 2) return mostSelectiveByKind(filter)
  const counted = await Promise.all(
    broad.map(async ([readBy, by]) => ({ readBy, rows: await countRows(db, shopId, { list: 'commissions', ...by }) })),
  )
  return counted.reduce((least, one) => (one.rows < least.rows ? one : least)).readBy
}

export const commissionList = defineReport(
  import.meta.url,
  'commissionList',
  (db, input: { shopId: string; query: Parameters<typeof listCommissions>[2] }) =>
    listCommissions(db, input.shopId, input.query),
)
