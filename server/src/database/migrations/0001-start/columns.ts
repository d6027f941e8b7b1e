import { type ColumnDefinitionBuilder, type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'

/** A database whose schema is made, and its type of text. */
export interface Schema {
  db: Kysely<unknown>
  isPostgres: boolean
  /** Compared by its bytes, as on SQLite, whatever the locale of the database. */
  text: 'text' | RawBuilder<string>
}

export function schemaOf(db: Kysely<unknown>): Schema {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return { db, isPostgres, text: isPostgres ? sql<string>`text collate "C"` : 'text' }
}

export const required = (column: ColumnDefinitionBuilder) => column.notNull()
