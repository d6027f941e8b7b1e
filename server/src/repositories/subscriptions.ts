import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { SubscriptionRow } from '../db/tables.ts'

export const listSubscriptions = (db: Trx, shopId: string): Promise<SubscriptionRow[]> =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** Who may want an event: the ids and filters of the shop's subscriptions, in no order. */
export const listFilters = (db: Trx, shopId: string): Promise<Pick<SubscriptionRow, 'id' | 'events'>[]> =>
  db.selectFrom('subscriptions').select(['id', 'events']).where('shopId', '=', shopId).execute()

export const findSubscription = (db: Trx, shopId: string, id: string): Promise<SubscriptionRow | undefined> =>
  db.selectFrom('subscriptions').selectAll().where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()

/**
 * Takes the right to change the shop's subscriptions, as long as they are still as when `version` was read. Answers
 * whether it was got (section 4.8 rule 1).
 */
export async function claimSubscriptions(trx: Trx, shopId: string, version: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('shops')
    .set({ webhooksVersion: sql`"webhooksVersion" + 1` })
    .where('id', '=', shopId)
    .where('webhooksVersion', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function insertSubscription(
  trx: Trx,
  shopId: string,
  row: Omit<SubscriptionRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('subscriptions')
    .values({ shopId, ...row })
    .execute()
}

export async function deleteSubscription(trx: Trx, shopId: string, id: string): Promise<void> {
  await trx.deleteFrom('subscriptions').where('shopId', '=', shopId).where('id', '=', id).execute()
}
