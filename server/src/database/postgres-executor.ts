import {
  type CompiledQuery,
  DefaultQueryExecutor,
  DummyDriver,
  InsertQueryNode,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryResult,
  SelectQueryNode,
  ValuesNode,
} from 'kysely'
import type pg from 'pg'
import { toStorageError } from './postgres-pool.ts'

export type Send = <R>(query: CompiledQuery) => Promise<QueryResult<R>>

// One for all: queries that are compiled once are remembered by it.
const adapter = new PostgresAdapter()
const compiler = new PostgresQueryCompiler()

/** Gives every compiled query to `send`. */
class PostgresExecutor extends DefaultQueryExecutor {
  readonly #send: Send

  constructor(send: Send) {
    super(compiler, adapter, {
      provideConnection: () => Promise.reject(new Error('Writing is only possible inside transact')),
    })
    this.#send = send
  }

  override executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#send<R>(query)
  }
}

/** A query builder whose queries go to `send`. */
export function createPostgresKysely<Tables>(send: Send): Kysely<Tables> {
  const dialect = new PostgresDialect({ pool: () => Promise.reject(new Error('There is no pool here')) })
  const executor = new PostgresExecutor(send)
  return new Kysely<Tables>({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
}

const MAX_NAMES = 500
const names = new Map<string, string>()

/** Lists of ids make ever new texts, and each named one stays in the memory of every connection. */
function statementName(sql: string): string | undefined {
  const known = names.get(sql)
  if (known || names.size >= MAX_NAMES) return known
  const name = `s${names.size + 1}`
  names.set(sql, name)
  return name
}

/** Runs a query as a statement that the connection plans once. @throws StorageError */
export async function run<R>(on: pg.Pool | pg.PoolClient, query: CompiledQuery): Promise<QueryResult<R>> {
  try {
    const { sql: text, parameters } = query
    const { rows, rowCount, command } = await on.query({
      name: statementName(text),
      text,
      values: parameters as unknown[],
    })
    const changed = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE'
    return changed ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows }
  } catch (error) {
    throw toStorageError(error)
  }
}

/** Whether a query cannot change anything. */
export const isReadOnly = ({ query, sql }: CompiledQuery): boolean =>
  SelectQueryNode.is(query) || /^\s*select/i.test(sql)

/** How many rows an insert adds if it succeeds; undefined when only the database can tell. */
export function insertedRowCount({ query }: CompiledQuery): bigint | undefined {
  if (!InsertQueryNode.is(query) || query.returning || query.onConflict?.doNothing) return undefined
  if (query.onConflict?.updateWhere || !query.values || !ValuesNode.is(query.values)) return undefined
  return BigInt(query.values.values.length)
}
