import { sql } from 'kysely'

/** Splits an exact amount into two parts of at most 27 bits, whose sums are exact for 67 million rows. */
const HALF = 2 ** 26

/**
 * The sum of a column of cents, in two parts. A plain sum above 2^63 fails in the database, and above 2^53 it loses
 * cents on its way out.
 */
export const sumParts = (column: 'commissionAmountCents' | 'taxWithheldCents') => {
  const [cents, half] = [sql.ref(`commissions.${column}`), sql.lit(HALF)]
  return {
    high: sql<number>`cast(sum(${cents} / ${half}) as bigint)`,
    low: sql<number>`cast(sum(${cents} % ${half}) as bigint)`,
  }
}

export const wholeSum = (high: number, low: number): bigint => BigInt(high) * BigInt(HALF) + BigInt(low)
