import type { ExpressionBuilder, Selectable, SelectQueryBuilder } from 'kysely'
import { invalid, invalidField } from '../contract/errors.ts'
import type { Reader } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import type { Context } from './context.ts'

/**
 * The position after which a list starts: the item with the id `after`; undefined for the start of the list.
 *
 * @throws ApiError 400 `invalid_parameter` when the shop has no such item, or when `page` is also sent.
 */
export async function readCursor(
  ctx: Context,
  list: CursorList,
  { after, page }: { after?: string | undefined; page: number },
): Promise<Cursor | undefined> {
  if (after === undefined) return undefined
  // Pages are counted from the start of the list, so a page after an item is not defined.
  if (page > 1) throw invalid('invalid_parameter', 'Send after or page, not both.')
  const cursor = await findCursor(ctx.db.read, ctx.shop.id, list, after)
  if (!cursor) throw invalidField('invalid_parameter', 'after', 'must be the id of an item of this list.')
  return cursor
}

/** For readers of a whole list, who would count it at each page. */
export interface Uncounted {
  /** The rows are not counted, so the total is not known. */
  isUncounted?: boolean
}

export interface PageQuery extends Uncounted {
  /** Counted from 1. */
  page: number
  limit: number
  /** The list starts after this item; page 1 follows it. */
  start?: Cursor
}

export interface Page<Row> {
  data: Row[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** A page from its rows and the total number of rows. */
export const toPage = <Row>(data: Row[], { page, limit }: PageQuery, total: number): Page<Row> => ({
  data,
  pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
})

/** One page of a filtered and ordered query. Counts all its rows unless `total` is given. */
export async function pageOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  page: PageQuery,
  { total: known, list }: { total?: number; list?: CursorList } = {},
): Promise<Page<Selectable<Row>>> {
  const total = known ?? (page.isUncounted ? Number.MAX_SAFE_INTEGER : await countOf(query))
  const { limit, start } = page
  const offset = (page.page - 1) * limit
  const rest = start && list ? query.where(afterCursor(list, start)) : query
  const data = total <= offset ? [] : await rest.limit(limit).offset(offset).execute()
  return toPage(data as Selectable<Row>[], page, total)
}

/** The number of rows of a query. */
export async function countOf<DB, Table extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Table, Row>,
): Promise<number> {
  const counted = query
    .clearSelect()
    .clearOrderBy()
    .select((builder) => builder.fn.countAll<number>().as('total'))
  // Kysely's types cannot follow tables that are a parameter.
  const { total } = (await counted.executeTakeFirstOrThrow()) as { total: number }
  return total
}

/** A LIKE pattern that matches the text anywhere, with `%` and `_` escaped. For use with `escape '\'`. */
export const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The position of an item in a list that is sorted newest first. */
export interface Cursor {
  at: string
  id: string
}

/** Lists that accept `after`, and the column they are sorted by. */
const ORDER = {
  commissions: 'happenedAt',
  affiliates: 'createdAt',
  programs: 'createdAt',
  payoutBatches: 'createdAt',
  customers: 'createdAt',
} as const

type CursorList = keyof typeof ORDER

/** The position of the item with this ID, archived or not; undefined when the shop has no such item. */
async function findCursor(db: Reader, shopId: string, list: CursorList, id: string): Promise<Cursor | undefined> {
  const items = db.selectFrom(list).select([`${ORDER[list]} as at`, 'id'])
  return (await items.where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()) as Cursor | undefined
}

/** The condition for rows after a cursor: one row comparison, so an index seeks to it even among equal times. */
export const afterCursor =
  (list: CursorList, { at, id }: Cursor) =>
  // biome-ignore lint/suspicious/noExplicitAny: any of the tables
  (eb: ExpressionBuilder<Tables, any>) =>
    eb(eb.refTuple(`${list}.${ORDER[list]}`, `${list}.id`), '<', eb.tuple(at, id))

/** A page of rows as a page of wire objects. */
export const mapPage = <Row, Item>({ data, pagination }: Page<Row>, map: (row: Row) => Item): Page<Item> => ({
  data: data.map(map),
  pagination,
})
