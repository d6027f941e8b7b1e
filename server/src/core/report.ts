import type { Report, ReportRequest } from '../database/database.ts'
import type { Context } from './context.ts'

/**
 * Runs a report in the report thread. It may have waited there for a while, so the caller's credential is checked again
 * before the result is shown.
 *
 * @throws ApiError as for a new request when the credential no longer opens this.
 */
export async function runReport<Input extends ReportRequest, Result>(
  ctx: Context,
  report: Report<Input, Result>,
  input: Input,
): Promise<Result> {
  const result = await ctx.db.runReport(report, input)
  await ctx.recheck?.(ctx.db.read)
  return result
}

/** A list of a shop that may run as a report. */
export type ListReport<Filter, Page> = Report<{ shopId: string; query: Filter }, Page>

/**
 * Reads a list of the shop. `readsMany`: the list may read far more rows than it shows, so it runs in the report thread,
 * where no other request waits for it.
 */
export const readList = <Filter, Page>(
  ctx: Context,
  list: ListReport<Filter, Page>,
  query: Filter,
  readsMany: boolean,
): Promise<Page> => {
  const input = { shopId: ctx.shop.id, query }
  return readsMany ? runReport(ctx, list, input) : list.run(ctx.db.read, input)
}
