import type { OperationId } from '../contract/spec.ts'
import type { Context } from '../core/context.ts'

/** Lists and reports. What decides about access or a change is read from the primary. */
const REPLICA_OPERATIONS: ReadonlySet<OperationId> = new Set<OperationId>([
  'listAffiliates',
  'listAliases',
  'listAdminAliases',
  'getAffiliateBalance',
  'listConnections',
  'listPrograms',
  'listProductRules',
  'listGeoRules',
  'listCommissions',
  'explainOrder',
  'listPayouts',
  'getUnpaid',
  'listCoupons',
  'getAnalytics',
  'runBacktest',
  'getJourney',
  'listWebhooks',
  'listWebhookEvents',
  'listDeliveries',
  'listAudit',
])

/** The context whose reads may come from a replica. The credential is still checked on the primary. */
export async function withReplica<Ctx extends Partial<Context>>(ctx: Ctx, id: OperationId): Promise<Ctx> {
  const { db, shop, recheck } = ctx
  if (!db?.replicaReads || !shop || !REPLICA_OPERATIONS.has(id)) return ctx
  const reads = await db.replicaReads(shop.id)
  const recheckOnPrimary = recheck && (() => recheck(db.read))
  return { ...ctx, db: { ...db, ...reads }, recheck: recheckOnPrimary }
}
