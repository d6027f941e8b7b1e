import type { Report, ReportRequest } from '../database/database.ts'
import type { Context } from './context.ts'

/**
 * Runs a report in the report thread. The report may have been queued for a while, so the caller's credential is checked
 * again before the result is returned.
 *
 * @throws ApiError as for a new request when the credential is no longer valid.
 */
export async function runReport<Input extends ReportRequest, Result>(
  ctx: Context,
  report: Report<Input, Result>,
  input: Input,
  timeoutMs?: number,
): Promise<Result> {
  const result = await ctx.db.runReport(report, { ...input, ownerId: ctx.shop.testOf ?? undefined }, timeoutMs)
  await ctx.recheck?.(ctx.db.read)
  return result
}

/** A list of a shop that can run as a report. */
export type ListReport<Filter, Page> = Report<{ shopId: string; query: Filter }, Page>

/**
 * Reads a list of the shop. `readsMany`: the query may read far more rows than it returns, so it runs in the report thread,
 * where it blocks no other request.
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
