import type { Selectable, SelectQueryBuilder } from 'kysely'
import type { Tables } from '../db/tables.ts'
import { behind, type Place, type Walked } from './page-place.ts'

export interface PageQuery {
  /** Counted from 1. */
  page: number
  limit: number
  /** Begin behind this place; the first page then is what comes next. */
  start?: Place
}

export interface Page<Row> {
  data: Row[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** Every row before a page is read; beyond these, the list belongs in the report thread. */
const DEEP_OFFSET = 5000

export const isDeep = ({ page, limit }: PageQuery): boolean => (page - 1) * limit > DEEP_OFFSET

/** Rows, and how many there are on all pages, as a page. */
export const toPage = <Row>(data: Row[], { page, limit }: PageQuery, total: number): Page<Row> => ({
  data,
  pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
})

/** One page of a query that is already filtered and ordered, with the count of all its rows unless that is known. */
export async function pageOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  page: PageQuery,
  { total: known, list }: { total?: number; list?: Walked } = {},
): Promise<Page<Selectable<Row>>> {
  const total = known ?? (await countOf(query))
  const { limit, start } = page
  const offset = (page.page - 1) * limit
  const rest = start && list ? query.where(behind(list, start)) : query
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
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`
