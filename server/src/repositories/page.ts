import type { Selectable, SelectQueryBuilder } from 'kysely'
import type { Tables } from '../db/tables.ts'

export interface PageQuery {
  /** Counted from 1. */
  page: number
  limit: number
}

export interface Page<Row> {
  data: Row[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** One page of a query that is already filtered and ordered, with the count of all its rows. */
export async function pageOf<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { page, limit }: PageQuery,
): Promise<Page<Selectable<Row>>> {
  const { total } = await query
    .clearSelect()
    .clearOrderBy()
    .select((builder) => builder.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const data =
    total === 0
      ? []
      : await query
          .limit(limit)
          .offset((page - 1) * limit)
          .execute()
  return { data: data as Selectable<Row>[], pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } }
}

/** A LIKE pattern that finds the text anywhere; `%` and `_` are ordinary characters of it. For use with `escape '\'`. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`
