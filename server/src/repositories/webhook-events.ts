import type { Trx } from '../db/database.ts'
import type { WebhookEventRow } from '../db/tables.ts'

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
