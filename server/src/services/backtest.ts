import type { Context } from '../context.ts'
import { programNotFound, totalTooLarge } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import type { Body } from '../http/spec.ts'
import { findProgram } from '../repositories/programs.ts'
import type { BacktestResult, BacktestWish } from './backtest-run.ts'
import { instantBody, period } from './instant.ts'
import { rateError } from './programs.ts'
import { report } from './report.ts'
import { precedenceOf } from './settings.ts'

const RUN = new URL('./backtest-run.ts', import.meta.url)

/**
 * Decides past orders again under other settings, and compares; aside, for it takes a while. Writes nothing.
 *
 * @throws ApiError 400 `invalid_body`, `commission_percent_invalid` or `period_invalid`, 404 `program_not_found`, 409
 *   `total_too_large`.
 */
export async function run(ctx: Context, wanted: Body<'runBacktest'>): Promise<components['schemas']['Backtest']> {
  const { attributionPrecedence } = wanted
  const precedence = attributionPrecedence && precedenceOf(attributionPrecedence)
  if (wanted.programId && !(await findProgram(ctx.db.read, ctx.shop.id, wanted.programId))) throw programNotFound()
  const bounds = period(instantBody('from', wanted.from), instantBody('to', wanted.to))
  const wish: BacktestWish = {
    ...bounds,
    shopId: ctx.shop.id,
    currency: ctx.shop.currency,
    wanted,
    ...(precedence && { precedence }),
  }
  const done = await report<BacktestResult>(ctx, RUN, wish)
  if ('refused' in done) throw rateError(done.refused.reason, done.refused.type)
  if (!done.report) throw totalTooLarge()
  return done.report
}
