import type { PagedCall } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { pageLimits } from './contract.ts'
import type { Column } from './output/render.ts'
import type { Run } from './run.ts'

/** The service gives no more rows at once. */
const MAX_PAGE_SIZE = pageLimits.list.max

export interface ListOptions {
  all?: boolean
  limit: number
  page: number
}

const atLeastOne = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.')
  return value
}

/** --all, --limit and --page of every list. */
export const addPageOptions = (command: Command): Command =>
  command
    .addOption(new Option('--all', 'every row').conflicts(['limit', 'page']))
    .addOption(new Option('--limit <n>', 'how many rows').argParser(atLeastOne).default(pageLimits.list.default))
    .addOption(new Option('--page <n>', 'which page of --limit rows').argParser(atLeastOne).default(1))

/** How to ask the service for a list with so many rows a page. */
type FetchPage<T> = (paging: { limit: number; page?: number }) => PagedCall<T>

/** Prints the rows that were asked for, and says how many there are beside them. */
export async function printList<T extends object>(
  run: Run,
  options: ListOptions,
  { fetchPage, columns }: { fetchPage: FetchPage<T>; columns: readonly Column<T>[] },
): Promise<void> {
  if (options.all) {
    run.printRows(await fetchPage({ limit: MAX_PAGE_SIZE }).toArray(), columns)
    return
  }
  const { rows, total } = await fetchRows(fetchPage, options)
  run.printRows(rows, columns)
  if (rows.length < total) run.reporter.info(`showing ${rows.length} of ${total}, use --all`)
  else if (total === 0 && run.style.isTerminal) run.reporter.info('nothing there')
}

async function fetchRows<T extends object>(
  fetchPage: FetchPage<T>,
  { limit, page }: ListOptions,
): Promise<{ rows: T[]; total: number }> {
  if (limit <= MAX_PAGE_SIZE) {
    const { data, pagination } = await fetchPage({ limit, page })
    return { rows: data, total: pagination.total }
  }
  const skip = (page - 1) * limit
  const rows: T[] = []
  for (let at = Math.floor(skip / MAX_PAGE_SIZE) + 1; ; at++) {
    const { data, pagination } = await fetchPage({ limit: MAX_PAGE_SIZE, page: at })
    rows.push(...data)
    const have = rows.length - (skip % MAX_PAGE_SIZE)
    if (have >= limit || at >= pagination.totalPages)
      return { rows: rows.slice(skip % MAX_PAGE_SIZE, (skip % MAX_PAGE_SIZE) + limit), total: pagination.total }
  }
}
