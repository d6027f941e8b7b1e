import { sql } from 'kysely'
import { hasId } from '../../core/queries.ts'
import { chunks } from '../../database/chunks.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { findRow } from '../../database/rows.ts'
import type { PayoutFileRow, PayoutLineRow } from '../../database/tables.ts'
import { BY_AFFILIATE, isUnpaid, paidColumns } from './batch-commissions.ts'

/** The lines of a shop, without those of discarded files, which may not be deleted yet. */
const linesOf = (db: Reader, shopId: string) =>
  db
    .selectFrom('payoutLines')
    .where('payoutLines.shopId', '=', shopId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('payoutFiles as f')
            .select('f.id')
            .whereRef('f.shopId', '=', 'payoutLines.shopId')
            .whereRef('f.id', '=', 'payoutLines.fileId')
            .where('f.status', '=', 'DISCARDED'),
        ),
      ),
    )

const lines = (db: Reader, shopId: string) => linesOf(db, shopId).selectAll('payoutLines')

/** The file in which the payment of an affiliate in a batch was sent, whatever became of it. */
export async function findSentFile(
  db: Reader,
  shopId: string,
  { batchId, affiliateId }: Pick<PayoutLineRow, 'batchId' | 'affiliateId'>,
): Promise<string | undefined> {
  const row = await linesOf(db, shopId)
    .select('payoutLines.fileId')
    .where('payoutLines.batchId', '=', batchId)
    .where('payoutLines.affiliateId', '=', affiliateId)
    .executeTakeFirst()
  return row?.fileId
}

export const findLines = async (db: Reader, shopId: string, ids: string[]): Promise<PayoutLineRow[]> =>
  ids.length === 0 ? [] : lines(db, shopId).where(hasId(db, ids)).execute()

/** The lines of a batch, by affiliate; those of some affiliates only with `affiliateIds`. */
export async function findLinesOfBatch(
  db: Reader,
  shopId: string,
  batchId: string,
  affiliateIds?: string[],
): Promise<Map<string, PayoutLineRow>> {
  let list = lines(db, shopId).where('payoutLines.batchId', '=', batchId)
  if (affiliateIds) list = list.where('affiliateId', 'in', affiliateIds)
  const rows = affiliateIds?.length === 0 ? [] : await list.execute()
  return new Map(rows.map((row) => [row.affiliateId, row]))
}

/** The lines of a file by id, starting after one. */
export function listLinesOfFile(
  db: Reader,
  shopId: string,
  { fileId, after, limit }: { fileId: string; after: string | undefined; limit: number },
): Promise<PayoutLineRow[]> {
  let list = lines(db, shopId).where('fileId', '=', fileId).orderBy('id').limit(limit)
  if (after) list = list.where('id', '>', after)
  return list.execute()
}

/** The sums of the returned lines of a batch, which cannot leave it. */
export async function sumReturned(trx: Transaction, shopId: string, batchId: string) {
  const sum = (column: keyof PayoutLineRow) => sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`
  return linesOf(trx, shopId)
    .select([
      sum('commissions').as('commissions'),
      sql<number>`cast(count(*) as bigint)`.as('affiliates'),
      sum('commissionCents').as('commissionCents'),
      sum('taxWithheldCents').as('taxWithheldCents'),
      sum('amountCents').as('netPayableCents'),
    ])
    .where('batchId', '=', batchId)
    .where('state', '=', 'RETURNED')
    .executeTakeFirstOrThrow()
}

/** Rows per insert; SQLite accepts 32,766 values in a statement. */
const MAX_INSERTED = 200

export async function insertLines(trx: Transaction, rows: PayoutLineRow[]): Promise<void> {
  for (const some of chunks(rows, MAX_INSERTED)) await trx.insertInto('payoutLines').values(some).execute()
}

/** Deletes lines of discarded files, which block other lines of the same affiliates in the batch. */
export async function deleteDiscardedLines(
  trx: Transaction,
  shopId: string,
  batchId: string,
  affiliateIds: string[],
): Promise<void> {
  const discarded = trx
    .selectFrom('payoutFiles')
    .select('id')
    .where('shopId', '=', shopId)
    .where('batchId', '=', batchId)
    .where('status', '=', 'DISCARDED')
  await trx
    .deleteFrom('payoutLines')
    .where('shopId', '=', shopId)
    .where('batchId', '=', batchId)
    .where('affiliateId', 'in', affiliateIds)
    .where('fileId', 'in', discarded)
    .execute()
}

/** Deletes some lines of a file. Returns how many. */
export async function deleteLinesOfFile(
  trx: Transaction,
  { shopId, id, limit }: Pick<PayoutFileRow, 'shopId' | 'id'> & { limit: number },
): Promise<number> {
  const some = trx
    .selectFrom('payoutLines')
    .select('id')
    .where('shopId', '=', shopId)
    .where('fileId', '=', id)
    .limit(limit)
  const { numDeletedRows } = await trx
    .deleteFrom('payoutLines')
    .where('shopId', '=', shopId)
    .where('id', 'in', some)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** The files of a batch to which lines are still added. */
export const listPreparing = (db: Reader, shopId: string, batchId: string): Promise<PayoutFileRow[]> =>
  files(db, shopId).where('batchId', '=', batchId).where('status', '=', 'PREPARING').execute()

const files = (db: Reader, shopId: string) => db.selectFrom('payoutFiles').selectAll().where('shopId', '=', shopId)

export const findFile = (db: Reader, shopId: string, id: string): Promise<PayoutFileRow | undefined> =>
  findRow(db, 'payoutFiles', { shopId, id })

/** The files of a batch, newest first. */
export function listFiles(db: Reader, shopId: string, batchId: string, limit?: number): Promise<PayoutFileRow[]> {
  const list = files(db, shopId).where('batchId', '=', batchId).orderBy('createdAt', 'desc').orderBy('id', 'desc')
  return (limit === undefined ? list : list.limit(limit)).execute()
}

/** The totals of a batch's files. */
interface FileSums {
  /** Whether lines are still being added to one. */
  isPreparing: boolean
  sentCents: number
  settledCents: number
  returnedCents: number
}

export async function sumFiles(db: Reader, shopId: string, batchId: string): Promise<FileSums> {
  const sum = (column: keyof PayoutFileRow) => sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`
  const { preparing, ...sums } = await db
    .selectFrom('payoutFiles')
    .select([
      sql<number>`cast(coalesce(sum(case when status = 'PREPARING' then 1 else 0 end), 0) as bigint)`.as('preparing'),
      sum('totalCents').as('sentCents'),
      sum('settledCents').as('settledCents'),
      sum('returnedCents').as('returnedCents'),
    ])
    .where('shopId', '=', shopId)
    .where('batchId', '=', batchId)
    .executeTakeFirstOrThrow()
  return { isPreparing: preparing > 0, ...sums }
}

/** What is in payment files of each batch, and what was returned of it. */
export async function sumSentByBatch(
  db: Reader,
  shopId: string,
  batchIds: string[],
): Promise<ReadonlyMap<string, Pick<FileSums, 'sentCents' | 'returnedCents'>>> {
  if (batchIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('payoutFiles')
    .select([
      'batchId',
      sql<number>`cast(sum("totalCents") as bigint)`.as('sentCents'),
      sql<number>`cast(sum("returnedCents") as bigint)`.as('returnedCents'),
    ])
    .where('shopId', '=', shopId)
    .where('batchId', 'in', batchIds)
    .groupBy('batchId')
    .execute()
  return new Map(rows.map(({ batchId, ...sums }) => [batchId, sums]))
}

/** Some unpaid commissions of one affiliate in a batch. */
export const listUnpaid = async (
  db: Reader,
  shopId: string,
  { batchId, affiliateId }: Pick<PayoutLineRow, 'batchId' | 'affiliateId'>,
  limit: number,
): Promise<string[]> => {
  const rows = await db
    .selectFrom('commissions')
    .select('id')
    .where('shopId', '=', shopId)
    .where('affiliateId', '=', affiliateId)
    .where('payoutBatchId', '=', batchId)
    .where(isUnpaid)
    .orderBy(BY_AFFILIATE)
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** When the first of an affiliate's commissions in a batch were paid, if any were. */
export async function findPaidAt(
  db: Reader,
  shopId: string,
  { batchId, affiliateId }: Pick<PayoutLineRow, 'batchId' | 'affiliateId'>,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('commissions')
    .select('paidAt')
    .where('shopId', '=', shopId)
    .where('affiliateId', '=', affiliateId)
    .where('payoutBatchId', '=', batchId)
    .where('paidAt', 'is not', null)
    .orderBy(BY_AFFILIATE)
    .limit(1)
    .executeTakeFirst()
  return row?.paidAt ?? undefined
}

/** Marks these commissions of a batch as paid, unless they changed since they were found. */
export async function updateToPaidById(
  trx: Transaction,
  shopId: string,
  { batchId, paidAt }: { batchId: string; paidAt: string },
  ids: string[],
): Promise<void> {
  await trx
    .updateTable('commissions')
    .set((eb) => ({ ...paidColumns(paidAt), version: eb('version', '+', 1) }))
    .where('shopId', '=', shopId)
    .where(hasId(trx, ids))
    .where(sql<string>`"payoutBatchId" || ''`, '=', batchId)
    .where(isUnpaid)
    .execute()
}
