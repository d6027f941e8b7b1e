import type { Reader, Transaction } from '../database/access.ts'
import { prepared } from '../database/prepared.ts'
import type { StreamRow } from '../database/tables.ts'

/** An event on its way to who listens. */
export interface StreamedEvent {
  id: string
  seq: number
  event: string
  body: string
}

/** A stream that events are kept for, and who reads it. */
export type RetainedStream = Pick<StreamRow, 'id' | 'userId' | 'createdAt' | 'connectedUntil'>

/** The streams of a shop that events are kept for, the oldest first. */
export const listRetainedStreams = (db: Reader, shopId: string, now: string): Promise<RetainedStream[]> =>
  db
    .selectFrom('streams')
    .select(['id', 'userId', 'createdAt', 'connectedUntil'])
    .where('shopId', '=', shopId)
    .where('expiresAt', '>', now)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()

export async function insertStream(trx: Transaction, row: StreamRow): Promise<void> {
  await trx.insertInto('streams').values(row).execute()
}

export async function updateStream(
  trx: Transaction,
  shopId: string,
  id: string,
  changes: Pick<StreamRow, 'expiresAt'> & Partial<StreamRow>,
): Promise<void> {
  await trx.updateTable('streams').set(changes).where('shopId', '=', shopId).where('id', '=', id).execute()
}

/** Says until when a connection counts as open, null when it has ended. Returns whether it still is the stream's. */
export async function updateConnection(
  trx: Transaction,
  { shopId, id, connection }: Pick<StreamRow, 'shopId' | 'id' | 'connection'>,
  connectedUntil: string | null,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('streams')
    .set({ connectedUntil, ...(connectedUntil === null && { connection: null }) })
    .where('shopId', '=', shopId)
    .where('id', '=', id)
    .where('connection', '=', connection)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

const connectionOf = prepared<{ shopId: string; id: string }>()((db, { shopId, id }) =>
  db.selectFrom('streams').select('connection').where('shopId', '=', shopId).where('id', '=', id).compile(),
)

/** The connection that reads a stream now. */
export const findConnection = async (db: Reader, shopId: string, id: string): Promise<string | null | undefined> =>
  (await connectionOf(db, { shopId, id }))[0]?.connection

/** The stream with this id at its beginning, or the one that a delivery with this id went to at the delivery's number. */
export async function findStreamAt(
  db: Reader,
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
export const listStreamed = (db: Reader, streamId: string, after: number, limit: number): Promise<StreamedEvent[]> =>
  db
    .selectFrom('streamDeliveries')
    .innerJoin('webhookEvents', 'webhookEvents.id', 'streamDeliveries.eventId')
    .select(['streamDeliveries.id', 'streamDeliveries.seq', 'webhookEvents.event', 'webhookEvents.body'])
    .where('streamDeliveries.streamId', '=', streamId)
    .where('streamDeliveries.seq', '>', after)
    .orderBy('streamDeliveries.seq')
    .limit(limit)
    .execute()
