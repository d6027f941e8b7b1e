import { sql } from 'kysely'
import { countOf } from '../../core/pagination.ts'
import { type CountFilter, countRows, withoutIndex } from '../../core/queries.ts'
import { defineReport, type Reader } from '../../database/database.ts'
import type { CommissionRow } from '../../database/tables.ts'

/** The filter of a bulk action. All bounds are inclusive. */
export interface ModerationFilter {
  statuses: CommissionRow['orderStatus'][]
  affiliateId?: string | null
  programId?: string | null
  from?: string
  to?: string
  /** The commissions' currency. */
  currency?: string | null
  /** The commission in cents. */
  minAmountCents?: number | null
  maxAmountCents?: number | null
}

type Indexed = 'orderStatus' | 'affiliateId' | 'programId'

/** The condition that the fewest commissions meet. SQLite assumes that all affiliates have equally many. */
async function rarestOf(db: Reader, shopId: string, filter: ModerationFilter): Promise<Indexed> {
  const { statuses, affiliateId, programId } = filter
  const count = (filter: Omit<CountFilter, 'list'>) => countRows(db, shopId, { list: 'commissions', ...filter })
  const sizes: [column: Indexed, rows: number][] = []
  if (affiliateId) sizes.push(['affiliateId', await count({ scope: affiliateId })])
  if (programId) sizes.push(['programId', await count({ programId })])
  if (sizes.length === 0) return 'orderStatus'
  const ofStatuses = await Promise.all(statuses.map((status) => count({ status })))
  sizes.push(['orderStatus', ofStatuses.reduce((sum, rows) => sum + rows, 0)])
  return sizes.reduce((least, filter) => (filter[1] < least[1] ? filter : least))[0]
}

function movableCommissions(
  db: Reader,
  shopId: string,
  { filter, rarest }: { filter: ModerationFilter; rarest: Indexed },
) {
  const { affiliateId, programId, from, to, currency, minAmountCents: min, maxAmountCents: max } = filter
  const column = (name: Indexed) => (name === rarest ? name : withoutIndex(db, name))
  let list = db
    .selectFrom('commissions')
    .where('shopId', '=', shopId)
    .where(column('orderStatus'), 'in', filter.statuses)
    .where('trackingMethod', '<>', 'ADJUSTMENT')
    // A possible duplicate must be decided individually: a filter would pay the order twice.
    .where((eb) =>
      eb.or([eb('restrictionReasonCode', 'is', null), eb('restrictionReasonCode', '<>', 'POSSIBLE_DUPLICATE')]),
    )
  if (affiliateId) list = list.where(column('affiliateId'), '=', affiliateId)
  if (programId) list = list.where(column('programId'), '=', programId)
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  if (currency) list = list.where('currency', '=', currency)
  if (typeof min === 'number') list = list.where('commissionAmountCents', '>=', min)
  return typeof max === 'number' ? list.where('commissionAmountCents', '<=', max) : list
}

/** Commissions that a bulk action can change. */
export interface MovableCommissions {
  /** The first commissions, oldest first. */
  ids: string[]
  /** The total number. */
  total: number
}

/** Can read every commission of a shop, so it runs in the report worker. */
export const movableReport = defineReport(
  import.meta.url,
  'movableReport',
  async (
    db,
    { shopId, query: { limit, ...filter } }: { shopId: string; query: ModerationFilter & { limit: number } },
  ): Promise<MovableCommissions> => {
    const list = movableCommissions(db, shopId, { filter, rarest: await rarestOf(db, shopId, filter) })
    const first = limit === 0 ? [] : await list.select('id').orderBy('happenedAt').orderBy('id').limit(limit).execute()
    return { ids: first.map(({ id }) => id), total: await countOf(list) }
  },
  { isLong: true },
)

/** The commissions that a bulk action can change, added up by currency. */
export type MovableSums = { currency: string; commissions: number; commissionCents: number }[]

export const movableSumsReport = defineReport(
  import.meta.url,
  'movableSumsReport',
  async (db, { shopId, query }: { shopId: string; query: ModerationFilter }): Promise<MovableSums> =>
    movableCommissions(db, shopId, { filter: query, rarest: await rarestOf(db, shopId, query) })
      .select('currency')
      .select((eb) => eb.fn.countAll<number>().as('commissions'))
      .select(sql<number>`cast(sum("commissionAmountCents") as bigint)`.as('commissionCents'))
      .groupBy('currency')
      .orderBy('currency')
      .execute(),
  { isLong: true },
)
