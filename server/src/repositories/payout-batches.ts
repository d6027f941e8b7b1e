import type { Trx } from '../db/database.ts'
import type { PayoutBatchRow } from '../db/tables.ts'
import { claimVersion } from './claim-version.ts'
import { type PageQuery, pageOf } from './page.ts'
import { countRows } from './row-counts.ts'

interface BatchFilter extends PageQuery {
  id?: string
  status?: PayoutBatchRow['status']
}

const batches = (db: Trx, shopId: string) => db.selectFrom('payoutBatches').selectAll().where('shopId', '=', shopId)

export const findBatch = (db: Trx, shopId: string, id: string): Promise<PayoutBatchRow | undefined> =>
  batches(db, shopId).where('id', '=', id).executeTakeFirst()

export async function listBatches(db: Trx, shopId: string, query: BatchFilter) {
  let list = batches(db, shopId).orderBy('createdAt', 'desc').orderBy('id', 'desc')
  if (query.id) list = list.where('id', '=', query.id)
  if (query.status) list = list.where('status', '=', query.status)
  const total = query.id ? undefined : await countRows(db, shopId, { list: 'payoutBatches', status: query.status })
  return pageOf(list, query, { total, list: 'payoutBatches' })
}

export async function insertBatch(trx: Trx, shopId: string, row: Omit<PayoutBatchRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('payoutBatches')
    .values({ shopId, ...row })
    .execute()
}

/** Changes a batch as long as it is still the version that was read. Answers whether it was. */
export const claimBatch = (
  trx: Trx,
  shopId: string,
  row: PayoutBatchRow,
  changes: Partial<PayoutBatchRow>,
): Promise<boolean> => claimVersion(trx, 'payoutBatches', { shopId, row, changes })
