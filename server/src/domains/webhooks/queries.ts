import { sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import { findRow, updateRows } from '../../database/rows.ts'
import type { SubscriptionRow } from '../../database/tables.ts'

/** A new subscription's state, without retries or extended events. */
export const PLAIN_SUBSCRIPTION = {
  maxInFlight: 2,
  previousSecret: null,
  previousSecretUntil: null,
  retryPolicy: 'none',
  extendedEvents: 0,
  failingSince: null,
  disabledAt: null,
  disabledReason: null,
} as const

export const listSubscriptions = (db: Reader, shopId: string): Promise<SubscriptionRow[]> =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** How many subscriptions a shop has, and the total length of their event names, excluding one subscription. */
export async function measureSubscriptions(
  db: Reader,
  shopId: string,
  except = '',
): Promise<{ count: number; eventsLength: number }> {
  const row = await db
    .selectFrom('subscriptions')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(length("events")) filter (where "id" <> ${except}), 0)`.as('eventsLength'),
    ])
    .where('shopId', '=', shopId)
    .executeTakeFirstOrThrow()
  return { count: Number(row.count), eventsLength: Number(row.eventsLength) }
}

export const findSubscription = (db: Reader, shopId: string, id: string): Promise<SubscriptionRow | undefined> =>
  findRow(db, 'subscriptions', { shopId, id })

/**
 * Increments the version of the shop's subscriptions, unless another request changed them since `version` was read.
 * Returns whether it did.
 */
export async function incrementVersionIfUnchanged(trx: Transaction, shopId: string, version: number): Promise<boolean> {
  const changes = { webhooksVersion: version + 1 }
  return (await updateRows(trx, 'shops', { id: shopId, webhooksVersion: version }, changes)) === 1
}

/** Increments the version of the shop's subscriptions. */
export async function incrementVersion(trx: Transaction, shopId: string): Promise<void> {
  await trx.updateTable('shops').set({ webhooksVersion: sql`"webhooksVersion" + 1` }).where('id', '=', shopId).execute()
}

/** Disables a subscription that is enabled and has retries. Returns whether it was. */
export async function disableEnabled(
  trx: Transaction,
  { shopId, id, reason, at }: { shopId: string; id: string; reason: 'gone' | 'failing'; at: string },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('subscriptions')
    .set({ disabledAt: at, disabledReason: reason, updatedAt: at })
    .where('shopId', '=', shopId)
    .where('id', '=', id)
    .where('disabledAt', 'is', null)
    .where('retryPolicy', '=', 'standard')
    // Reset if an owner has just enabled it.
    .$if(reason === 'failing', (update) => update.where('failingSince', 'is not', null))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
