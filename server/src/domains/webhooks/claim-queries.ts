import { sql } from 'kysely'
import { hasEnded } from '../../core/lease-holders.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { isSqlite } from '../../database/event-loop.ts'
import { prepared, preparedWrite } from '../../database/prepared.ts'
import { updateRows } from '../../database/rows.ts'
import type { DeliveryRow, ShopRow, SubscriptionRow, WebhookEventRow } from '../../database/tables.ts'

/** Where the deliveries of a subscription are sent, and the clock of its shop. */
export type Destination = Pick<
  SubscriptionRow,
  | 'shopId'
  | 'id'
  | 'url'
  | 'secret'
  | 'previousSecret'
  | 'previousSecretUntil'
  | 'failingSince'
  | 'disabledAt'
  | 'maxInFlight'
> &
  Pick<ShopRow, 'clockOffsetMs'>

/** A delivery that this process sends, with its payload. */
export type ClaimedDelivery = Pick<DeliveryRow, 'shopId' | 'id' | 'subscriptionId' | 'webhookId' | 'attempts'> &
  Pick<WebhookEventRow, 'event' | 'body' | 'traceparent'>

/** A literal status, because a partial index is only used when its condition is part of the query. */
const isFree = (now: string) =>
  sql<boolean>`"status" = 'PENDING' and ("claimedUntil" is null or "claimedUntil" < cast(${now} as text))`

/** An active shop with pending deliveries, and one of its subscriptions with deliveries that can be claimed, or nulls. */
type WaitingRow = { waitingShop: string } & (Destination | { id: null })

/** Reads one row per shop and subscription, however many deliveries are pending. */
const waitingShops = prepared<{ after: string; limit: number; now: string }>()((db, { after, limit, now }) =>
  sql<WaitingRow>`
    with recursive waiting(id) as (
      select min("shopId") from deliveries where "status" = 'PENDING' and "shopId" > ${after}
      union all
      select (select min("shopId") from deliveries where "status" = 'PENDING' and "shopId" > waiting.id)
      from waiting where waiting.id is not null
    ),
    page as materialized (
      select id from waiting where id is not null
        and not exists (select 1 from shops where shops.id = waiting.id and shops."suspendedAt" is not null)
      limit ${limit}
    )
    select page.id as "waitingShop", s."shopId", s.id, s.url, s.secret, s."previousSecret", s."previousSecretUntil",
      s."failingSince", s."disabledAt", s."maxInFlight", shops."clockOffsetMs",
      (select d.id from deliveries d where ${isFree(now)} and d."shopId" = s."shopId" and d."subscriptionId" = s.id
        order by d.attempts, d.id limit 1) as oldest
    from page
    left join subscriptions s on s."shopId" = page.id and exists (
      select 1 from deliveries d where ${isFree(now)} and d."shopId" = s."shopId" and d."subscriptionId" = s.id)
    left join shops on shops.id = s."shopId"
    order by page.id, oldest`.compile(db),
)

/** The active shops with pending deliveries after an id, and their subscriptions with deliveries that can be claimed. */
export interface Waiting {
  shopIds: string[]
  /** By shop, that with the oldest delivery first. */
  destinations: Destination[]
}

export async function findWaiting(db: Reader, page: { after: string; limit: number; now: string }): Promise<Waiting> {
  const rows = await waitingShops(db, page)
  const shopIds = [...new Set(rows.map(({ waitingShop }) => waitingShop))]
  return { shopIds, destinations: rows.filter((row) => row.id !== null) }
}

/** A claim of deliveries of one subscription. */
export interface Claim {
  holder: string
  now: string
  until: string
  shopId: string
  subscriptionId: string
  /** How many may be in flight in all processes. */
  maxInFlight: number
  /** How many to claim. */
  count: number
}

const ofEvent = (name: string) =>
  sql`(select ${sql.ref(name)} from "webhookEvents" e
    where e."shopId" = deliveries."shopId" and e.id = deliveries."eventId") as ${sql.ref(name)}`

/**
 * Claims the oldest pending deliveries of a subscription, those without an attempt first. An event waits for the first attempt of
 * the one before it in the same change.
 */
export const claimPending = preparedWrite<Claim>()((trx, claim) => {
  const { holder, now, until, subscriptionId, maxInFlight, count } = claim
  // SQLite would plan the statement again for each value of a bare parameter.
  const shopId = sql`cast(${claim.shopId} as text)`
  const oldest = sql`
    select "shopId", id, follows, "status", "claimedUntil" from deliveries
    where "status" = 'PENDING' and "shopId" = ${shopId} and "subscriptionId" = cast(${subscriptionId} as text)
    order by attempts, id limit cast(${maxInFlight} as integer) ${isSqlite(trx) ? sql`` : sql`for update skip locked`}`
  const ids = sql`
    select id from (${oldest}) as oldest where ${isFree(now)} and not exists (
      select 1 from deliveries previous where previous."shopId" = oldest."shopId" and previous.id = oldest.follows
        and previous."status" = 'PENDING' and previous.attempts = 0)
    limit cast(${count} as integer)`
  return sql<ClaimedDelivery>`
    update deliveries set "claimedBy" = ${holder}, "claimedUntil" = ${until}
    where "shopId" = ${shopId} and id ${isSqlite(trx) ? sql`in (${ids})` : sql`= any(array(${ids}))`}
    returning "shopId", id, "subscriptionId", "webhookId", attempts,
      ${sql.join(['event', 'body', 'traceparent'].map(ofEvent))}`.compile(trx)
})

/** Releases deliveries that a process claimed and will not send. */
export async function releaseClaims(
  trx: Transaction,
  holder: string,
  claimed: Pick<ClaimedDelivery, 'shopId' | 'id'>[],
): Promise<void> {
  const changes = { claimedBy: null, claimedUntil: null }
  await Promise.all(
    claimed.map(({ shopId, id }) => updateRows(trx, 'deliveries', { shopId, id, claimedBy: holder }, changes)),
  )
}

/** Releases the deliveries that were in flight in processes of this machine that have ended. Reads all pending deliveries. */
export async function releaseEndedClaims(trx: Transaction): Promise<void> {
  const { rows } = await sql<{ shopId: string; id: string; claimedBy: string }>`
    select "shopId", id, "claimedBy" from deliveries where "status" = 'PENDING' and "claimedBy" is not null`.execute(
    trx,
  )
  for (const { claimedBy, ...row } of rows) if (hasEnded(claimedBy)) await releaseClaims(trx, claimedBy, [row])
}
