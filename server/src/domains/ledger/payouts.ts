import { defineList, rowsOf } from '../../core/lists.ts'
import { type PageQuery, pageOf } from '../../core/pagination.ts'
import { countRows } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { findRow } from '../../database/rows.ts'
import type { PayoutBatchRow } from '../../database/tables.ts'

export interface BatchFilter {
  id?: string
  status?: PayoutBatchRow['status']
  currency?: string
  /** Instants, both inclusive: batches whose period has one in common. */
  from?: string
  to?: string
}

const batches = (db: Reader, shopId: string) => db.selectFrom('payoutBatches').selectAll().where('shopId', '=', shopId)

export const findBatch = (db: Reader, shopId: string, id: string): Promise<PayoutBatchRow | undefined> =>
  findRow(db, 'payoutBatches', { shopId, id })

/** Whether the filter has no stored count, so that the matching rows are counted. */
const isUncounted = ({ id, currency, from, to }: BatchFilter): boolean =>
  [id, currency, from, to].some((filter) => filter !== undefined)

export async function listBatches(db: Reader, shopId: string, query: BatchFilter & PageQuery) {
  const { id, status, currency, from, to } = query
  let list = batches(db, shopId).orderBy('createdAt', 'desc').orderBy('id', 'desc')
  if (id) list = list.where('id', '=', id)
  if (status) list = list.where('status', '=', status)
  if (currency) list = list.where('currency', '=', currency)
  if (from) list = list.where('periodEnd', '>=', from)
  if (to) list = list.where('periodStart', '<=', to)
  const total = isUncounted(query) ? undefined : await countRows(db, shopId, { list: 'payoutBatches', status })
  return pageOf(list, query, { total, list: 'payoutBatches' })
}

export const batchList = defineList(import.meta.url, 'batchList', {
  read: listBatches,
  cost: (query: BatchFilter & PageQuery) =>
    query.id === undefined && isUncounted(query) ? rowsOf({ list: 'payoutBatches' }) : undefined,
})

/** The newest batches' periods, without totals. */
export const listNewestBatches = (db: Reader, shopId: string, limit: number) =>
  db
    .selectFrom('payoutBatches')
    .select(['id', 'status', 'currency', 'periodStart', 'periodEnd'])
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()

/** The batches of a shop, or of all shops, whose rows move; nearly always none. */
export const listProcessing = (db: Reader, shopId?: string): Promise<PayoutBatchRow[]> => {
  // The condition names an index, which every row is in.
  const all = db.selectFrom('payoutBatches').selectAll().where('claimedUntil', '>=', '')
  return (shopId === undefined ? all : all.where('shopId', '=', shopId)).execute()
}

/** Adds what a step has moved, and renews the claim. Returns false when another run has taken the batch over. */
export async function advanceBatch(
  trx: Transaction,
  { shopId, id, version }: PayoutBatchRow,
  step: {
    moved: number
    claimedUntil: string
    added: Pick<PayoutBatchRow, 'commissionCents' | 'taxWithheldCents'> & { commissions: number }
  },
): Promise<boolean> {
  const { commissions, commissionCents, taxWithheldCents } = step.added
  const { numUpdatedRows } = await trx
    .updateTable('payoutBatches')
    .set((eb) => ({
      claimedUntil: step.claimedUntil,
      movedCommissions: eb('movedCommissions', '+', step.moved),
      commissions: eb('commissions', '+', commissions),
      commissionCents: eb('commissionCents', '+', commissionCents),
      taxWithheldCents: eb('taxWithheldCents', '+', taxWithheldCents),
      netPayableCents: eb('netPayableCents', '+', commissionCents - taxWithheldCents),
    }))
    .where('shopId', '=', shopId)
    .where('id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Whether the shop has a batch that is neither paid nor failed. */
export const hasOpenBatch = async (db: Reader, shopId: string): Promise<boolean> =>
  (await batches(db, shopId).where('status', 'in', ['OPEN', 'PROCESSING']).limit(1).executeTakeFirst()) !== undefined
