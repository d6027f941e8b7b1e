import type { Context } from '../context.ts'
import type { Query } from '../http/spec.ts'
import { isDeep } from '../repositories/page.ts'
import { instantParam, period } from './instant.ts'
import { readList } from './lists.ts'
import { placeAfter } from './paging.ts'

/**
 * Lists commissions by `happenedAt`, newest first (section 4.3).
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export async function list(ctx: Context, query: Query<'listCommissions'>) {
  const bounds = period(instantParam('from', query.from), instantParam('to', query.to))
  const externalOrderId = query.externalOrderId?.trim()
  const start = await placeAfter(ctx, 'commissions', query)
  const { affiliateId, payoutBatchId, from, to } = query
  // These are counted row by row; other totals are kept, and other deep pages begin at the count of a day.
  const isCounted = payoutBatchId || (affiliateId && (from || to))
  const isWalked = isDeep(query) && (affiliateId || from || to)
  const filter = { ...query, ...bounds, externalOrderId, start }
  return readList(ctx, 'commissions', filter, Boolean(isCounted || isWalked))
}
