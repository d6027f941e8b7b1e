import { concurrentChange, conflict, shopNotFound } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, nowIso, type Operator } from '../core/context.ts'
import { installationContext } from '../core/installation.ts'
import { mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/database.ts'
import { deleteDerivedRowsOfShop, deleteRowsOfShop, SHOP_TABLES, type TableName } from '../database/table-keys.ts'
import { hasOpenBatch } from '../payouts/queries.ts'
import { findAuditHead, updateShopIfUnchanged } from './queries.ts'
import { operatorContext } from './shops.ts'

/** Rows deleted in one transaction, so that other requests wait for milliseconds only. */
const STEP_ROWS = 200
/** How long one call deletes. */
const MAX_CALL_MS = 20_000

/** Deleted first, so that nobody has access to the rest. */
const CREDENTIALS: TableName[] = ['sessions', 'signInLinks', 'passkeys', 'apiKeys', 'users']
/** Deleted in the last transaction. */
const LAST: TableName[] = ['auditHeads', 'auditCuts', 'shops']
const isData = (name: TableName) => name !== 'audits' && ![...CREDENTIALS, ...LAST].includes(name)
const ORDER: TableName[] = [...CREDENTIALS, ...SHOP_TABLES.filter(isData), 'audits']

/** What the operator confirms. */
export interface Confirmation {
  /** The name of the shop. */
  name: string
  /** The SHA-256 of its export. */
  digest: string
  /** Deletes the shop even if it has an open payout batch. */
  force?: boolean
}

type Deletion = components['schemas']['ShopDeletionReply']['data']

/**
 * Deletes every row of a suspended and exported shop, in small transactions and for a limited time. While the result is not
 * `deleted`, the call is repeated. Once begun, a deletion cannot be undone.
 *
 * @throws ApiError 404 `shop_not_found`; 409 `shop_not_suspended`, `shop_name_mismatch`, `shop_export_required`,
 *   `shop_has_open_batch` or `concurrent_change`.
 */
export async function deleteShop(operator: Operator, shopId: string, confirmation: Confirmation): Promise<Deletion> {
  const ctx = await operatorContext(operator, shopId)
  await begin(ctx, confirmation)
  const until = performance.now() + MAX_CALL_MS
  const portion = { shopId, limit: STEP_ROWS }
  const steps = [
    ...ORDER.map((table) => (trx: Transaction) => deleteRowsOfShop(trx, table, portion)),
    // As many as the shop has affiliates and days with orders.
    (trx: Transaction) => deleteDerivedRowsOfShop(trx, portion),
  ]
  let rows = 0
  for (const step of steps) {
    for (let deleted = STEP_ROWS; deleted === STEP_ROWS; rows += deleted) {
      if (performance.now() > until || operator.stopping.aborted) return { id: shopId, deleted: false, rows }
      deleted = await operator.db.transact(step, shopId)
    }
  }
  return { id: shopId, deleted: true, rows: rows + (await finish(operator, ctx, confirmation)) }
}

/** Checks what was confirmed, and marks the shop as being deleted. */
async function begin(ctx: Context, { name, digest, force = false }: Confirmation): Promise<void> {
  const { shop } = ctx
  if (shop.suspendedAt === null) throw conflict('shop_not_suspended', 'Suspend the shop before you delete it.')
  if (name !== shop.name) throw conflict('shop_name_mismatch', 'name does not match the name of this shop.')
  if (digest !== shop.exportDigest)
    throw conflict(
      'shop_export_required',
      'digest does not match the latest export of the suspended shop. Export the shop again.',
    )
  if (shop.deletionStartedAt !== null) return
  await mutate(ctx, async (trx) => {
    if (!force && (await hasOpenBatch(trx, shop.id)))
      throw conflict('shop_has_open_batch', 'The shop has an open payout batch. Pay or cancel it, or send force=1.')
    if (!(await updateShopIfUnchanged(trx, shop, { deletionStartedAt: nowIso(ctx) }))) throw concurrentChange()
    return {
      result: undefined,
      audit: { action: 'shop.deletion_started', subjectId: shop.id, data: { digest, force } },
    }
  })
}

/** Deletes the shop itself and records its end in the audit of the installation. Returns how many rows were left. */
const finish = (operator: Operator, { shop }: Context, { digest }: Confirmation): Promise<number> =>
  mutate(installationContext(operator), async (trx) => {
    const head = await findAuditHead(trx, shop.id)
    const deleted = await deleteRowsOfShop(trx, 'shops', { shopId: shop.id, limit: 1 })
    // A concurrent call was faster.
    if (deleted === 0) throw shopNotFound()
    const heads = await deleteRowsOfShop(trx, 'auditHeads', { shopId: shop.id, limit: 1 })
    const cuts = await deleteRowsOfShop(trx, 'auditCuts', { shopId: shop.id, limit: 1 })
    const data = { name: shop.name, export: digest, audit: head ?? null }
    return { result: deleted + heads + cuts, audit: { action: 'shop.deleted', subjectId: shop.id, data } }
  })
