import type { Trx } from '../db/database.ts'
import type { WebhookEventRow } from '../db/tables.ts'
import { chunks } from './chunks.ts'

export async function insertWebhookEvent(
  trx: Trx,
  shopId: string,
  row: Omit<WebhookEventRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('webhookEvents')
    .values({ shopId, ...row })
    .execute()
}

/** What is sent for these events, of whichever shops. */
export async function listBodies(db: Trx, ids: string[]): Promise<Pick<WebhookEventRow, 'id' | 'event' | 'body'>[]> {
  const found: Pick<WebhookEventRow, 'id' | 'event' | 'body'>[] = []
  for (const part of chunks(ids)) {
    found.push(
      ...(await db.selectFrom('webhookEvents').select(['id', 'event', 'body']).where('id', 'in', part).execute()),
    )
  }
  return found
}
