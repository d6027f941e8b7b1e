import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import { claimVersion } from './claim-version.ts'
import { ofShop } from './of-shop.ts'

/** Which commissions a bulk action is for; both instants are inclusive. */
export interface MoveFilter {
  statuses: CommissionRow['orderStatus'][]
  affiliateId?: string | null
  programId?: string | null
  from?: string
  to?: string
}

/** Changes a commission as long as it is still the version that was read. Answers whether it was. */
export const claimCommission = (
  trx: Trx,
  shopId: string,
  row: CommissionRow,
  changes: Partial<CommissionRow>,
): Promise<boolean> => claimVersion(trx, 'commissions', { shopId, row, changes })

function moving(db: Trx, shopId: string, filter: MoveFilter) {
  let list = db
    .selectFrom('commissions')
    .where('shopId', '=', shopId)
    .where('orderStatus', 'in', filter.statuses)
    .where('trackingMethod', '<>', 'ADJUSTMENT')
  if (filter.affiliateId) list = list.where('affiliateId', '=', filter.affiliateId)
  if (filter.programId) list = list.where('programId', '=', filter.programId)
  if (filter.from) list = list.where('happenedAt', '>=', filter.from)
  return filter.to ? list.where('happenedAt', '<=', filter.to) : list
}

/** The first that match, oldest first. */
export const listMoving = (db: Trx, shopId: string, filter: MoveFilter, limit: number): Promise<CommissionRow[]> =>
  moving(db, shopId, filter).selectAll().orderBy('happenedAt').orderBy('id').limit(limit).execute()

/** How many match. */
export async function countMoving(db: Trx, shopId: string, filter: MoveFilter): Promise<number> {
  const { total } = await moving(db, shopId, filter)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

export const findCommissionsById = (db: Trx, shopId: string, ids: string[]): Promise<CommissionRow[]> =>
  db
    .selectFrom('commissions')
    .selectAll()
    .where(ofShop(shopId))
    .where('id', 'in', ids)
    .orderBy('happenedAt')
    .orderBy('id')
    .execute()
