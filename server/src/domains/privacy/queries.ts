import { sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import type { ErasureRow } from '../../database/tables.ts'

export const findErasure = (db: Reader, shopId: string, id: string): Promise<ErasureRow | undefined> =>
  db.selectFrom('erasures').selectAll().where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()

/** The erasures that have not ended, of one shop or of all. */
export function listUnfinishedErasures(db: Reader, shopId?: string): Promise<ErasureRow[]> {
  const rows = db.selectFrom('erasures').selectAll().where('finishedAt', 'is', null)
  return (shopId === undefined ? rows : rows.where('shopId', '=', shopId)).orderBy('id').execute()
}

/** All erasures of all shops. */
export const listErasures = (db: Reader): Promise<ErasureRow[]> =>
  db.selectFrom('erasures').selectAll().orderBy('startedAt').orderBy('id').execute()

export async function insertErasure(trx: Transaction, shopId: string, row: ErasureRow): Promise<void> {
  await trx
    .insertInto('erasures')
    .values({ ...row, shopId })
    .execute()
}

export async function updateErasure(
  trx: Transaction,
  shopId: string,
  id: string,
  changes: Partial<ErasureRow>,
): Promise<void> {
  await trx.updateTable('erasures').set(changes).where('shopId', '=', shopId).where('id', '=', id).execute()
}

/** What a process has read before is not shown again. */
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
