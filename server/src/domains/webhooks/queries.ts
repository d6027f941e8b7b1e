import { sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import { prepared, preparedWrite } from '../../database/prepared.ts'
import type { ShopRow, SubscriptionRow } from '../../database/tables.ts'

/** Where the deliveries of a subscription are sent, and the clock of its shop. */
export type Destination = Pick<SubscriptionRow, (typeof DESTINATION_COLUMNS)[number]> & Pick<ShopRow, 'clockOffsetMs'>

/** The state of a new subscription without retries and extended events. */
export const PLAIN_SUBSCRIPTION = {
  retryPolicy: 'none',
  extendedEvents: 0,
  failingSince: null,
  disabledAt: null,
  disabledReason: null,
} as const

const NO_LEASE = { claimedBy: null, claimedAt: null }

/** A dispatcher that leases subscriptions; leases last renewed before `expiredBefore` may be taken over (ISO 8601). */
export interface LeaseHolder {
  holder: string
  now: string
  expiredBefore: string
}

export const listSubscriptions = (db: Reader, shopId: string): Promise<SubscriptionRow[]> =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** How many subscriptions a shop has, and the length of their event names, except those of one subscription. */
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
  db.selectFrom('subscriptions').selectAll().where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()

/**
 * Increments the version of the shop's subscriptions unless another request changed them since `version` was read.
 * Returns whether it did.
 */
export async function incrementVersionIfUnchanged(trx: Transaction, shopId: string, version: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('shops')
    .set({ webhooksVersion: sql`"webhooksVersion" + 1` })
    .where('id', '=', shopId)
    .where('webhooksVersion', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
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
    // An owner who has just enabled it has reset this.
    .$if(reason === 'failing', (update) => update.where('failingSince', 'is not', null))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function insertSubscription(
  trx: Transaction,
  shopId: string,
  row: Omit<SubscriptionRow, 'shopId' | 'previousSecret' | 'previousSecretUntil' | 'claimedBy' | 'claimedAt'>,
): Promise<void> {
  await trx
    .insertInto('subscriptions')
    .values({ shopId, ...row })
    .execute()
}

export async function updateSubscription(
  trx: Transaction,
  shopId: string,
  id: string,
  changes: Partial<SubscriptionRow>,
): Promise<void> {
  await trx.updateTable('subscriptions').set(changes).where('shopId', '=', shopId).where('id', '=', id).execute()
}

export async function deleteSubscription(trx: Transaction, shopId: string, id: string): Promise<void> {
  await trx.deleteFrom('subscriptions').where('shopId', '=', shopId).where('id', '=', id).execute()
}

/** A subscription of a shop. */
type SubscriptionKey = Pick<SubscriptionRow, 'shopId' | 'id'>

const OTHER_COLUMNS = [
  'shopId',
  'url',
  'secret',
  'previousSecret',
  'previousSecretUntil',
  'retryPolicy',
  'failingSince',
] as const
const DESTINATION_COLUMNS = ['id', ...OTHER_COLUMNS] as const

/** Who has leased a subscription, and since when. */
export const findLease = prepared<SubscriptionKey>()((db, { shopId, id }) =>
  db
    .selectFrom('subscriptions')
    .innerJoin('shops', 'shops.id', 'subscriptions.shopId')
    .select(['subscriptions.id', 'claimedBy', 'claimedAt', 'disabledAt', 'clockOffsetMs'])
    .where('subscriptions.shopId', '=', shopId)
    .where('subscriptions.id', '=', id)
    .compile(),
)

/** Leases a subscription, unless it is disabled or another process has a lease. Returns where to send; empty without a lease. */
export const claimDestination = preparedWrite<LeaseHolder & SubscriptionKey>()(
  (trx, { shopId, id, holder: by, now: at, expiredBefore: silentSince }) =>
    trx
      .updateTable('subscriptions')
      .set({ claimedBy: by, claimedAt: at })
      .where('shopId', '=', shopId)
      .where('id', '=', id)
      .where('disabledAt', 'is', null)
      .where((eb) => eb.or([eb('claimedBy', 'is', null), eb('claimedAt', '<', silentSince)]))
      .returning(DESTINATION_COLUMNS)
      .compile(),
)

/** The subscriptions that a process has leased. Those of suspended shops keep their lease and receive nothing. */
export const listDestinations = prepared<{ by: string }>()((db, { by }) =>
  db
    .selectFrom('subscriptions')
    .innerJoin('shops', 'shops.id', 'subscriptions.shopId')
    .select(['subscriptions.id', ...OTHER_COLUMNS, 'clockOffsetMs'])
    .where('claimedBy', '=', by)
    .where('suspendedAt', 'is', null)
    .where('disabledAt', 'is', null)
    .compile(),
)

/** Releases the lease of a subscription. */
export const releaseDestination = preparedWrite<SubscriptionKey & { by: string }>()((trx, { shopId, id, by }) =>
  trx
    .updateTable('subscriptions')
    .set(NO_LEASE)
    .where('shopId', '=', shopId)
    .where('id', '=', id)
    .where('claimedBy', '=', by)
    .compile(),
)

/** Releases all leases of a process. */
export async function releaseAllDestinations(trx: Transaction, by: string): Promise<void> {
  await trx.updateTable('subscriptions').set(NO_LEASE).where('claimedBy', '=', by).execute()
}

/** Renews all leases of a process. */
export async function renewDestinations(trx: Transaction, { holder: by, now: at }: LeaseHolder): Promise<void> {
  await trx.updateTable('subscriptions').set({ claimedAt: at }).where('claimedBy', '=', by).execute()
}

/** The processes that have leases. */
export async function listLeaseHolders(db: Reader): Promise<string[]> {
  const rows = await db
    .selectFrom('subscriptions')
    .select('claimedBy')
    .distinct()
    .where('claimedBy', 'is not', null)
    .execute()
  return rows.flatMap(({ claimedBy }) => claimedBy ?? [])
}
