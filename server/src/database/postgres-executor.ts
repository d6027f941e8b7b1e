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

// Shared by the query builders of all transactions; compiled queries are cached per adapter.
const adapter = new PostgresAdapter()
const compiler = new PostgresQueryCompiler()
const dialect = new PostgresDialect({ pool: () => Promise.reject(new Error('This query builder has no pool')) })
const driver = new DummyDriver()

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
  return new Kysely<Tables>({ config: { dialect }, dialect, driver, executor: new PostgresExecutor(send) })
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

/** Facts that follow from a statement's text. */
interface StatementShape {
  /** Whether it only reads. */
  isRead: boolean
  /** The number of rows of an insert that adds all of them or fails; undefined for other statements. */
  insertedRows: bigint | undefined
  /** Stands for the text; undefined when there are too many. */
  key: number | undefined
}

const shapes = new Map<string, StatementShape>()
const MAX_SHAPES = 1000

export function describeStatement(query: CompiledQuery): StatementShape {
  let shape = shapes.get(query.sql)
  if (!shape) {
    const isRead = (SelectQueryNode.is(query.query) && !query.query.with) || /^\s*select/i.test(query.sql)
    const isKept = shapes.size < MAX_SHAPES
    shape = { isRead, insertedRows: insertedRowCount(query), key: isKept ? shapes.size : undefined }
    if (isKept) shapes.set(query.sql, shape)
  }
  return shape
}

function insertedRowCount({ query }: CompiledQuery): bigint | undefined {
  if (!InsertQueryNode.is(query) || query.with || query.returning || query.onConflict) return undefined
  return query.values && ValuesNode.is(query.values) ? BigInt(query.values.values.length) : undefined
}

/** A statement that can be joined with others. */
export type Joinable = SqlText & Pick<StatementShape, 'key'>

/** How many combinations are joined. Each connection keeps its prepared statements in memory. */
const MAX_JOINED = 200

/** Joins statements to one with the parameters of all of them; undefined when there are too many combinations. */
function joiner(joinTexts: (texts: string[]) => string): (statements: Joinable[]) => SqlText | undefined {
  const joined = new Map<string, string>()
  return (statements) => {
    if (statements.some(({ key }) => key === undefined)) return undefined
    const keys = statements.map(({ key }) => key).join()
    let text = joined.get(keys)
    if (text === undefined) {
      if (joined.size >= MAX_JOINED) return undefined
      text = joinTexts(renumbered(statements))
      joined.set(keys, text)
    }
    return { sql: text, parameters: statements.flatMap(({ parameters }) => parameters) }
  }
}

/** The texts, whose parameters are numbered on from one to the next. */
function renumbered(statements: SqlText[]): string[] {
  let before = 0
  return statements.map(({ sql: text, parameters }) => {
    const offset = before
    before += parameters.length
    return text.replace(/\$(\d+)/g, (_, n) => `$${offset + Number(n)}`)
  })
}

/** One statement that runs several inserts. Their triggers run after all of them. */
export const joinInserts = joiner((texts) => {
  const last = texts.at(-1)
  const others = texts.slice(0, -1).map((text, n) => `i${n} as (${text})`)
  return `with ${others.join(', ')} ${last}`
})

/** One statement that runs several reads. Its row has the rows of each as a JSON list, or null without any. */
export const joinReads = joiner(
  (texts) => `select ${texts.map((text, n) => `(select json_agg(r) from (${text}) r) as r${n}`).join(', ')}`,
)
