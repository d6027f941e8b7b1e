import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { SubscriptionRow } from '../db/tables.ts'
import { chunks } from './chunks.ts'

/** Where the deliveries of a subscription go. */
export type Destination = Pick<SubscriptionRow, 'id' | 'shopId' | 'url' | 'secret'>

/** A process that wants to send, now and since when another one counts as gone (ISO 8601). */
export interface Claimant {
  by: string
  at: string
  silentSince: string
}

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

/** Which of these subscriptions there are. */
export async function listExisting(db: Trx, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('subscriptions').select('id').where('id', 'in', ids).execute()
  return rows.map(({ id }) => id)
}

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
  row: Omit<SubscriptionRow, 'shopId' | 'claimedBy' | 'claimedAt'>,
): Promise<void> {
  await trx
    .insertInto('subscriptions')
    .values({ shopId, ...row })
    .execute()
}

export async function deleteSubscription(trx: Trx, shopId: string, id: string): Promise<void> {
  await trx.deleteFrom('subscriptions').where('shopId', '=', shopId).where('id', '=', id).execute()
}

/** Takes the right to send to subscriptions that nobody sends to. Answers which were got. */
export async function claimDestinations(trx: Trx, ids: string[], { by, at, silentSince }: Claimant) {
  if (ids.length === 0) return []
  return trx
    .updateTable('subscriptions')
    .set({ claimedBy: by, claimedAt: at })
    .where('id', 'in', ids)
    .where((eb) => eb.or([eb('claimedBy', 'is', null), eb('claimedAt', '<', silentSince)]))
    .returning(['id', 'shopId', 'url', 'secret'])
    .execute()
}

/** What a process may send to. */
export const listDestinations = (db: Trx, by: string): Promise<Destination[]> =>
  db.selectFrom('subscriptions').select(['id', 'shopId', 'url', 'secret']).where('claimedBy', '=', by).execute()

/** Says that the process is alive and still sends. */
export async function renewDestinations(trx: Trx, { by, at }: Claimant): Promise<void> {
  await trx.updateTable('subscriptions').set({ claimedAt: at }).where('claimedBy', '=', by).execute()
}

/** Gives the right to send to these subscriptions back. */
export async function releaseDestinations(trx: Trx, by: string, ids: string[]): Promise<void> {
  for (const part of chunks(ids)) await released(trx, by).where('id', 'in', part).execute()
}

/** Gives back every right to send that a process has. */
export async function releaseAllOf(trx: Trx, by: string): Promise<void> {
  await released(trx, by).execute()
}

const released = (trx: Trx, by: string) =>
  trx.updateTable('subscriptions').set({ claimedBy: null, claimedAt: null }).where('claimedBy', '=', by)

/** The processes that have the right to send to something. */
export async function listClaimants(db: Trx): Promise<string[]> {
  const rows = await db
    .selectFrom('subscriptions')
    .select('claimedBy')
    .distinct()
    .where('claimedBy', 'is not', null)
    .execute()
  return rows.flatMap(({ claimedBy }) => claimedBy ?? [])
}
