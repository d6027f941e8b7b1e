import type { Trx } from '../db/database.ts'
import type { DeliveryRow, WebhookEventRow } from '../db/tables.ts'

export async function insertWebhookEvent(trx: Trx, shopId: string, row: Omit<WebhookEventRow, 'shopId'>): Promise<void> {
  await trx.insertInto('webhookEvents').values({ shopId, ...row }).execute()
}

export async function insertDelivery(
  trx: Trx,
  shopId: string,
  row: Pick<DeliveryRow, 'id' | 'eventId' | 'subscriptionId' | 'webhookId' | 'createdAt'>,
): Promise<void> {
  const waiting = { status: 'PENDING', code: null, httpStatus: null, durationMs: null, claimedBy: null, claimedAt: null, finishedAt: null } as const
  await trx.insertInto('deliveries').values({ shopId, ...row, ...waiting }).execute()
}
