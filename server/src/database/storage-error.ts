import SQLite from 'better-sqlite3'

/** A failure of the database or the connection to it, from any driver. `code`: the SQLSTATE, else the system error code. */
export class StorageError extends Error {
  readonly code: string
  /** Whether the connection was lost or refused, so that a new connection may work. */
  readonly isLost: boolean

  constructor(message: string, { code, isLost, cause }: { code: string; isLost: boolean; cause?: unknown }) {
    super(message, { cause })
    this.name = 'StorageError'
    this.code = code
    this.isLost = isLost
  }
}

/** The connection was lost during the commit, and whether it succeeded could not be queried afterwards. */
export class CommitOutcomeUnknownError extends StorageError {}

/** Rejects work because the shop's queue is full. */
export class QueueFullError extends StorageError {
  constructor() {
    super('The queue of this shop is full', { code: 'queue_full', isLost: false })
  }
}

/** A report exceeded its time in the report thread. */
export class ReportTimeoutError extends StorageError {
  constructor() {
    super('The report took too long', { code: 'report_timeout', isLost: false })
  }
}

/** Whether the error comes from the database or its driver, not from a bug or an intended rejection. */
export const isStorageError = (error: unknown): error is Error & { code: string } =>
  error instanceof StorageError || error instanceof SQLite.SqliteError

const UNIQUE = ['23505', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']

/** Whether the row violates a unique index or primary key. */
export const isUniqueViolation = (error: unknown): boolean => isStorageError(error) && UNIQUE.includes(error.code)

/** Whether another connection holds the lock. Codes extend `SQLITE_BUSY`, such as `SQLITE_BUSY_RECOVERY` after a crash. */
export const isSqliteBusy = (error: unknown): boolean =>
  error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')
