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

// Shared, because compiled queries are cached per adapter.
const adapter = new PostgresAdapter()
const compiler = new PostgresQueryCompiler()

/** Passes every compiled query to `send`. */
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

/** A query builder whose queries are run by `send`. */
export function createPostgresKysely<Tables>(send: Send): Kysely<Tables> {
  const dialect = new PostgresDialect({ pool: () => Promise.reject(new Error('This query builder has no pool')) })
  const executor = new PostgresExecutor(send)
  return new Kysely<Tables>({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
}

const MAX_NAMES = 500
const names = new Map<string, string>()

/** Limits prepared statements: lists of ids keep producing new statements, and each connection keeps every named one in memory. */
function statementName(sql: string): string | undefined {
  const known = names.get(sql)
  if (known || names.size >= MAX_NAMES) return known
  const name = `s${names.size + 1}`
  names.set(sql, name)
  return name
}

export type SqlText = Pick<CompiledQuery, 'sql' | 'parameters'>

/** Runs a query, by default as a prepared statement. @throws StorageError */
export async function run<R>(
  on: pg.Pool | pg.PoolClient,
  { sql: text, parameters }: SqlText,
  { isPrepared = true } = {},
): Promise<QueryResult<R>> {
  try {
    const name = isPrepared ? statementName(text) : undefined
    const { rows, rowCount, command } = await on.query({ name, text, values: parameters as unknown[] })
    const changed = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE'
    return changed ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows }
  } catch (error) {
    throw toStorageError(error)
  }
}

/** What the text of a statement determines. */
export interface StatementShape {
  /** It cannot write. */
  isRead: boolean
  /** The number of rows of an insert that adds all of them or fails; undefined for other statements. */
  insertedRows: bigint | undefined
}

const shapes = new Map<string, StatementShape>()
const MAX_SHAPES = 1000

export function describeStatement(query: CompiledQuery): StatementShape {
  let shape = shapes.get(query.sql)
  if (!shape) {
    const isRead = (SelectQueryNode.is(query.query) && !query.query.with) || /^\s*select/i.test(query.sql)
    shape = { isRead, insertedRows: insertedRowCount(query) }
    if (shapes.size < MAX_SHAPES) shapes.set(query.sql, shape)
  }
  return shape
}

function insertedRowCount({ query }: CompiledQuery): bigint | undefined {
  if (!InsertQueryNode.is(query) || query.with || query.returning || query.onConflict) return undefined
  return query.values && ValuesNode.is(query.values) ? BigInt(query.values.values.length) : undefined
}

const joined = new Map<string, string>()

/** One statement that runs several inserts. Their triggers run after all of them. */
export function joinInserts(inserts: SqlText[]): SqlText {
  const [only, ...others] = inserts
  if (only && others.length === 0) return only
  const parameters = inserts.flatMap((insert) => insert.parameters)
  const key = inserts.map((insert) => insert.sql).join(';')
  const text = joined.get(key) ?? joinTexts(inserts)
  if (joined.size < MAX_SHAPES) joined.set(key, text)
  return { sql: text, parameters }
}

function joinTexts(inserts: SqlText[]): string {
  let before = 0
  const texts = inserts.map(({ sql: text, parameters }) => {
    const offset = before
    before += parameters.length
    return text.replace(/\$(\d+)/g, (_, n) => `$${offset + Number(n)}`)
  })
  const last = texts.pop()
  return `with ${texts.map((text, n) => `i${n} as (${text})`).join(', ')} ${last}`
}
