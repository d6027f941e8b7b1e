import type { Reader, Transaction } from '../database/access.ts'
import { prepared, preparedWrite } from '../database/prepared.ts'
import type { RefundRow, RefundTotalsRow } from '../database/tables.ts'

const refunds = (db: Reader, shopId: string, commissionId: string) =>
  db.selectFrom('refunds').selectAll().where('shopId', '=', shopId).where('commissionId', '=', commissionId)

export const findRefund = (
  db: Reader,
  shopId: string,
  commissionId: string,
  externalRefundId: string,
): Promise<RefundRow | undefined> =>
  refunds(db, shopId, commissionId).where('externalRefundId', '=', externalRefundId).executeTakeFirst()

/** All refunds of a commission's order, in the order they came. */
export const listRefunds = (db: Reader, shopId: string, commissionId: string): Promise<RefundRow[]> =>
  refunds(db, shopId, commissionId).orderBy('id').execute()

export async function insertRefund(trx: Transaction, row: RefundRow): Promise<void> {
  await trx.insertInto('refunds').values(row).execute()
}

type OfCommission = Pick<RefundTotalsRow, 'shopId' | 'commissionId'>

const totals = prepared<OfCommission>()((db, { shopId, commissionId }) =>
  db
    .selectFrom('refundTotals')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('commissionId', '=', commissionId)
    .compile(),
)

/** The running totals of a commission's refunds; undefined before they are first stored. */
export const findRefundTotals = async (
  db: Reader,
  shopId: string,
  commissionId: string,
): Promise<RefundTotalsRow | undefined> => (await totals(db, { shopId, commissionId }))[0]

const upsertTotals = preparedWrite<RefundTotalsRow>()((trx, row) => {
  const { shopId, commissionId, goodsCents, pieces, pointed, everything } = row
  const changes = { goodsCents, pieces, pointed, everything }
  return trx
    .insertInto('refundTotals')
    .values({ shopId, commissionId, ...changes })
    .onConflict((conflict) => conflict.columns(['shopId', 'commissionId']).doUpdateSet(changes))
    .compile()
})

export async function upsertRefundTotals(trx: Transaction, row: RefundTotalsRow): Promise<void> {
  await upsertTotals(trx, row)
}
