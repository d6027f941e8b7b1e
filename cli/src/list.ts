import type { PagedCall, ReferralClient } from '@referral/sdk'
import { type Command, Option } from 'commander'
import { defineCommand } from './command.ts'
import { pageLimits } from './contract.ts'
import { notFoundError } from './errors.ts'
import { integerBetween } from './options.ts'
import type { Column } from './output/render.ts'
import type { Run } from './run.ts'

const MAX_PAGE_SIZE = pageLimits.list.max

export interface ListOptions {
  all?: boolean
  limit: number
  page: number
}

/** --all, --limit and --page. */
export const addPageOptions = (command: Command): Command =>
  command
    .addOption(new Option('--all', 'all rows').conflicts(['limit', 'page']))
    .addOption(
      new Option('--limit <n>', 'number of rows').argParser(integerBetween(1)).default(pageLimits.list.default),
    )
    .addOption(
      new Option('--page <n>', 'page number, in pages of --limit rows').argParser(integerBetween(1)).default(1),
    )

/** Requests one page of a list. */
type FetchPage<T> = (paging: { limit: number; page?: number }) => PagedCall<T>

/** Prints the selected rows, and reports how many there are in total. */
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
}

/** A limit above the API's page size takes several requests. */
async function fetchRows<T extends object>(
  fetchPage: FetchPage<T>,
  { limit, page }: ListOptions,
): Promise<{ rows: T[]; total: number }> {
  if (limit <= MAX_PAGE_SIZE) {
    const { data, pagination } = await fetchPage({ limit, page })
    return { rows: data, total: pagination.total }
  }
  const offset = (page - 1) * limit
  const skipped = offset % MAX_PAGE_SIZE
  const rows: T[] = []
  for (let apiPage = Math.floor(offset / MAX_PAGE_SIZE) + 1; ; apiPage++) {
    const { data, pagination } = await fetchPage({ limit: MAX_PAGE_SIZE, page: apiPage })
    rows.push(...data)
    if (rows.length - skipped >= limit || apiPage >= pagination.totalPages)
      return { rows: rows.slice(skipped, skipped + limit), total: pagination.total }
  }
}

/** Adds `get <id>`, which reads one row of the parent's list. */
export const defineGet = (
  parent: Command,
  output: string,
  prefix: string,
  find: (client: ReferralClient, id: string) => PromiseLike<{ data: object[] }>,
): Command =>
  defineCommand(parent, 'get <id>', {
    summary: 'show one by its id',
    output,
    examples: [`referral ${parent.name()} get ${prefix}_…`],
    action: async (run, { args: [id = ''] }) => {
      const [row] = (await find(await run.client(), id)).data
      if (!row) throw notFoundError(`${id} does not exist in your shop.`, `Run \`referral ${parent.name()} list\`.`)
      run.printRecord(row)
    },
  })
