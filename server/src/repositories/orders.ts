import type { Trx } from '../db/database.ts'
import type { OrderRow } from '../db/tables.ts'

/** A reported order by its stored id, such as `api:1001`. */
export const findOrder = (db: Trx, shopId: string, orderId: string): Promise<OrderRow | undefined> =>
  db.selectFrom('orders').selectAll().where('shopId', '=', shopId).where('orderId', '=', orderId).executeTakeFirst()

/** Keeps the facts and the decision of an order; those of an order that was not credited are replaced. */
export async function upsertOrder(trx: Trx, shopId: string, row: Omit<OrderRow, 'shopId'>): Promise<void> {
  const { commissionId, orderAt, facts, decision, updatedAt } = row
  await trx
    .insertInto('orders')
    .values({ shopId, ...row })
    .onConflict((conflict) =>
      conflict.columns(['shopId', 'orderId']).doUpdateSet({ commissionId, orderAt, facts, decision, updatedAt }),
    )
    .execute()
}
