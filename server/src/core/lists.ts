import { listConnections } from '../affiliates/connection-queries.ts'
import { listAffiliates } from '../affiliates/queries.ts'
import { listCommissions } from '../commissions/list-queries.ts'
import { listCoupons } from '../coupons/queries.ts'
import type { RunAside } from '../database/report-thread.ts'
import { listJourney } from '../journey/queries.ts'
import { listDeliveries } from '../webhooks/delivery-queries.ts'
import { listAudits } from './audit.ts'
import type { Context } from './context.ts'
import { report } from './report.ts'

const LISTS = {
  affiliates: listAffiliates,
  audits: listAudits,
  commissions: listCommissions,
  connections: listConnections,
  coupons: listCoupons,
  deliveries: listDeliveries,
  journey: listJourney,
}

type List = keyof typeof LISTS
type Filter<L extends List> = Parameters<(typeof LISTS)[L]>[2]
type Result<L extends List> = Awaited<ReturnType<(typeof LISTS)[L]>>

const THIS = new URL(import.meta.url)

export const runAside: RunAside<{ shopId: string; query: { list: List; filter: unknown } }, unknown> = (
  db,
  { shopId, query: { list, filter } },
) => LISTS[list](db, shopId, filter as never)

/**
 * Reads a list of the shop. `readsMany`: the list may read far more rows than it shows, so it runs in the report thread,
 * where no other request waits for it.
 */
export const readList = async <L extends List>(
  ctx: Context,
  list: L,
  filter: Filter<L>,
  readsMany: boolean,
): Promise<Result<L>> =>
  readsMany
    ? report<Result<L>>(ctx, THIS, { shopId: ctx.shop.id, query: { list, filter } })
    : (LISTS[list](ctx.db.read, ctx.shop.id, filter as never) as Promise<Result<L>>)
