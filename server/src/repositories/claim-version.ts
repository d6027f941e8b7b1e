import type { Trx } from '../db/database.ts'

/** The tables whose rows count their changes. */
type VersionedTable = 'affiliates' | 'programs' | 'commissions' | 'payoutBatches'

/** Changes a row as long as it is still the version that was read; somebody else's change makes it answer false. */
export async function claimVersion<Row extends { id: string; version: number }>(
  trx: Trx,
  table: VersionedTable,
  { shopId, row, changes }: { shopId: string; row: Row; changes: Partial<Row> },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    // The statement is the same for every table; which columns there are is checked by the callers' types.
    .updateTable(table as 'programs')
    .set({ ...changes, version: row.version + 1 })
    .where('shopId', '=', shopId)
    .where('id', '=', row.id)
    .where('version', '=', row.version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
