import { type Call, LazyCall, type WithResponse } from './call.ts'

/** One page of a list. */
export interface Page<T> {
  data: T[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/**
 * A list. `for await` reads it row by row to its end, from `page` or behind `after` where you said so; `await` gives the first page (or the one you asked for).
 * Nothing is sent before you do either.
 */
export interface PagedCall<T> extends Call<Page<T>>, AsyncIterable<T> {
  /** One page, counted from 1. */
  page(number: number): Call<Page<T>>
  /** All rows, or the first `limit` of them. */
  toArray(options?: { limit?: number }): Promise<T[]>
}

export type PageQuery = { page?: number; limit?: number; after?: string }

export class Paged<T extends object> extends LazyCall<Page<T>> implements PagedCall<T> {
  readonly #query: PageQuery
  readonly #read: (query: PageQuery) => Promise<WithResponse<Page<T>>>
  readonly #key: (row: T) => unknown

  constructor(query: PageQuery, read: (query: PageQuery) => Promise<WithResponse<Page<T>>>, key: (row: T) => unknown) {
    super(() => read(query))
    this.#query = query
    this.#read = read
    this.#key = key
  }

  page(page: number): Call<Page<T>> {
    return new LazyCall(() => this.#read({ ...this.#query, page }))
  }

  async toArray({ limit = Number.POSITIVE_INFINITY }: { limit?: number } = {}): Promise<T[]> {
    const rows: T[] = []
    if (limit <= 0) return rows
    for await (const row of this) if (rows.push(row) >= limit) break
    return rows
  }

  /**
   * Each row once, also when rows come and go while it reads: a row that slid to a later page is known already, and
   * when the list shrank the pages before are read again, because rows slid there.
   */
  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    let { page: first = 1, limit = 100, after } = this.#query
    // Behind an item there are no pages to count: each step begins behind the last row of a full one.
    while (after) {
      const { data } = (await this.#read({ ...this.#query, after, limit })).data
      yield* data
      const last = data[limit - 1]
      if (!last) return
      after = String(this.#key(last))
    }
    const seen = new Set<unknown>()
    let before = 0
    let stepsBack = 0
    for (let page = first; ; page++) {
      const { data, pagination } = (await this.#read({ ...this.#query, page, limit })).data
      const gone = before - pagination.total
      before = pagination.total
      // Not for ever: others may add and remove rows all the time.
      if (gone > 0 && page > first && stepsBack++ < 3) {
        page = Math.max(first, page - Math.ceil(gone / limit)) - 1
        continue
      }
      for (const row of data) {
        const key = this.#key(row)
        if (seen.has(key)) continue
        seen.add(key)
        stepsBack = 0
        yield row
      }
      if (page >= pagination.totalPages) return
    }
  }
}
