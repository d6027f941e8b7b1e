import { concurrentChange, conflict, shopNotFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, type Deps, nowIso, type Operator } from '../../core/context.ts'
import { installationContext } from '../../core/installation.ts'
import { mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import { SHOP_TABLES, type TableName } from '../../database/personal-data.ts'
import { updateIfUnchanged, updateRows } from '../../database/rows.ts'
import { deleteRowsOfShop } from '../../database/table-keys.ts'
import { findAuditHead, listTestShops } from '../accounts/queries.ts'
import { operatorContext } from '../accounts/shops.ts'
import { hasOpenBatch } from '../ledger/payouts.ts'

/** Rows deleted in one transaction, so that other requests wait only milliseconds. */
const STEP_ROWS = 200
/** How long one call deletes. */
const MAX_CALL_MS = 20_000

/** Deleted first, so that nobody has access to the rest. */
const CREDENTIALS: TableName[] = ['sessions', 'signInLinks', 'passkeys', 'apiKeys', 'users']
/** Deleted in the last transaction. */
const LAST: TableName[] = ['auditHeads', 'shops']
const isData = (name: TableName) => name !== 'audits' && ![...CREDENTIALS, ...LAST].includes(name)
const ORDER: TableName[] = [...CREDENTIALS, ...SHOP_TABLES.filter(isData), 'audits']

/** The operator's confirmation. */
export interface Confirmation {
  /** The shop's name. */
  name: string
  /** The SHA-256 of its export. */
  digest: string
  /** Whether to delete the shop even if it has an open payout batch. */
  force?: boolean
}

type Deletion = components['schemas']['ShopDeletionReply']['data']

/**
 * Deletes every row of a suspended and exported shop and of its test shops, in small transactions and for a limited
 * time. Repeat the call until the result is `deleted`. Once started, a deletion cannot be undone.
 *
 * @throws ApiError 404 `shop_not_found`; 409 `shop_not_suspended`, `shop_name_mismatch`, `shop_export_required`,
 * `shop_has_open_batch` or `concurrent_change`.
 */
export async function deleteShop(operator: Operator, shopId: string, confirmation: Confirmation): Promise<Deletion> {
  const ctx = await operatorContext(operator, shopId)
  await begin(ctx, confirmation)
  const until = performance.now() + MAX_CALL_MS
  let rows = 0
  for (const { id } of await listTestShops(operator.db.read, shopId)) {
    const done = await deleteTestShopRows(operator, id, until)
    rows += done.rows
    if (!done.isComplete) return { id: shopId, deleted: false, rows }
  }
  const deleted = await deleteRows(operator, shopId, until)
  rows += deleted.rows
  if (!deleted.isComplete) return { id: shopId, deleted: false, rows }
  return { id: shopId, deleted: true, rows: rows + (await finish(operator, ctx, confirmation)) }
}

interface Deleted {
  rows: number
  isComplete: boolean
}

/** Deletes the rows of a shop except the last ones, in small transactions and for a limited time. */
async function deleteRows(deps: Deps, shopId: string, until: number): Promise<Deleted> {
  const portion = { shopId, limit: STEP_ROWS }
  // Row counts are derived from the other tables.
  const steps = [...ORDER, 'rowCounts' as const].map(
    (table) => (trx: Transaction) => deleteRowsOfShop(trx, table, portion),
  )
  let rows = 0
  for (const step of steps) {
    for (let deleted = STEP_ROWS; deleted === STEP_ROWS; rows += deleted) {
      if (performance.now() > until || deps.stopping.aborted) return { rows, isComplete: false }
      deleted = await deps.db.transact(step, shopId)
    }
  }
  return { rows, isComplete: true }
}

/**
 * Starts a test shop's deletion in the caller's transaction. Its credentials are gone when it commits, and {@link
 * deleteTestShopRows} deletes the rest. Returns false if the deletion had already started.
 */
export async function beginTestShopDeletion(trx: Transaction, shopId: string, at: string): Promise<boolean> {
  const marks = { suspendedAt: at, deletionStartedAt: at }
  if ((await updateRows(trx, 'shops', { id: shopId, deletionStartedAt: null }, marks)) === 0) return false
  for (const table of CREDENTIALS)
    while ((await deleteRowsOfShop(trx, table, { shopId, limit: STEP_ROWS })) === STEP_ROWS);
  return true
}

/** Deletes a test shop's rows for a limited time. Can be repeated, even concurrently. */
export async function deleteTestShopRows(
  deps: Deps,
  shopId: string,
  until = performance.now() + MAX_CALL_MS,
): Promise<Deleted> {
  const { rows, isComplete } = await deleteRows(deps, shopId, until)
  const last = isComplete ? await deps.db.transact((trx) => deleteLastRows(trx, shopId), shopId) : 0
  return { rows: rows + last, isComplete }
}

/** Deletes a shop's last rows. Returns how many, or 0 if a concurrent call was faster. */
async function deleteLastRows(trx: Transaction, shopId: string): Promise<number> {
  const deleted = await deleteRowsOfShop(trx, 'shops', { shopId, limit: 1 })
  if (deleted === 0) return 0
  return deleted + (await deleteRowsOfShop(trx, 'auditHeads', { shopId, limit: 1 }))
}

/** Checks the confirmation and marks the shop as being deleted. */
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
    const at = nowIso(ctx)
    if (!(await updateIfUnchanged(trx, 'shops', shop, { deletionStartedAt: at }))) throw concurrentChange()
    for (const { id } of await listTestShops(trx, shop.id)) await beginTestShopDeletion(trx, id, at)
    return {
      result: undefined,
      audit: { action: 'shop.deletion_started', subjectId: shop.id, data: { digest, force } },
    }
  })
}

/** Deletes the shop itself and records this in the installation's audit log. Returns how many rows were left. */
const finish = (operator: Operator, { shop }: Context, { digest }: Confirmation): Promise<number> =>
  mutate(installationContext(operator), async (trx) => {
    const head = await findAuditHead(trx, shop.id)
    const deleted = await deleteLastRows(trx, shop.id)
    if (deleted === 0) throw shopNotFound()
    const data = { name: shop.name, export: digest, audit: head ?? null }
    return { result: deleted, audit: { action: 'shop.deleted', subjectId: shop.id, data } }
  })
