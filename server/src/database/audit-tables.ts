export interface AuditRow {
  id: string
  shopId: string
  /** Numbered per shop, from 1 without gaps. */
  seq: number
  actor: string
  action: string
  subjectId: string | null
  data: string
  requestId: string
  createdAt: string
  /** The hash of the shop's previous row. Empty for the first. */
  previousHash: string
  hash: string
  /** Random. Once it is deleted, nobody can guess subject and data from their digest. */
  salt: string | null
  /** The digest of erased subject and data. Null if nothing was erased. */
  digest: string | null
}

/**
 * The last row in a shop's audit chain, and its last webhook event. On PostgreSQL, this row is also the shop's write
 * lock.
 */
export interface AuditHeadRow {
  shopId: string
  /** 0 before the first audit row. */
  seq: number
  hash: string
  /** The ID of the shop's last webhook event; empty before the first. */
  eventId: string
}

/** A person's erasure from a shop. */
export interface ErasureRow {
  shopId: string
  id: string
  /** A keyed hash of the mailbox, to repeat the erasure after an earlier backup is restored. */
  person: string
  /** The person and the pseudonyms' key, sealed. Null once the erasure has ended. */
  subject: string | null
  /** How many rows were changed. */
  rows: number
  /** JSON list of `{ table, id }`: configuration rows that mention the person. */
  mentions: string
  startedAt: string
  finishedAt: string | null
}
