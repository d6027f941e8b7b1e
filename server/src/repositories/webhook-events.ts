import type { Trx } from '../db/database.ts'
import type { WebhookEventRow } from '../db/tables.ts'
import { prepared } from './prepared.ts'

const insertOne = prepared<WebhookEventRow>()((trx, { id, shopId, event, body, createdAt }) =>
  trx.insertInto('webhookEvents').values({ id, shopId, event, body, createdAt }).compile(),
)

export async function insertWebhookEvent(
  trx: Trx,
  shopId: string,
  row: Omit<WebhookEventRow, 'shopId'>,
): Promise<void> {
  await insertOne(trx, { shopId, ...row })
}

/** What is sent for an event. */
export const listBodies = prepared<{ id: string }>()((db, { id }) =>
  db.selectFrom('webhookEvents').select(['id', 'event', 'body']).where('id', '=', id).compile(),
)
