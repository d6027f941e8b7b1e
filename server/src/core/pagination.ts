import type { ExpressionBuilder, Selectable, SelectQueryBuilder } from 'kysely'
import { invalid } from '../contract/errors.ts'
import type { Reader } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { Tables } from '../database/tables.ts'
import type { Context } from './context.ts'

/**
 * Where a list is to begin: behind the item that `after` names, or at its start.
 *
 * @throws ApiError 400 `invalid_parameter` when the shop has no such item, and for a page beside it.
 */
export async function readCursor(
  ctx: Context,
  list: CursorList,
  { after, page }: { after?: string | undefined; page: number },
): Promise<Cursor | undefined> {
  if (after === undefined) return undefined
  // Pages are counted from the start of the list; one behind an item would be none of those.
  if (page > 1) throw invalid('invalid_parameter', 'Send after or page, not both.')
  const place = await findCursor(ctx.db.read, ctx.shop.id, list, after)
  if (!place) throw invalid('invalid_parameter', 'after must be the id of an item of this list.')
  return place
}

export interface PageQuery {
  /** Counted from 1. */
  page: number
  limit: number
  /** Begin behind this place; the first page then is what comes next. */
  start?: Cursor
}

export interface Page<Row> {
  data: Row[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** Every row before a page is read; beyond these, the list belongs in the report thread. */
const DEEP_OFFSET = 5000

export const isDeepPage = ({ page, limit }: PageQuery): boolean => (page - 1) * limit > DEEP_OFFSET

/** Rows, and how many there are on all pages, as a page. */
export const toPage = <Row>(data: Row[], { page, limit }: PageQuery, total: number): Page<Row> => ({
  data,
  pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
})

/** One page of a query that is already filtered and ordered, with the count of all its rows unless that is known. */
export async function pageOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  page: PageQuery,
  { total: known, list }: { total?: number; list?: CursorList } = {},
): Promise<Page<Selectable<Row>>> {
  const total = known ?? (await countOf(query))
  const { limit, start } = page
  const offset = (page.page - 1) * limit
  const rest = start && list ? query.where(afterCursor(list, start)) : query
  const data = total <= offset ? [] : await rest.limit(limit).offset(offset).execute()
  return toPage(data as Selectable<Row>[], page, total)
}

/** How many rows a query has. */
export async function countOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
): Promise<number> {
  const { total } = await query
    .clearSelect()
    .clearOrderBy()
    .select((builder) => builder.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

/** A LIKE pattern that finds the text anywhere; `%` and `_` are ordinary characters of it. For use with `escape '\'`. */
export const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** Where an item stands in a list, newest first. */
export interface Cursor {
  at: string
  id: string
}

/** Lists that may begin behind an item, and what they are ordered by. */
const ORDER = {
  commissions: 'happenedAt',
  affiliates: 'createdAt',
  programs: 'createdAt',
  payoutBatches: 'createdAt',
} as const

export type CursorList = keyof typeof ORDER

const cursorBy = (list: CursorList) =>
  prepared<{ shopId: string; id: string }>()((db, { shopId, id }) =>
    db
      .selectFrom(list)
      .select([`${ORDER[list]} as at`, 'id'])
      .where('shopId', '=', shopId)
      .where('id', '=', id)
      .compile(),
  )

const cursors = {
  commissions: cursorBy('commissions'),
  affiliates: cursorBy('affiliates'),
  programs: cursorBy('programs'),
  payoutBatches: cursorBy('payoutBatches'),
}

/** Where the item with this id stands, archived ones too; undefined when the shop has none. */
export async function findCursor(
  db: Reader,
  shopId: string,
  list: CursorList,
  id: string,
): Promise<Cursor | undefined> {
  const [place] = (await cursors[list](db, { shopId, id })) as Cursor[]
  return place
}

/** The rows behind a place. One comparison of both columns, which an index finds without walking through equal times. */
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
