import { type Call, LazyCall, type WithResponse } from './call.ts'
import type { Core } from './core.ts'
import type { CallOptions } from './options.ts'
import type { Open, Operation, OperationId, Query, ResponseBody } from './types.ts'

/** One page of a list. */
export interface Page<T> {
  data: T[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/**
 * A list. `await` returns its first page, or the requested page. `for await` iterates over all rows, from
 * `page` or after `after` when given. No request is sent before that.
 */
export interface PagedCall<T> extends Call<Page<T>>, AsyncIterable<T> {
  /** Returns one page, counted from 1. */
  page(number: number): Call<Page<T>>
  /** Returns all rows, or the first `limit` of them. */
  toArray(options?: { limit?: number }): Promise<T[]>
}

interface ListInput<Id extends OperationId, Row> {
  query: Query<Id> | undefined
  options: CallOptions | undefined
  pick: (body: Open<ResponseBody<Id>>) => Page<Row>
  /** Identifies a row, to skip duplicates and to continue after it. */
  rowId: (row: Row) => string
}

/** Calls a list operation. */
export const listCall = <Id extends OperationId, Row extends object>(
  core: Core,
  operation: Operation<Id>,
  { query, options, pick, rowId }: ListInput<Id, Row>,
): PagedCall<Row> =>
  new PagedList(
    (query ?? {}) as PageQuery,
    (page) => core.request(operation, { query: page as Query<Id>, options, pick }),
    rowId,
  )

type PageQuery = { page?: number; limit?: number; after?: string }
type FetchPage<T> = (query: PageQuery) => Promise<WithResponse<Page<T>>>

class PagedList<T extends object> extends LazyCall<Page<T>> implements PagedCall<T> {
  readonly #query: PageQuery
  readonly #fetchPage: FetchPage<T>
  readonly #rowId: (row: T) => string

  constructor(query: PageQuery, fetchPage: FetchPage<T>, rowId: (row: T) => string) {
    super(() => fetchPage(query))
    this.#query = query
    this.#fetchPage = fetchPage
    this.#rowId = rowId
  }

  page(page: number): Call<Page<T>> {
    return new LazyCall(() => this.#fetchPage({ ...this.#query, page }))
  }

  async toArray({ limit = Number.POSITIVE_INFINITY }: { limit?: number } = {}): Promise<T[]> {
    const rows: T[] = []
    if (limit <= 0) return rows
    for await (const row of this) if (rows.push(row) >= limit) break
    return rows
  }

  /**
   * Yields each row once, even when rows are added or removed during the iteration: rows that moved to a later page are skipped, and
   * if the list shrinks, earlier pages are re-read, because rows moved there.
   */
  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    let { page: firstPage = 1, limit = 100, after } = this.#query
    // A cursor has no page numbers: each request continues after the last row of a full page.
    while (after) {
      const { data } = (await this.#fetchPage({ ...this.#query, after, limit })).data
      yield* data
      const last = data[limit - 1]
      if (!last) return
      after = this.#rowId(last)
    }
    const seen = new Set<string>()
    let previousTotal = 0
    let rereads = 0
    for (let page = firstPage; ; page++) {
      const { data, pagination } = (await this.#fetchPage({ ...this.#query, page, limit })).data
      const removed = previousTotal - pagination.total
      previousTotal = pagination.total
      // Bounded, because other requests may keep adding and removing rows.
      if (removed > 0 && page > firstPage && rereads++ < 3) {
        page = Math.max(firstPage, page - Math.ceil(removed / limit)) - 1
        continue
      }
      for (const row of data) {
        const id = this.#rowId(row)
        if (seen.has(id)) continue
        seen.add(id)
        rereads = 0
        yield row
      }
      if (page >= pagination.totalPages) return
    }
  }
}
