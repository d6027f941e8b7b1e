import { defineReport, type Reader, type Report } from '../database/database.ts'
import type { Context, OwnerContext } from './context.ts'
import type { PageQuery } from './pagination.ts'
import { type CountFilter, countByStatus, countRows } from './queries.ts'

/** More rows than other requests may wait for. */
export const MAX_INLINE_ROWS = 5000

/**
 * The rows that a query reads one by one: their number, or whether the shop has so many that a page does not wait for them.
 * Undefined when an index finds the rows of the page.
 */
export type ReadCost = number | ((db: Reader, shopId: string) => Promise<boolean>) | undefined

/** A shop's report. */
type ShopReport<Query, Result> = Report<{ shopId: string; query: Query }, Result>

/** What knows the cost of a query. */
interface HasCost<Filter> {
  name: string
  cost: (query: Filter) => ReadCost
}

/** A list of a shop, which knows which of its queries are expensive. */
export interface List<Query, Result, Filter = Query> extends ShopReport<Query, Result>, HasCost<Filter> {}

/**
 * Declares a list. The report thread imports the module and finds the list by the name of its export.
 *
 * @example
 * export const couponList = defineList(import.meta.url, 'couponList', {
 *   read: listCoupons,
 *   cost: ({ code }) => (code ? rowsOf({ list: 'affiliates' }) : undefined),
 * })
 */
export const defineList = <Query extends Filter, Result, Filter>(
  module: string,
  name: string,
  {
    read,
    cost,
  }: { read: (db: Reader, shopId: string, query: Query) => Promise<Result>; cost: (query: Filter) => ReadCost },
): List<Query, Result, Filter> => ({
  ...defineReport(module, name, (db, input: { shopId: string; query: Query }) => read(db, input.shopId, input.query)),
  cost,
})

/** A list as callers read it. Pages ask it what a query costs. */
export interface ListReader<Query, Result> {
  (ctx: OwnerContext, query: Query): Promise<Result>
  listName: string
  cost(query: NoInfer<Query>): ReadCost
}

export const defineReader = <Filter, Read extends (ctx: never, query: never) => Promise<unknown>>(
  { name: listName, cost }: HasCost<Filter>,
  read: Read,
) => Object.assign(read, { listName, cost })

/** All rows of a list with a stored count. */
export const rowsOf =
  (filter: CountFilter): ReadCost =>
  async (db, shopId) =>
    (await countRows(db, shopId, filter)) > MAX_INLINE_ROWS

/** Whether the database reads many rows before the page. */
export const isDeep = ({ page, limit }: PageQuery): boolean => (page - 1) * limit > MAX_INLINE_ROWS

/**
 * Reads a list or a report of the shop. An expensive one runs in the report thread, where it blocks no other request. It may
 * have been queued for a while, so the caller's credential is checked again before the result is returned.
 *
 * @throws ApiError as for a new request when the credential is no longer valid.
 */
export async function readFrom<Query, Result>(
  ctx: Context,
  source: ShopReport<Query, Result> & Partial<HasCost<Query>>,
  query: Query,
  timeoutMs?: number,
): Promise<Result> {
  const input = { shopId: ctx.shop.id, query }
  if (source.cost && source.cost(query) === undefined) return source.run(ctx.db.read, input)
  const result = await ctx.db.runReport(source, { ...input, ownerId: ctx.shop.testOf ?? undefined }, timeoutMs)
  await ctx.recheck?.(ctx.db.read)
  return result
}

/** The exact number of rows of a list of the shop, from the stored counts. */
export const sizeOf = ({ db, shop }: Context, filter: CountFilter): Promise<number> =>
  countRows(db.read, shop.id, filter)

/** The exact number of rows of a list by status, from the stored counts. */
export const sizesByStatus = ({ db, shop }: Context, filter: CountFilter): Promise<Map<string, number>> =>
  countByStatus(db.read, shop.id, filter)
