import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Trx } from '../db/database.ts'
import { isInProcess, nextTurn } from '../db/slices.ts'
import type { CommissionRow, Tables } from '../db/tables.ts'

export type Condition = (eb: ExpressionBuilder<Tables, 'commissions'>) => Expression<SqlBool>

/** Commissions of one shop that may be many: all of them, and the same in parts that one statement each reads. */
export interface Range {
  whole: Condition
  parts: (trx: Trx, shopId: string) => AsyncIterable<Condition>
}

/** So many rows are read by one statement. */
const PART = 500

type Place = Pick<CommissionRow, 'happenedAt' | 'id'>

/**
 * The conditions to read a range by: one on PostgreSQL, and several on SQLite, where other requests run in between. Only
 * a transaction that writes sees all parts as they were at one time.
 */
export async function* partsOf(trx: Trx, shopId: string, range: Range): AsyncGenerator<Condition> {
  if (isInProcess(trx)) yield* range.parts(trx, shopId)
  else yield range.whole
}

/** Few commissions, which one statement reads. */
export const inOne = (whole: Condition): Range => ({
  whole,
  async *parts() {
    yield whole
  },
})

export const ofBatch = (batchId: string): Range => ({
  whole: (eb) => eb('payoutBatchId', '=', batchId),
  async *parts(trx, shopId) {
    const rowid = sql<number>`commissions.rowid`
    const all = trx.selectFrom('commissions').where('shopId', '=', shopId).where('payoutBatchId', '=', batchId)
    for (let start: number | undefined = 0; start !== undefined; ) {
      const after: number = start
      const rest = all.select(rowid.as('at')).where(rowid, '>', after).orderBy(rowid)
      const last = (
        await rest
          .limit(1)
          .offset(PART - 1)
          .executeTakeFirst()
      )?.at
      yield (eb) => {
        const part = [eb('payoutBatchId', '=', batchId), eb(rowid, '>', after)]
        return eb.and(last === undefined ? part : [...part, eb(rowid, '<=', last)])
      }
      if (last !== undefined) await nextTurn()
      start = last
    }
  },
})

/** The commissions of some statuses in a period; both instants are inclusive. */
export const ofPeriod = (statuses: CommissionRow['orderStatus'][], from: string, to: string): Range => ({
  whole: (eb) => eb.and([eb('orderStatus', 'in', statuses), eb('happenedAt', '>=', from), eb('happenedAt', '<=', to)]),
  async *parts(trx, shopId) {
    for (const status of statuses) yield* partsOfStatus(trx, { shopId, status, from, to })
  },
})

type OfStatus = Pick<CommissionRow, 'shopId'> & { status: CommissionRow['orderStatus']; from: string; to: string }

async function* partsOfStatus(trx: Trx, { shopId, status, from, to }: OfStatus): AsyncGenerator<Condition> {
  const all = trx
    .selectFrom('commissions')
    .select(['happenedAt', 'id'])
    .where('shopId', '=', shopId)
    .where('orderStatus', '=', status)
    .orderBy('happenedAt', 'desc')
    .orderBy('id', 'desc')
  // No id is greater.
  let start: Place | undefined = { happenedAt: to, id: '~' }
  while (start) {
    const before: Place = start
    const isBefore: Condition = (eb) => eb(place(eb), '<', eb.tuple(before.happenedAt, before.id))
    const rest = all.where(isBefore).where('happenedAt', '>=', from)
    const last: Place | undefined = await rest
      .limit(1)
      .offset(PART - 1)
      .executeTakeFirst()
    yield (eb) => {
      const end = last ? eb(place(eb), '>=', eb.tuple(last.happenedAt, last.id)) : eb('happenedAt', '>=', from)
      return eb.and([eb('orderStatus', '=', status), isBefore(eb), end])
    }
    if (last) await nextTurn()
    start = last
  }
}

const place = (eb: ExpressionBuilder<Tables, 'commissions'>) => eb.refTuple('commissions.happenedAt', 'commissions.id')
