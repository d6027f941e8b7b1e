import type { Trx } from '../db/database.ts'
import type { StreamDeliveryRow, StreamRow } from '../db/tables-owner.ts'
import { prepared } from './prepared.ts'

/** An event on its way to who listens. */
export interface StreamedEvent {
  id: string
  seq: number
  event: string
  body: string
}

const living = prepared<{ shopId: string; now: string }>()((db, { shopId, now }) =>
  db.selectFrom('streams').select(['id', 'events']).where('shopId', '=', shopId).where('expiresAt', '>', now).compile(),
)

/** Who listens to the shop's events now, or did a short while ago. */
export const listStreams = (db: Trx, shopId: string, now: string): Promise<Pick<StreamRow, 'id' | 'events'>[]> =>
  living(db, { shopId, now })

export async function insertStream(trx: Trx, row: StreamRow): Promise<void> {
  await trx.insertInto('streams').values(row).execute()
}

/** Lets a stream live on until then. */
export async function updateStream(trx: Trx, shopId: string, id: string, expiresAt: string): Promise<void> {
  await trx.updateTable('streams').set({ expiresAt }).where('shopId', '=', shopId).where('id', '=', id).execute()
}

/** Appends to what streams have to be sent, in the order given. */
export async function insertStreamDeliveries(trx: Trx, rows: Omit<StreamDeliveryRow, 'seq'>[]): Promise<void> {
  for (const row of rows) {
    const seq = (await findLastSeq(trx, row.streamId)) + 1
    await trx
      .insertInto('streamDeliveries')
      .values({ ...row, seq })
      .execute()
  }
}

/** The number of the newest delivery of a stream; 0 when there is none. */
export async function findLastSeq(db: Trx, streamId: string): Promise<number> {
  const row = await db
    .selectFrom('streamDeliveries')
    .select('seq')
    .where('streamId', '=', streamId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.seq ?? 0
}

/** The stream with this id at its beginning, or the one that a delivery with this id went to at the delivery's number. */
export async function findStreamAt(
  db: Trx,
  shopId: string,
  id: string,
): Promise<(StreamRow & { seq: number }) | undefined> {
  const streams = db.selectFrom('streams').selectAll('streams').where('streams.shopId', '=', shopId)
  const stream = await streams.where('streams.id', '=', id).executeTakeFirst()
  if (stream) return { ...stream, seq: 0 }
  return streams
    .innerJoin('streamDeliveries', 'streamDeliveries.streamId', 'streams.id')
    .select('streamDeliveries.seq')
    .where('streamDeliveries.id', '=', id)
    .executeTakeFirst()
}

/** What a stream has to be sent after its delivery with that number, in order. */
export const listStreamed = (db: Trx, streamId: string, after: number, limit: number): Promise<StreamedEvent[]> =>
  db
    .selectFrom('streamDeliveries')
    .innerJoin('webhookEvents', 'webhookEvents.id', 'streamDeliveries.eventId')
    .select(['streamDeliveries.id', 'streamDeliveries.seq', 'webhookEvents.event', 'webhookEvents.body'])
    .where('streamDeliveries.streamId', '=', streamId)
    .where('streamDeliveries.seq', '>', after)
    .orderBy('streamDeliveries.seq')
    .limit(limit)
    .execute()
