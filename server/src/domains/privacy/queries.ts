import { sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import type { ErasureRow } from '../../database/tables.ts'

/** Unfinished erasures, of one shop or of all. */
export function listUnfinishedErasures(db: Reader, shopId?: string): Promise<ErasureRow[]> {
  const rows = db.selectFrom('erasures').selectAll().where('finishedAt', 'is', null)
  return (shopId === undefined ? rows : rows.where('shopId', '=', shopId)).orderBy('id').execute()
}

/** All erasures of all shops. */
export const listErasures = (db: Reader): Promise<ErasureRow[]> =>
  db.selectFrom('erasures').selectAll().orderBy('startedAt').orderBy('id').execute()

/** Data that a process read earlier is not shown again. */
export async function incrementErasureVersion(trx: Transaction, shopId: string): Promise<void> {
  await trx.updateTable('shops').set({ erasureVersion: sql`"erasureVersion" + 1` }).where('id', '=', shopId).execute()
}

/** Counts rows that an erasure has changed, in the transaction that changes them. */
export async function addErasedRows(trx: Transaction, shopId: string, id: string, rows: number): Promise<void> {
  await trx
    .updateTable('erasures')
    .set({ rows: sql<number>`rows + ${rows}` })
    .where('shopId', '=', shopId)
    .where('id', '=', id)
    .execute()
}
