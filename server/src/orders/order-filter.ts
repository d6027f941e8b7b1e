import type { CommissionRow } from '../database/tables.ts'

/** The outcome of an order that was credited to no affiliate. */
export const NO_AFFILIATE = 'NOBODY'

/** The status of the commission of an order, `NOBODY` without one. */
export type Outcome = CommissionRow['orderStatus'] | typeof NO_AFFILIATE

/** The conditions of a list of orders. Instants and amounts are inclusive. */
export interface OrderFilter {
  outcome?: Outcome | undefined
  affiliateId?: string | undefined
  from?: string | undefined
  to?: string | undefined
  /** The currency of the order, which amounts need. */
  currency?: string | undefined
  minGoodsCents?: number | undefined
  maxGoodsCents?: number | undefined
}
