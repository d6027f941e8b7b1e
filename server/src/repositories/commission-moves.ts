import type { RunAside } from '../db/aside.ts'
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

/** Commissions that a bulk action may move. */
export interface Movable {
  /** The first of them, oldest first. */
  ids: string[]
  /** How many there are. */
  total: number
}

/** Reads up to every commission of a shop, so it runs in the report thread. */
export const runAside: RunAside<{ shopId: string; query: MoveFilter & { limit: number } }, Movable> = async (
  db,
  { shopId, query: { limit, ...filter } },
) => {
  const list = moving(db, shopId, filter)
  const { total } = await list.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const first = limit === 0 ? [] : await list.select('id').orderBy('happenedAt').orderBy('id').limit(limit).execute()
  return { ids: first.map(({ id }) => id), total }
}

export async function findCommissionsById(db: Trx, shopId: string, ids: string[]): Promise<CommissionRow[]> {
  // PostgreSQL refuses an empty list.
  if (ids.length === 0) return []
  return db
    .selectFrom('commissions')
    .selectAll()
    .where(ofShop(shopId))
    .where('id', 'in', ids)
    .orderBy('happenedAt')
    .orderBy('id')
    .execute()
}
