import { hash } from 'node:crypto'
import type { AuditRow } from '../db/tables-owner.ts'

/**
 * The hash of an audit row: SHA-256, as hex, over the JSON list of everything in it, the hash of the row before included.
 * A row that is changed, taken out or slipped in later breaks the chain from there on.
 */
export function hashAudit(row: Omit<AuditRow, 'hash'>): string {
  const { previousHash, seq, id, shopId, actor, action, subjectId, data, requestId, createdAt } = row
  const text = JSON.stringify([previousHash, seq, id, shopId, actor, action, subjectId, data, requestId, createdAt])
  return hash('sha256', text, 'hex')
}

/** What stands in the way of trusting a shop's audit: the first row that is not as it was written. */
export interface ChainBreak {
  shopId: string
  seq: number
  reason: 'MISSING' | 'CHANGED' | 'UNLINKED'
}

/** Follows rows in their order from `previous` on; the first has nothing before it. Answers the first break. */
export function followChain(rows: AuditRow[], previous: Pick<AuditRow, 'seq' | 'hash'>): ChainBreak | undefined {
  let { seq, hash } = previous
  for (const row of rows) {
    const at = { shopId: row.shopId, seq: seq + 1 }
    if (row.seq !== seq + 1) return { ...at, reason: 'MISSING' }
    if (row.previousHash !== hash) return { ...at, reason: 'UNLINKED' }
    if (row.hash !== hashAudit(row)) return { ...at, reason: 'CHANGED' }
    seq = row.seq
    hash = row.hash
  }
  return undefined
}
