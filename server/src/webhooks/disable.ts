import { findShop } from '../accounts/queries.ts'
import { clockOf, type Deps, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import type { Unreachable } from './delivery/retry.ts'
import { disableEnabled, incrementVersion } from './queries.ts'

/**
 * Disables a subscription whose receiver is gone or has failed for too long, and records why. Does nothing if the subscription
 * was changed since the failure.
 */
export async function disable(deps: Deps, { shopId, id, reason }: Unreachable): Promise<void> {
  const shop = await findShop(deps.db.read, shopId)
  if (!shop) return
  const ctx = { ...deps, ...clockOf(deps, shop), shop, actor: 'server', requestId: deps.newId('req') }
  await mutate(ctx, async (trx) => {
    if (!(await disableEnabled(trx, { shopId, id, reason, at: nowIso(ctx) }))) return { result: undefined, audit: null }
    await incrementVersion(trx, shopId)
    return { result: undefined, audit: { action: 'webhook.disabled', subjectId: id, data: { reason } } }
  })
  deps.log.warn({ shop: shopId, subscription: id, reason }, 'webhook disabled')
}
