import { type Insertable, type RawBuilder, sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import type { DeliveryRow, Tables } from '../db/tables.ts'

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
export type FinishedDelivery = Pick<DeliveryRow, 'id' | 'status' | 'code' | 'httpStatus' | 'durationMs' | 'finishedAt'>

/** Who claims, and when (ISO 8601). */
export interface Claim {
  by: string
  at: string
}

// Lists of this length at most: every length is a text of its own, and the cache of prepared texts is small.
const CHUNK = 50

// Literals, not values: a partial index is only used when its condition stands in the query.
const pending = sql<boolean>`"status" = 'PENDING'`
const sending = sql<boolean>`"status" = 'SENDING'`

function chunks<T>(list: T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < list.length; start += CHUNK) parts.push(list.slice(start, start + CHUNK))
  return parts
}

export async function insertDeliveries(trx: Trx, shopId: string, rows: NewDelivery[]): Promise<void> {
  for (const part of chunks(rows)) {
    const values: Insertable<Tables['deliveries']>[] = part.map(
      (row) => ({ shopId, status: 'PENDING', ...row }) as DeliveryRow,
    )
    await trx.insertInto('deliveries').values(values).execute()
  }
}
