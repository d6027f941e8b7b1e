import { type ColumnDefinitionBuilder, type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'

/** The database to create the schema in, and its text type. */
export interface Schema {
  db: Kysely<unknown>
  isPostgres: boolean
  /** Compared by bytes as on SQLite, regardless of the database's locale. */
  text: 'text' | RawBuilder<string>
}

export function schemaOf(db: Kysely<unknown>): Schema {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return { db, isPostgres, text: isPostgres ? sql<string>`text collate "C"` : 'text' }
}

export const required = (column: ColumnDefinitionBuilder) => column.notNull()
