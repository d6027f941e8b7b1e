import { sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import { inSlices, isInProcess } from '../db/slices.ts'
import type { CommissionRow } from '../db/tables.ts'
import { type Condition, partsOf, type Range } from './commission-parts.ts'
import { insertCommission } from './commissions.ts'
import { ofShop } from './of-shop.ts'

type Changes = Pick<CommissionRow, 'orderStatus' | 'updatedAt'> &
  Partial<Pick<CommissionRow, 'payoutBatchId' | 'paidAt'>>

/** Rows of one insert; PostgreSQL takes 65,535 values in a statement. */
const MAX_INSERTED = 400

/**
 * Changes all commissions of a range that meet a condition, in the caller's transaction: with one statement on
 * PostgreSQL, and in slices on SQLite.
 *
 * @returns how many changed.
 */
export async function updateCommissions(
  trx: Trx,
  shopId: string,
  { range, condition }: { range: Range; condition: Condition },
  changes: Changes,
): Promise<number> {
  const update = trx.updateTable('commissions').set((eb) => ({ ...changes, version: eb('version', '+', 1) }))
  if (!isInProcess(trx)) {
    const { numUpdatedRows } = await update
      .where('shopId', '=', shopId)
      .where(range.whole)
      .where(condition)
      .executeTakeFirst()
    return Number(numUpdatedRows)
  }
  const found = trx.selectFrom('commissions').select('id').where('shopId', '=', shopId).where(condition)
  const ids: string[] = []
  for await (const part of partsOf(trx, shopId, range)) {
    for (const { id } of await found.where(part).execute()) ids.push(id)
  }
  await inSlices(ids, (some) =>
    update
      .where(ofShop(shopId))
      .where(sql<boolean>`id in (select value from json_each(${JSON.stringify(some)}))`)
      .execute(),
  )
  return ids.length
}

/** Inserts commissions of a shop, in the caller's transaction. */
export async function insertCommissions(
  trx: Trx,
  shopId: string,
  rows: Omit<CommissionRow, 'shopId'>[],
): Promise<void> {
  if (isInProcess(trx)) {
    await inSlices(rows, async (some) => {
      for (const row of some) await insertCommission(trx, shopId, row)
    })
    return
  }
  for (let start = 0; start < rows.length; start += MAX_INSERTED) {
    const some = rows.slice(start, start + MAX_INSERTED).map((row) => ({ shopId, ...row }))
    await trx.insertInto('commissions').values(some).execute()
  }
}
