import { html } from 'hono/html'
import type { Html } from './route.ts'

export const PAGE_SIZE = 25

/** Which page is wanted, and how much is on one. */
export function pageOf(query: URLSearchParams): { page: number; limit: number } {
  const page = Number(query.get('page') ?? 1)
  return { page: Number.isSafeInteger(page) && page > 0 && page < 1_000_000 ? page : 1, limit: PAGE_SIZE }
}

/** Links to the pages beside this one; nothing where there is only one. */
export function pager(path: string, query: URLSearchParams, { page, total, totalPages }: Pagination): Html {
  if (totalPages < 2 && page === 1) return html``
  const to = (number: number) => {
    const there = new URLSearchParams(query)
    there.set('page', String(number))
    return `${path}?${there}`
  }
  return html`<nav class="pager" aria-label="Pages of this list">
${page > 1 ? html`<a class="button" rel="prev" href="${to(Math.min(page - 1, Math.max(1, totalPages)))}">Previous</a>` : ''}
<span>Page ${page} of ${totalPages} (${total} in all)</span>
${page < totalPages ? html`<a class="button" rel="next" href="${to(page + 1)}">Next</a>` : ''}
</nav>`
}

interface Pagination {
  page: number
  total: number
  totalPages: number
}
