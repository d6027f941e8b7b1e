import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { defineList, defineReader, readFrom, rowsOf } from '../../core/lists.ts'
import { afterCursor, type Cursor, readCursor } from '../../core/pagination.ts'
import { withoutIndex } from '../../core/queries.ts'
import { checkPeriod, parseQueryInstant } from '../../core/time.ts'
import type { Reader } from '../../database/database.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { orderKey } from '../../engine/normalize.ts'
import { findCommissionsById, listRefundedCents, toCommission } from '../ledger/commissions.ts'

type Commission = components['schemas']['Commission']

/** A search by amount, with the list's other conditions. All bounds are inclusive. */
interface CommissionSearch {
  status?: CommissionRow['orderStatus'] | undefined
  affiliateId?: string | undefined
  programId?: string | undefined
  from?: string | undefined
  to?: string | undefined
  /** The currency of the commission. */
  currency?: string | undefined
  minAmountCents?: number | undefined
  maxAmountCents?: number | undefined
  /** The list continues after this commission. */
  after?: string | undefined
  limit: number
}

/** Commissions found by a search, newest first. Matching rows are not counted, because that would read all of them. */
interface FoundCommissions {
  data: Commission[]
  /** Where the search continues; undefined at the end of the list. */
  next: { after: string; at: string } | undefined
}

type SearchQuery = CommissionSearch & { start: Cursor | undefined }

/** The rows that one search reads. */
const MAX_READ = 5000

/** The ids of a page, and the last row that was read. */
async function searchCommissions(
  db: Reader,
  shopId: string,
  query: SearchQuery,
): Promise<{ ids: string[]; next: FoundCommissions['next'] }> {
  const { affiliateId, status, programId, from, to, start, currency } = query
  const { minAmountCents: min = 0 - Number.MAX_SAFE_INTEGER, maxAmountCents: max = Number.MAX_SAFE_INTEGER } = query
  let list = db
    .selectFrom('commissions')
    .select(['id', 'happenedAt', 'currency', 'commissionAmountCents'])
    .where('shopId', '=', shopId)
  // The index of one condition also sorts; the others are checked row by row.
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  if (status) list = list.where(affiliateId ? withoutIndex(db, 'orderStatus') : 'orderStatus', '=', status)
  const isOther = affiliateId || status
  if (programId) list = list.where(isOther ? withoutIndex(db, 'programId') : 'programId', '=', programId)
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  if (start) list = list.where(afterCursor('commissions', start))
  const rows = await list.orderBy('happenedAt', 'desc').orderBy('id', 'desc').limit(MAX_READ).execute()
  const matching = rows.filter(
    (row) =>
      (!currency || row.currency === currency) && row.commissionAmountCents >= min && row.commissionAmountCents <= max,
  )
  const page = matching.slice(0, query.limit)
  const isCut = matching.length > page.length
  const last = isCut ? page.at(-1) : rows.length === MAX_READ ? rows.at(-1) : undefined
  return { ids: page.map(({ id }) => id), next: last && { after: last.id, at: last.happenedAt } }
}

export const commissionSearch = defineList(import.meta.url, 'commissionSearch', {
  read: searchCommissions,
  cost: () => rowsOf({ list: 'commissions' }),
})

/**
 * Finds commissions by amount. No index has amounts, so each call reads a part of the list in the report worker, and can find
 * less than a page.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export const search = defineReader(
  commissionSearch,
  async (ctx: Context, query: CommissionSearch): Promise<FoundCommissions> => {
    const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
    const start = await readCursor(ctx, 'commissions', { after: query.after, page: 1 })
    const page = await readFrom(ctx, commissionSearch, { ...query, ...bounds, start })
    const rows = await findCommissionsById(ctx.db.read, ctx.shop.id, page.ids)
    const byId = new Map(rows.map((row) => [row.id, row]))
    const data = page.ids.flatMap((id) => byId.get(id) ?? []).map(toCommission)
    return { data, next: page.next }
  },
)

const MAX_NAMED = 25

/** Commissions of the orders with a name, such as `#1001`. Stores put `#` before it, which may be left out. */
export async function findByOrderName(ctx: Context, name: string): Promise<Commission[]> {
  const key = orderKey(name)
  const rows = await ctx.db.read
    .selectFrom('commissions')
    .selectAll()
    .where('shopId', '=', ctx.shop.id)
    .where('orderName', 'in', [key, `#${key}`])
    .orderBy('orderName')
    .orderBy('id')
    .limit(MAX_NAMED)
    .execute()
  return rows.map(toCommission)
}

/** The order as the merchant knows it. */
export const orderNameOf = (commission: Pick<Commission, 'orderName' | 'externalOrderId' | 'orderId'>): string =>
  commission.orderName || commission.externalOrderId || commission.orderId

/** The names of the orders of up to a page of commissions, by commission id. */
export async function orderNames({ db, shop }: Context, ids: string[]): Promise<Map<string, string>> {
  const rows = await findCommissionsById(db.read, shop.id, [...new Set(ids)])
  return new Map(rows.map((row) => [row.id, orderNameOf(row)]))
}

/** The goods that were refunded of up to a page of commissions, in cents by commission id. */
export const refundedCents = ({ db, shop }: Context, ids: string[]): Promise<Map<string, number>> =>
  listRefundedCents(db.read, shop.id, ids)
