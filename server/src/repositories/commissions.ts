import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import { preparedInsert } from './prepared.ts'

const commissions = (db: Trx, shopId: string) => db.selectFrom('commissions').selectAll().where('shopId', '=', shopId)

export const findCommission = (db: Trx, shopId: string, id: string): Promise<CommissionRow | undefined> =>
  commissions(db, shopId).where('id', '=', id).executeTakeFirst()

/** By the stored order id, such as `api:1001`. */
export const findCommissionByOrder = (db: Trx, shopId: string, orderId: string): Promise<CommissionRow | undefined> =>
  commissions(db, shopId).where('orderId', '=', orderId).executeTakeFirst()

const insertOne = preparedInsert('commissions')

export const insertCommission = (trx: Trx, shopId: string, row: Omit<CommissionRow, 'shopId'>): Promise<void> =>
  insertOne(trx, { shopId, ...row })
