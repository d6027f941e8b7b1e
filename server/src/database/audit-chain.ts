import type { AuditHeadRow } from './tables.ts'

/** The last row of an audit chain: its number, 0 when there is none, and its hash. */
export type AuditHead = Pick<AuditHeadRow, 'seq' | 'hash'>

/**
 * The end of a shop's audit chain as a transaction sees it. The row that stores it is the shop's write lock too: a
 * transaction reads it when it begins, and writes it before it commits if the chain has grown.
 */
export interface AuditChain {
  /** @throws Error when the transaction names no shop. */
  head: () => Promise<AuditHead>
  /** Moves the head to an audit row that was just inserted. */
  advance: (to: AuditHead) => void
}

/** What a transaction that names no shop gets. */
export const NO_CHAIN: AuditChain = {
  head: () => Promise.reject(new Error('A transaction that writes to an audit must name its shop')),
  advance: () => {},
}
