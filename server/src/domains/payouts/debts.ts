import type { Context } from '../../core/context.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { CommissionRow, ReservationChangeRow } from '../../database/tables.ts'
import { type CarriedDebt, carryDebts, type DebtRow } from '../../engine/payout.ts'
import { adjustmentRow, insertCommissions } from '../ledger/commissions.ts'
import { findBatch, type Subtotal } from '../ledger/payouts.ts'

/** A debt that a batch carries forward. `programId`: of a debt that comes from one program only. */
export type Debt = CarriedDebt & { programId: string | null }

type DebtContext = Pick<Context, 'newId' | 'now'> & { shop: Pick<Context['shop'], 'id'> }

/** Inserts both rows of each debt, which add up to zero: one balances the batch, the next batch collects the other. */
export async function insertDebts(ctx: DebtContext, trx: Transaction, batchId: string, debts: Debt[]): Promise<void> {
  const rows = debts.flatMap(({ balancing, open, programId }) => {
    const debtId = ctx.newId('com')
    const inBatch = { orderStatus: 'PAYABLE', payoutBatchId: batchId, programId, debtId } as const
    const next = { orderStatus: 'APPROVED', payoutBatchId: null, programId, debtId } as const
    return [carried(ctx, balancing, { ...inBatch, id: debtId }), carried(ctx, open, { ...next, id: ctx.newId('com') })]
  })
  await insertCommissions(trx, ctx.shop.id, rows)
}

/** A debt belongs to no single order, so the order id contains the row's own id. */
const carried = (
  ctx: DebtContext,
  debt: DebtRow,
  place: Pick<CommissionRow, 'id' | 'orderStatus' | 'payoutBatchId' | 'programId' | 'debtId'>,
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, { ...debt, ...place, orderCurrency: debt.currency, orderId: `adj:${place.id}:carry` })

/** How many debts the transaction that creates a batch in steps inserts. Steps insert the others. */
const MAX_AT_CREATION = 100
/** Rows per statement. */
const MAX_INSERTED = 200

/** Inserts the first debts of a batch that is created in steps. The others become rows of `reservationChanges`, which cost a tenth. */
export async function insertFirstDebts(
  ctx: DebtContext,
  trx: Transaction,
  batchId: string,
  debts: Debt[],
): Promise<void> {
  await insertDebts(ctx, trx, batchId, debts.slice(0, MAX_AT_CREATION))
  const rows = debts.slice(MAX_AT_CREATION).map(
    ({ affiliateId, debtCents, programId }): ReservationChangeRow => ({
      shopId: ctx.shop.id,
      batchId,
      commissionId: ctx.newId('com'),
      version: 0,
      affiliateId,
      programId,
      commissions: 1,
      commissionCents: debtCents,
      taxWithheldCents: 0,
    }),
  )
  while (rows.length > 0) await trx.insertInto('reservationChanges').values(rows.splice(0, MAX_INSERTED)).execute()
}

interface BatchKey {
  shopId: string
  batchId: string
}

const pendingDebts = (db: Reader, { shopId, batchId }: BatchKey) =>
  db
    .selectFrom('reservationChanges')
    .where('shopId', '=', shopId)
    .where('batchId', '=', batchId)
    .where('commissions', '=', 1)

/** Whether debts of a batch are not inserted yet. */
export const hasPendingDebts = async (db: Reader, key: BatchKey): Promise<boolean> =>
  (await pendingDebts(db, key).select('commissionId').limit(1).executeTakeFirst()) !== undefined

/** Inserts debts of a batch that are not inserted yet: those of some affiliates, or at most `limit`. Returns how many. */
export async function insertPendingDebts(
  ctx: DebtContext,
  trx: Transaction,
  batchId: string,
  { affiliateIds, limit }: { affiliateIds?: string[]; limit?: number },
): Promise<number> {
  const key = { shopId: ctx.shop.id, batchId }
  let found = pendingDebts(trx, key).select(['commissionId', 'affiliateId', 'programId', 'commissionCents'])
  if (affiliateIds) found = found.where('affiliateId', 'in', affiliateIds)
  if (limit !== undefined) found = found.orderBy('commissionId').limit(limit)
  const rows = await found.execute()
  if (rows.length === 0) return 0
  const batch = await findBatch(trx, key.shopId, batchId)
  if (!batch) throw new Error('Debts wait for a batch that does not exist')
  const { currency, periodEnd } = batch
  const nets = rows.map(({ affiliateId, commissionCents }) => ({
    affiliateId,
    currency,
    commissionAmountCents: -commissionCents,
    taxWithheldCents: 0,
  }))
  const programs = new Map(rows.map(({ affiliateId, programId }) => [affiliateId, programId]))
  const debts = carryDebts(nets, periodEnd) ?? []
  await insertDebts(
    ctx,
    trx,
    batchId,
    debts.map((debt) => ({ ...debt, programId: programs.get(debt.affiliateId) ?? null })),
  )
  await trx
    .deleteFrom('reservationChanges')
    .where('shopId', '=', key.shopId)
    .where('batchId', '=', batchId)
    .where(
      'commissionId',
      'in',
      rows.map(({ commissionId }) => commissionId),
    )
    .execute()
  return rows.length
}

/** The debts of batches that are not inserted yet, as sums of commissions. */
export async function sumPendingDebts(
  db: Reader,
  shopId: string,
  batchIds: string[],
): Promise<(Subtotal & { batchId: string })[]> {
  const rows = await db
    .selectFrom('reservationChanges as r')
    .innerJoin('payoutBatches as b', (join) => join.onRef('b.shopId', '=', 'r.shopId').onRef('b.id', '=', 'r.batchId'))
    .select(['r.batchId', 'r.affiliateId', 'r.programId', 'r.commissionCents', 'b.currency'])
    .where('r.shopId', '=', shopId)
    .where('r.batchId', 'in', batchIds)
    .where('r.commissions', '=', 1)
    .execute()
  return rows.map(({ commissionCents, ...row }) => ({
    ...row,
    commissions: 1,
    commissionAmountCents: BigInt(commissionCents),
    taxWithheldCents: 0n,
  }))
}
