import type { Context } from '../context.ts'
import type { Query } from '../http/spec.ts'
import { listCommissions } from '../repositories/commission-list.ts'
import { instantParam, period } from './instant.ts'
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
  return listCommissions(ctx.db.read, ctx.shop.id, { ...query, ...bounds, externalOrderId, start })
}
