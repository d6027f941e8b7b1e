import { type Call, LazyCall } from './call.ts'
import type { CallInput, Core, WithResponse } from './core.ts'

/** The reply to a list operation. */
interface PageReply<T> {
  data: T[]
  pagination: { page: number; limit: number; total: number; totalPages: number }
}

/** One page of a list. */
export interface Page<T> extends PageReply<T> {
  readonly hasNextPage: boolean
  /**
   * Returns the page after this one.
   *
   * @throws {ReferralError} as the list itself.
   *
   * @example
   * let page = await client.affiliates.list({ limit: 50 })
   * while (page.hasNextPage) page = await page.nextPage()
   */
  nextPage(): Call<Page<T>>
}

/**
 * A list. `await` returns its first page, or the requested page. `for await` iterates over all rows, from
 * `page` or after `after` when given. No request is sent before that.
 */
export interface PagedCall<T> extends Call<Page<T>>, AsyncIterable<T> {
  /**
   * Returns one page.
   *
   * @param number Counted from 1.
   * @throws {ReferralError} as the list itself.
   *
   * @example
   * const { data, pagination } = await client.affiliates.list({ limit: 50 }).page(2)
   */
  page(number: number): Call<Page<T>>
  /**
   * Returns all rows, or the first `limit` of them.
   *
   * @param options `limit` is the number of rows to stop at.
   * @throws {ReferralError} as the list itself.
   *
   * @example
   * const newest = await client.commissions.list().toArray({ limit: 10 })
   */
  toArray(options?: { limit?: number }): Promise<T[]>
}

/** A row, identified by its `id`, an order by its stored ID, a coupon by its affiliate, or a geo rule by its program. */
type Row = { id?: string; orderId?: string; affiliateId?: string | null; programId?: string | null }

const idOf = (row: Row): string => row.id ?? row.orderId ?? row.affiliateId ?? row.programId!

/** Picks a page as it is. */
export const pickPage = <Row>(page: PageReply<Row>): PageReply<Row> | undefined =>
  Array.isArray(page.data) && page.pagination ? page : undefined

/** Calls a list operation. */
export const listCall = <Query extends PageQuery | undefined, Item, T extends Row>(
  core: Core,
  input: CallInput<Query, undefined, PageReply<Item>, PageReply<T>> & { query: Query },
): PagedCall<T> => {
  const fetchPage: FetchPage<T> = async (query, isStreamed) => {
    const result = await core.run({ ...input, isStreamed, query: { ...input.query, ...query } })
    return { ...result, data: new ListPage(result.data, query, fetchPage) }
  }
  return new PagedList(input.query ?? {}, fetchPage)
}

type PageQuery = { page?: number | undefined; limit?: number | undefined; after?: string | undefined }
type FetchPage<T> = (query: PageQuery, isStreamed?: boolean) => Promise<WithResponse<Page<T>>>

class ListPage<T extends Row> implements Page<T> {
  readonly data: T[]
  readonly pagination: PageReply<T>['pagination']
  readonly #query: PageQuery
  readonly #fetchPage: FetchPage<T>

  constructor({ data, pagination }: PageReply<T>, query: PageQuery, fetchPage: FetchPage<T>) {
    this.data = data
    this.pagination = pagination
    this.#query = query
    this.#fetchPage = fetchPage
  }

  get hasNextPage(): boolean {
    const { page, limit, totalPages } = this.pagination
    return this.#query.after ? this.data.length >= limit : page < totalPages
  }

  nextPage(): Call<Page<T>> {
    const last = this.data.at(-1)
    const next = this.#query.after && last ? { after: idOf(last) } : { page: this.pagination.page + 1 }
    return new LazyCall((isStreamed) => this.#fetchPage({ ...this.#query, ...next }, isStreamed))
  }
}

class PagedList<T extends Row> extends LazyCall<Page<T>> implements PagedCall<T> {
  readonly #query: PageQuery
  readonly #fetchPage: FetchPage<T>

  constructor(query: PageQuery, fetchPage: FetchPage<T>) {
    super((isStreamed) => fetchPage(query, isStreamed))
    this.#query = query
    this.#fetchPage = fetchPage
  }

  page(page: number): Call<Page<T>> {
    return new LazyCall((isStreamed) => this.#fetchPage({ ...this.#query, page }, isStreamed))
  }

  async toArray({ limit = Infinity }: { limit?: number } = {}): Promise<T[]> {
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
      after = idOf(last)
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
        const id = idOf(row)
        if (seen.has(id)) continue
        seen.add(id)
        rereads = 0
        yield row
      }
      if (page >= pagination.totalPages) return
    }
  }
}
