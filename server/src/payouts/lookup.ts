import type { components } from '../contract/schema.d.ts'
import type { Context } from '../core/context.ts'
import { localDate } from '../core/time-zone.ts'
import type { PayoutBatchRow, PayoutLineRow } from '../database/tables.ts'
import { lineIdOf } from '../engine/payment-line.ts'
import { findLines } from './line-queries.ts'
import { findBatch, listNewestBatches } from './queries.ts'

/** A batch in a choice of several. */
export type FoundBatch = Pick<PayoutBatchRow, 'id' | 'currency' | 'periodStart' | 'periodEnd'> & {
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
    const one = text.startsWith('bat_') ? await findBatch(db.read, shop.id, text) : undefined
    return one ? [one] : []
  }
  const newest = await listNewestBatches(db.read, shop.id, MAX_SEARCHED)
  return newest.filter((batch) => covers(batch, month, shop.timeZone)).slice(0, limit)
}

interface Month {
  /** Any when undefined. */
  year: number | undefined
  /** From 0. */
  month: number
}

function monthOf(text: string): Month | undefined {
  const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (number) return { year: Number(year), month: Number(number) - 1 }
  const [, name = '', own] = /^([a-z]+)\.?(?: (\d{4}))?$/i.exec(text) ?? []
  const month = MONTHS.findIndex((one) => name.length >= MIN_LETTERS && one.startsWith(name.toLowerCase()))
  return month < 0 ? undefined : { year: own ? Number(own) : undefined, month }
}

/** Whether a local day of the period is in the month. */
function covers({ periodStart, periodEnd }: PayoutBatchRow, { year, month }: Month, timeZone: string): boolean {
  const [first, last] = [periodStart, periodEnd].map((at) => {
    const [ofYear, ofMonth] = localDate(at, timeZone).split('-').map(Number)
    return (ofYear ?? 0) * 12 + (ofMonth ?? 1) - 1
  }) as [number, number]
  if (year !== undefined) return first <= year * 12 + month && year * 12 + month <= last
  return first + ((month - (first % 12) + 12) % 12) <= last
}

/** The payment with a reference that a payment file contained, or with its id. */
export async function findPayment({ db, shop }: Context, text: string): Promise<PayoutLineRow | undefined> {
  const id = lineIdOf(text)
  return id ? (await findLines(db.read, shop.id, [id]))[0] : undefined
}
