import type { Context } from './context.ts'

/**
 * Runs a report in the report thread. It may have waited there for a while, so the caller's credential is checked again
 * before the result is shown.
 *
 * @throws ApiError as for a new request when the credential no longer opens this.
 */
export async function report<T>(ctx: Context, ...job: Parameters<Context['db']['aside']>): Promise<T> {
  const result = await ctx.db.aside<T>(...job)
  await ctx.recheck?.(ctx.db.read)
  return result
}
