export interface AuditRow {
  id: string
  shopId: string
  /** Per shop, from 1 without gaps. */
  seq: number
  actor: string
  action: string
  subjectId: string | null
  data: string
  requestId: string
  createdAt: string
  /** The hash of the shop's previous row; empty for the first. */
  previousHash: string
  hash: string
  /** Random, so that nobody can guess the subject and the data from their digest once it is deleted. */
  salt: string | null
  /** The digest of the subject and the data that a person was erased from; null otherwise. */
  digest: string | null
}

/** The last row of a shop's audit chain, and its last webhook event. On PostgreSQL the row is also the shop's write lock. */
export interface AuditHeadRow {
  shopId: string
  /** 0 before the first audit row. */
  seq: number
  hash: string
  /** The id of the shop's last webhook event; empty before the first. */
  eventId: string
}

/** The erasure of a person from a shop. */
export interface ErasureRow {
  shopId: string
  id: string
  /** A keyed hash of the mailbox, with which the erasure is repeated after an earlier backup was restored. */
  person: string
  /** Whom, and the key of the pseudonyms, sealed; null when the erasure has ended. */
  subject: string | null
  /** How many rows were changed. */
  rows: number
  /** JSON list of `{ table, id }`: rows of the merchant's configuration that mention the person. */
  mentions: string
  startedAt: string
  finishedAt: string | null
}
