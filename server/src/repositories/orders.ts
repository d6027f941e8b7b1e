import type { Trx } from '../db/database.ts'
import type { OrderRow } from '../db/tables.ts'
import { prepared } from './prepared.ts'

const byId = prepared<{ shopId: string; orderId: string }>()((db, { shopId, orderId }) =>
  db.selectFrom('orders').selectAll().where('shopId', '=', shopId).where('orderId', '=', orderId).compile(),
)

/** A reported order by its stored id, such as `api:1001`. */
export const findOrder = async (db: Trx, shopId: string, orderId: string): Promise<OrderRow | undefined> =>
  (await byId(db, { shopId, orderId }))[0]

const upsert = prepared<OrderRow>()((trx, row) => {
  const { shopId, orderId, commissionId, orderAt, facts, decision, createdAt, updatedAt } = row
  const changes = { commissionId, orderAt, facts, decision, updatedAt }
  return trx
    .insertInto('orders')
    .values({ shopId, orderId, createdAt, ...changes })
    .onConflict((conflict) => conflict.columns(['shopId', 'orderId']).doUpdateSet(changes))
    .compile()
})

/** Keeps the facts and the decision of an order; those of an order that was not credited are replaced. */
export async function upsertOrder(trx: Trx, shopId: string, row: Omit<OrderRow, 'shopId'>): Promise<void> {
  await upsert(trx, { shopId, ...row })
}
