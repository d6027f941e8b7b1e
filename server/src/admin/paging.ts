import { type Html, html } from './html.ts'

const PAGE_SIZE = 25

interface Pagination {
  page: number
  total: number
  totalPages: number
}

/** Which page is wanted, and how much is on one. `name`: of the parameter, where a page has several lists. */
export function pageOf(query: URLSearchParams, name = 'page'): { page: number; limit: number } {
  const page = Number(query.get(name) ?? 1)
  return { page: Number.isSafeInteger(page) && page > 0 && page < 1_000_000 ? page : 1, limit: PAGE_SIZE }
}

/** One page of a list that is at hand as a whole. */
export function slice<T>(all: T[], query: URLSearchParams, name = 'page'): { data: T[]; pagination: Pagination } {
  const { page, limit } = pageOf(query, name)
  const pagination = { page, total: all.length, totalPages: Math.ceil(all.length / limit) }
  return { data: all.slice((page - 1) * limit, page * limit), pagination }
}

/** Links to the pages beside this one; nothing where there is only one. */
export function pager(path: string, query: URLSearchParams, pagination: Pagination, name = 'page'): Html {
  const { page, total, totalPages } = pagination
  if (totalPages < 2 && page === 1) return html``
  const to = (number: number) => {
    const there = new URLSearchParams(query)
    there.set(name, String(number))
    return `${path}?${there}`
  }
  return html`<nav class="pager" aria-label="Pages of this list">
${page > 1 ? html`<a class="button" rel="prev" href="${to(Math.max(1, Math.min(page - 1, totalPages)))}">Previous</a>` : ''}
<span>Page ${page} of ${totalPages} (${total} in all)</span>
${page < totalPages ? html`<a class="button" rel="next" href="${to(page + 1)}">Next</a>` : ''}
</nav>`
}
