import type { Context } from '../context.ts'
import type { RunAside } from '../db/aside.ts'
import { listAffiliates } from '../repositories/affiliates.ts'
import { listAudits } from '../repositories/audits.ts'
import { listCommissions } from '../repositories/commission-list.ts'
import { listConnections } from '../repositories/connections.ts'
import { listCoupons } from '../repositories/coupons.ts'
import { listDeliveries } from '../repositories/delivery-log.ts'
import { listJourney } from '../repositories/journey.ts'
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
