import type { Trx } from '../db/database.ts'
import { type CommissionFilter, type Matching, matching, narrowestByKind, type ReadBy } from './commission-filter.ts'
import { shaped } from './prepared.ts'
import { type CountFilter, countRows, listDays } from './row-counts.ts'

const count = shaped<Matching>()((db, values) =>
  matching(db, values)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .compile(),
)

const countThem = async (db: Trx, values: Matching): Promise<number> => (await count(db, values))[0]?.total ?? 0

const DAY = /^\d{4}-\d\d-\d\dT/
const DAY_MS = 86_400_000
/** Sorts after the scope of every day. */
const AFTER_DAYS = 'day;'
/** Four digits do not name the day after it. */
const LAST_DAY = '9999-12-31'

/** How many commissions match, exactly. Rows are only looked at where a filter leaves few of them. */
export async function countCommissions(db: Trx, shopId: string, filter: CommissionFilter): Promise<number> {
  const { payoutBatchId, orderId, from, to, affiliateId, programId, status } = filter
  if (payoutBatchId || orderId) return countThem(db, { ...filter, shopId })
  // No affiliate's id has a colon; the scopes of days do.
  if (affiliateId?.includes(':')) return countThem(db, { ...filter, shopId })
  if (!from && !to) return countRows(db, shopId, { list: 'commissions', scope: affiliateId, programId, status })
  const isDated = (!from || (DAY.test(from) && from < LAST_DAY)) && (!to || DAY.test(to))
  return affiliateId || !isDated ? countThem(db, { ...filter, shopId }) : countPeriod(db, shopId, filter)
}

/** Whole days are counted already; only what is left of the first and the last is looked at. */
async function countPeriod(db: Trx, shopId: string, filter: CommissionFilter): Promise<number> {
  const { from, to, programId, status } = filter
  const first = from && dayAfter(from)
  const last = to?.slice(0, 10)
  if (first && last && first >= last) return countThem(db, { ...filter, shopId })
  const whole = await listDays(db, {
    shopId,
    programId,
    status,
    from: `day:${first ?? ''}`,
    before: last ? `day:${last}` : AFTER_DAYS,
  })
  const edge = { shopId, programId, status }
  const before = from && first ? await countThem(db, { ...edge, from, before: first }) : 0
  const after = to && last ? await countThem(db, { ...edge, from: last, to }) : 0
  return before + whole.reduce((sum, { rows }) => sum + rows, 0) + after
}

const dayAfter = (at: string): string =>
  new Date(Date.parse(`${at.slice(0, 10)}T00:00:00.000Z`) + DAY_MS).toISOString().slice(0, 10)

const FAR = 400

/** Where a page begins. One far down is looked for from the day it begins on, so that nothing before is walked through. */
export async function placeOfPage(
  db: Trx,
  shopId: string,
  filter: CommissionFilter,
  offset: number,
): Promise<{ before?: string; offset: number }> {
  const { programId, status, affiliateId, payoutBatchId, orderId, from, to } = filter
  const isNarrow = affiliateId || payoutBatchId || orderId || from || to
  if (offset < FAR || isNarrow) return { offset }
  let skipped = 0
  let before: string | undefined
  for (const { day, rows } of await listDays(db, { shopId, programId, status, from: 'day:', before: AFTER_DAYS })) {
    if (skipped + rows > offset) break
    skipped += rows
    before = day
  }
  return before === undefined ? { offset } : { before, offset: offset - skipped }
}

/** The filter that leaves the fewest rows; of several that may leave many, by their counts. */
export async function narrowest(db: Trx, shopId: string, filter: CommissionFilter): Promise<ReadBy | undefined> {
  const { orderId, payoutBatchId, affiliateId, status, programId } = filter
  const broad: [ReadBy, Omit<CountFilter, 'list'>][] = []
  if (affiliateId) broad.push(['affiliateId', { scope: affiliateId }])
  if (status) broad.push(['orderStatus', { status }])
  if (programId) broad.push(['programId', { programId }])
  if (orderId || payoutBatchId || broad.length < 2) return narrowestByKind(filter)
  const counted = await Promise.all(
    broad.map(async ([readBy, by]) => ({ readBy, rows: await countRows(db, shopId, { list: 'commissions', ...by }) })),
  )
  return counted.reduce((least, one) => (one.rows < least.rows ? one : least)).readBy
}
