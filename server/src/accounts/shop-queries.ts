import type { Reader, Transaction } from '../database/access.ts'
import { prepared } from '../database/prepared.ts'
import type { ShopRow } from '../database/tables.ts'

const shopById = prepared<{ shopId: string }>()((db, { shopId }) =>
  db.selectFrom('shops').selectAll().where('id', '=', shopId).compile(),
)

export const findShop = async (db: Reader, shopId: string): Promise<ShopRow | undefined> =>
  (await shopById(db, { shopId }))[0]

export const listShops = (db: Reader): Promise<ShopRow[]> =>
  db.selectFrom('shops').selectAll().orderBy('createdAt').orderBy('id').execute()

export async function insertShop(trx: Transaction, row: ShopRow): Promise<void> {
  await trx.insertInto('shops').values(row).execute()
}

/** Makes a program the shop's default when there is none yet. Answers whether it did. */
export async function setDefaultProgramIfNone(trx: Transaction, shopId: string, programId: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('shops')
    .set({ defaultProgramId: programId })
    .where('id', '=', shopId)
    .where('defaultProgramId', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Changes a shop as long as it is still the version that was read. Answers whether it was. */
export async function updateShopIfUnchanged(
  trx: Transaction,
  row: ShopRow,
  changes: Partial<ShopRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('shops')
    .set({ ...changes, version: row.version + 1 })
    .where('id', '=', row.id)
    .where('version', '=', row.version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
