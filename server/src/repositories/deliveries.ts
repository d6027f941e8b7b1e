import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { DeliveryRow } from '../db/tables.ts'

export type NewDelivery = Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'follows' | 'createdAt'>

/** A delivery with everything that sending it takes. */
export interface ClaimedDelivery {
  id: string
  shopId: string
  subscriptionId: string
  webhookId: string
  event: string
  body: string
  url: string
  /** Sealed. */
  secret: string | null
}

/** How a delivery ended. */
export interface FinishedDelivery {
  id: string
  status: 'SENT' | 'FAILED'
  code: string
  httpStatus: number | null
  durationMs: number
  finishedAt: string
}

/** Who claims, and when (ISO 8601). */
export interface Claim {
  by: string
  at: string
}

// Every length of a list is a statement of its own, and the cache of statements is small.
const CHUNK = 50

// Literals, not values: a partial index is only used when its condition stands in the query.
const isPending = sql<boolean>`"status" = 'PENDING'`
const isSending = sql<boolean>`"status" = 'SENDING'`

export async function insertDeliveries(trx: Trx, shopId: string, rows: NewDelivery[]): Promise<void> {
  for (const part of chunks(rows)) {
    const values = part.map((row) => ({ shopId, status: 'PENDING' as const, ...row }))
    await trx.insertInto('deliveries').values(values).execute()
  }
}

/** The subscriptions after one that something waits for, by id. Looks at one row for each, however many wait. */
export async function listWaiting(db: Trx, after: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive waiting(id) as (
      select min("subscriptionId") from deliveries where "status" = 'PENDING' and "subscriptionId" > ${after}
      union all
      select (select min("subscriptionId") from deliveries where "status" = 'PENDING' and "subscriptionId" > waiting.id)
      from waiting where waiting.id is not null
    )
    select id from waiting where id is not null limit ${sql.lit(limit)}`.execute(db)
  return rows.map(({ id }) => id)
}

/**
 * Claims the oldest deliveries to one subscription that wait and may go now. Of several processes one gets each; the
 * second condition on the status decides where the engine lets them look at the same time.
 */
export async function claimDeliveries(
  trx: Trx,
  subscriptionId: string,
  { by, at, limit }: Claim & { limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update deliveries set "status" = 'SENDING', "claimedBy" = ${by}, "claimedAt" = ${at}
    where "status" = 'PENDING' and id in (
      select waiting.id from deliveries waiting
      where waiting."status" = 'PENDING' and waiting."subscriptionId" = ${subscriptionId} and (
        waiting."follows" is null or not exists (
          select 1 from deliveries first where first.id = waiting."follows" and first."status" in ('PENDING', 'SENDING')))
      order by waiting.id limit ${limit})
    returning id`.execute(trx)
  return rows.map(({ id }) => id)
}

/** The claimed deliveries in their order; those of a subscription that is gone are missing. */
export async function listClaimed(db: Trx, ids: string[]): Promise<ClaimedDelivery[]> {
  const found: ClaimedDelivery[] = []
  for (const part of chunks(ids)) {
    const rows = await db
      .selectFrom('deliveries as d')
      .innerJoin('webhookEvents as e', 'e.id', 'd.eventId')
      .innerJoin('subscriptions as s', 's.id', 'd.subscriptionId')
      .select(['d.id', 'd.shopId', 'd.subscriptionId', 'd.webhookId', 'e.event', 'e.body', 's.url', 's.secret'])
      .where('d.id', 'in', part)
      .execute()
    found.push(...rows)
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Writes how deliveries ended. One that another process took over meanwhile is left to it. */
export async function updateFinished(trx: Trx, by: string, finished: FinishedDelivery[]): Promise<void> {
  for (const part of chunks(finished)) {
    const rows = part.map(
      (d) =>
        sql`(${d.id}, ${d.status}, ${d.code}, cast(${d.httpStatus} as integer), cast(${d.durationMs} as integer), ${d.finishedAt})`,
    )
    await sql`
      update deliveries set "status" = done.column2, "code" = done.column3, "httpStatus" = done.column4,
        "durationMs" = done.column5, "finishedAt" = done.column6
      from (values ${sql.join(rows)}) as done
      where deliveries.id = done.column1 and deliveries."status" = 'SENDING' and deliveries."claimedBy" = ${by}`.execute(
      trx,
    )
  }
}

/** Gives claimed deliveries back, unsent. */
export async function releaseDeliveries(trx: Trx, by: string, ids: string[]): Promise<void> {
  for (const part of chunks(ids)) await release(trx, by).where('id', 'in', part).execute()
}

/** Gives back everything a process claimed and did not finish. */
export async function releaseClaimsOf(trx: Trx, by: string): Promise<void> {
  await release(trx, by).execute()
}

const release = (trx: Trx, by: string) =>
  trx
    .updateTable('deliveries')
    .set({ status: 'PENDING', claimedBy: null, claimedAt: null })
    .where(isSending)
    .where('claimedBy', '=', by)

/** Gives back what a process claimed and has not spoken for since; a living one renews its claims. */
export async function releaseSilent(trx: Trx, before: string): Promise<void> {
  await trx
    .updateTable('deliveries')
    .set({ status: 'PENDING', claimedBy: null, claimedAt: null })
    .where(isSending)
    .where('claimedAt', '<', before)
    .execute()
}

/** The processes that have claims. */
export async function listClaimants(db: Trx): Promise<string[]> {
  const rows = await db.selectFrom('deliveries').select('claimedBy').distinct().where(isSending).execute()
  return rows.flatMap(({ claimedBy }) => claimedBy ?? [])
}

/** Says that these claims are still being worked on. */
export async function renewClaims(trx: Trx, { by, at }: Claim, ids: string[]): Promise<void> {
  for (const part of chunks(ids)) {
    await trx
      .updateTable('deliveries')
      .set({ claimedAt: at })
      .where(isSending)
      .where('claimedBy', '=', by)
      .where('id', 'in', part)
      .execute()
  }
}

/** Forgets deliveries that can no longer be sent. */
export async function deleteDeliveries(trx: Trx, ids: string[]): Promise<void> {
  for (const part of chunks(ids)) await trx.deleteFrom('deliveries').where('id', 'in', part).execute()
}

/** Forgets what waits for a subscription. */
export async function deleteWaiting(trx: Trx, shopId: string, subscriptionId: string): Promise<void> {
  await trx
    .deleteFrom('deliveries')
    .where(isPending)
    .where('subscriptionId', '=', subscriptionId)
    .where('shopId', '=', shopId)
    .execute()
}

function chunks<T>(list: T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < list.length; start += CHUNK) parts.push(list.slice(start, start + CHUNK))
  return parts
}
