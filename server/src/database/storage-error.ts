import SQLite from 'better-sqlite3'

/** A failure of the database or of the way to it, whichever the driver. `code` is the SQLSTATE, else the system's code. */
export class StorageError extends Error {
  readonly code: string
  /** The connection broke or there was none; the next one may work. */
  readonly isLost: boolean

  constructor(message: string, { code, isLost, cause }: { code: string; isLost: boolean; cause?: unknown }) {
    super(message, { cause })
    this.name = 'StorageError'
    this.code = code
    this.isLost = isLost
  }
}

/** Nobody could say whether the transaction was kept: the connection broke during the commit, and asking again failed. */
export class CommitOutcomeUnknownError extends StorageError {}

/** So much of one shop's work waits already that more of it is not taken. */
export class QueueFullError extends StorageError {
  constructor() {
    super('Too much of this shop waits', { code: 'too_much_waiting', isLost: false })
  }
}

/** Whether a driver refused or failed; anything else is a bug or an answer. */
export const isStorageError = (error: unknown): error is Error & { code: string } =>
  error instanceof StorageError || error instanceof SQLite.SqliteError

const UNIQUE = ['23505', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']

/** Whether a unique index refused the row. */
export const isUniqueViolation = (error: unknown): boolean => isStorageError(error) && UNIQUE.includes(error.code)

/** Whether another connection holds the lock. Codes extend `SQLITE_BUSY`, such as `SQLITE_BUSY_RECOVERY` after a crash. */
export const isSqliteBusy = (error: unknown): boolean =>
  error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')
