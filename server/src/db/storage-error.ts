import SQLite from 'better-sqlite3'

/** Whether a driver refused or failed; anything else is a bug or an answer. */
export const isStorageError = (error: unknown): error is Error & { code: string } => error instanceof SQLite.SqliteError

/** Whether a unique index refused the row. */
export const isUniqueViolation = (error: unknown): boolean =>
  isStorageError(error) && ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'].includes(error.code)
