import type { Trx } from '../db/database.ts'
import type { SubscriptionRow } from '../db/tables.ts'

export const listSubscriptions = (db: Trx, shopId: string): Promise<SubscriptionRow[]> =>
  db.selectFrom('subscriptions').selectAll().where('shopId', '=', shopId).orderBy('createdAt', 'desc').orderBy('id', 'desc').execute()
