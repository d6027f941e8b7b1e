import type { Trx } from '../db/database.ts'
import type { RefundRow } from '../db/tables-owner.ts'

const refunds = (db: Trx, shopId: string, commissionId: string) =>
  db.selectFrom('refunds').selectAll().where('shopId', '=', shopId).where('commissionId', '=', commissionId)

export const findRefund = (
  db: Trx,
  shopId: string,
  commissionId: string,
  externalRefundId: string,
): Promise<RefundRow | undefined> =>
  refunds(db, shopId, commissionId).where('externalRefundId', '=', externalRefundId).executeTakeFirst()

/** All refunds of a commission's order, in the order they came. */
export const listRefunds = (db: Trx, shopId: string, commissionId: string): Promise<RefundRow[]> =>
  refunds(db, shopId, commissionId).orderBy('id').execute()

export async function insertRefund(trx: Trx, row: RefundRow): Promise<void> {
  await trx.insertInto('refunds').values(row).execute()
}
