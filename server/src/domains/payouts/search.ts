import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { monthPeriod } from '../../core/time-zone.ts'
import type { PayoutBatchRow, PayoutLineRow } from '../../database/tables.ts'
import { lineIdOf } from '../../engine/payment-line.ts'
import { findLines } from '../ledger/payment-lines.ts'
import { findBatch, listNewestBatches } from '../ledger/payouts.ts'

/** A batch to choose from. */
type FoundBatch = Pick<PayoutBatchRow, 'id' | 'currency' | 'periodStart' | 'periodEnd'> & {
  status: components['schemas']['PayoutBatchStatus']
}

/** The newest batches that are searched by month. */
const MAX_SEARCHED = 500
const MONTHS = 'january february march april may june july august september october november december'.split(' ')
/** Shorter names of months would be ambiguous. */
const MIN_LETTERS = 3

/** Finds batches by id, or by a month of their period: `2026-10`, `October` or `Oct 2026`. */
export async function findBatches({ db, shop }: Context, text: string, limit: number): Promise<FoundBatch[]> {
  const month = monthOf(text)
  if (!month) {
    const batch = text.startsWith('bat_') ? await findBatch(db.read, shop.id, text) : undefined
    return batch ? [batch] : []
  }
  const newest = await listNewestBatches(db.read, shop.id, MAX_SEARCHED)
  const years = month.year === undefined ? yearsOf(newest) : [month.year]
  const periods = years.map((year) => monthPeriod(`${year}-${month.number}`, shop.timeZone))
  const isIn = ({ periodStart, periodEnd }: FoundBatch) =>
    periods.some(({ from, to }) => periodStart <= to && from <= periodEnd)
  return newest.filter(isIn).slice(0, limit)
}

/** The years in which batches start or end, and those before and after: local days may be in another year. */
function yearsOf(batches: FoundBatch[]): string[] {
  const years = batches.flatMap(({ periodStart, periodEnd }) =>
    [periodStart, periodEnd].map((at) => Number(at.slice(0, 4))),
  )
  return [...new Set(years.flatMap((year) => [year - 1, year, year + 1]))].map((year) => String(year).padStart(4, '0'))
}

interface Month {
  /** Any when undefined. */
  year: string | undefined
  /** `01` to `12`. */
  number: string
}

function monthOf(text: string): Month | undefined {
  const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (number) return { year, number }
  const [, name = '', yearText] = /^([a-z]+)\.?(?: (\d{4}))?$/i.exec(text) ?? []
  const index = MONTHS.findIndex((month) => name.length >= MIN_LETTERS && month.startsWith(name.toLowerCase()))
  return index < 0 ? undefined : { year: yearText, number: String(index + 1).padStart(2, '0') }
}

/** The payment with a reference that a payment file contained, or with its id. */
export async function findPayment({ db, shop }: Context, text: string): Promise<PayoutLineRow | undefined> {
  const id = lineIdOf(text)
  return id ? (await findLines(db.read, shop.id, [id]))[0] : undefined
}
