import type SQLite from 'better-sqlite3'
import {
  type CompiledQuery,
  DefaultQueryExecutor,
  DummyDriver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  SqliteQueryCompiler,
} from 'kysely'
import type { DatabaseObserver } from './database.ts'

/** This SQLite build replans a SELECT whenever a bound `= ?` or `limit ?` changes. `+?` prevents that. */
export const withStablePlan = (text: string) =>
  /^\s*(select|with)/i.test(text) ? text.replace(/(=|limit|offset) \?/gi, '$1 +?') : text

/** Runs queries synchronously on one connection and caches statements by their SQL text. */
export class SqliteExecutor extends DefaultQueryExecutor {
  /** The number of statements that changed rows. A statement that failed or matched nothing does not count. */
  writes = 0
  readonly #database: SQLite.Database
  readonly #statements = new Map<string, SQLite.Statement>()

  readonly #onRead: DatabaseObserver['onRead']

  constructor(database: SQLite.Database, onRead?: DatabaseObserver['onRead']) {
    super(new SqliteQueryCompiler(), new SqliteAdapter(), {
      provideConnection: () => Promise.reject(new Error('Writing is only possible inside transact')),
    })
    this.#database = database
    this.#onRead = onRead
  }

  // Runs synchronously, so that a query that is not awaited still belongs to its own mutation.
  override async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const statement = this.#prepare(sql)
    if (!statement.readonly && !this.#database.inTransaction) {
      throw new Error('Writing is only possible inside transact')
    }
    if (statement.reader) {
      const startedAt = this.#onRead && performance.now()
      const rows = statement.all(...parameters) as R[]
      if (startedAt !== undefined) this.#onRead?.((performance.now() - startedAt) / 1000)
      if (!statement.readonly && rows.length > 0) this.writes++
      return { rows }
    }
    const { changes } = statement.run(...parameters)
    if (changes > 0) this.writes++
    return { rows: [], numAffectedRows: BigInt(changes) }
  }

  #prepare(sql: string): SQLite.Statement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      // Lists of IDs keep producing new statements. The cap bounds the memory.
      if (this.#statements.size >= 1000) this.#statements.clear()
      statement = this.#database.prepare(withStablePlan(sql))
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

export function createSqliteKysely<Tables>(database: SQLite.Database, onRead?: DatabaseObserver['onRead']) {
  const executor = new SqliteExecutor(database, onRead)
  const dialect = new SqliteDialect({ database })
  return { executor, db: new Kysely<Tables>({ config: { dialect }, dialect, driver: new DummyDriver(), executor }) }
}
