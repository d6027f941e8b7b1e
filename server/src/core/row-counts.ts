import { sql } from 'kysely'
import type { Reader } from '../database/access.ts'
import { preparedByShape } from '../database/prepared.ts'
import type { RowCountRow } from '../database/tables.ts'

export interface CountFilter {
  list: RowCountRow['list']
  /** An affiliate; everything without. */
  scope?: string
  programId?: string
  status?: string
}

const summed = preparedByShape<CountFilter & { shopId: string; scope: string }>()((db, values) => {
  let counts = db
    .selectFrom('rowCounts')
    .select(sql<number>`cast(coalesce(sum(rows), 0) as bigint)`.as('total'))
    .where('shopId', '=', values.shopId)
    .where('list', '=', values.list)
    .where('scope', '=', values.scope)
  if (values.programId) counts = counts.where('programId', '=', values.programId)
  if (values.status) counts = counts.where('status', '=', values.status)
  return counts.compile()
})

/** How many rows of a list match, exactly, without looking at them. */
export async function countRows(db: Reader, shopId: string, filter: CountFilter): Promise<number> {
  return (await summed(db, { ...filter, scope: filter.scope ?? '', shopId }))[0]?.total ?? 0
}

interface Days {
  shopId: string
  programId?: string
  status?: string
  /** The first day, as `day:YYYY-MM-DD`. */
  from: string
  /** The day after the last. */
  before: string
}

/** How many commissions happened on each day of a period, the latest day first. */
export const listDays = preparedByShape<Days>()((db, values) => {
  let days = db
    .selectFrom('rowCounts')
    .select(sql<string>`substr(scope, 5)`.as('day'))
    .select(sql<number>`cast(sum(rows) as bigint)`.as('rows'))
    .where('shopId', '=', values.shopId)
    .where('list', '=', 'commissions')
    .where('scope', '>=', values.from)
    .where('scope', '<', values.before)
  if (values.programId) days = days.where('programId', '=', values.programId)
  if (values.status) days = days.where('status', '=', values.status)
  return days.groupBy('scope').orderBy('scope', 'desc').compile()
})
