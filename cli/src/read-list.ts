import type { PagedCall } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { rows as contractRows } from './contract.ts'
import type { Column } from './output/render.ts'
import type { Run } from './run.ts'

/** The service gives no more rows at once. */
const MOST = contractRows.list.most

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
export const pageOptions = (command: Command): Command =>
  command
    .addOption(new Option('--all', 'every row').conflicts(['limit', 'page']))
    .addOption(new Option('--limit <n>', 'how many rows').argParser(atLeastOne).default(contractRows.list.usual))
    .addOption(new Option('--page <n>', 'which page of --limit rows').argParser(atLeastOne).default(1))

/** How to ask the service for a list with so many rows a page. */
type Ask<T> = (paging: { limit: number; page?: number }) => PagedCall<T>

/** Prints the rows that were asked for, and says how many there are beside them. */
export async function printList<T extends object>(
  run: Run,
  options: ListOptions,
  { ask, columns }: { ask: Ask<T>; columns: readonly Column<T>[] },
): Promise<void> {
  if (options.all) {
    run.rows(await ask({ limit: MOST }).toArray(), columns)
    return
  }
  const { rows, total } = await readSome(ask, options)
  run.rows(rows, columns)
  if (rows.length < total) run.talk.note(`showing ${rows.length} of ${total}, use --all`)
  else if (total === 0 && run.style.isTerminal) run.talk.note('nothing there')
}

async function readSome<T extends object>(
  ask: Ask<T>,
  { limit, page }: ListOptions,
): Promise<{ rows: T[]; total: number }> {
  if (limit <= MOST) {
    const { data, pagination } = await ask({ limit, page })
    return { rows: data, total: pagination.total }
  }
  const skip = (page - 1) * limit
  const rows: T[] = []
  for (let at = Math.floor(skip / MOST) + 1; ; at++) {
    const { data, pagination } = await ask({ limit: MOST, page: at })
    rows.push(...data)
    const have = rows.length - (skip % MOST)
    if (have >= limit || at >= pagination.totalPages)
      return { rows: rows.slice(skip % MOST, (skip % MOST) + limit), total: pagination.total }
  }
}
