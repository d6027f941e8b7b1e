import type { CompiledQuery, QueryResult } from 'kysely'
import type pg from 'pg'
import { describeStatement, run, runArrays, type StatementShape } from './postgres-executor.ts'

/** A statement that a job asked for. */
interface Asked<Owner> {
  owner: Owner
  query: CompiledQuery
  resolve: (result: QueryResult<unknown>) => void
  reject: (error: unknown) => void
}

/** Statements of equal text, which are sent as one. */
interface Merged<Owner> {
  shape: StatementShape
  asked: Asked<Owner>[]
}

/** Called with the first error of a statement and the jobs that asked for it. */
type OnFailure<Owner> = (error: unknown, owners: Owner[]) => void

type Outcome = { results: QueryResult<unknown>[] } | { error: unknown }

/** A limit of the rows of a merged insert, so that its parameter stays small. */
const MAX_MERGED = 500

/**
 * Collects the statements that several jobs ask for in one turn of the event loop, and sends those of equal text as one:
 * reads as a lateral join over their parameters, inserts as one insert of many rows. The statements of one job keep their
 * order. All results of a turn arrive together, so that the jobs ask for their next statements in one turn again.
 */
export class StatementBatch<Owner> {
  readonly #client: pg.PoolClient
  readonly #onFailure: OnFailure<Owner>
  #merged: Merged<Owner>[] = []
  /** The position in `#merged` of the last statement of each job, and of each text. */
  readonly #lastOfOwner = new Map<Owner, number>()
  readonly #lastOfText = new Map<string, number>()

  constructor(client: pg.PoolClient, onFailure: OnFailure<Owner>) {
    this.#client = client
    this.#onFailure = onFailure
  }

  add<R>(owner: Owner, query: CompiledQuery): Promise<QueryResult<R>> {
    // Runs when every job has continued as far as it can without a result.
    if (this.#merged.length === 0) process.nextTick(() => this.flush())
    return new Promise((resolve, reject) => {
      const asked = { owner, query, resolve: resolve as Asked<Owner>['resolve'], reject }
      this.#lastOfOwner.set(owner, this.#place(asked))
    })
  }

  /** Adds the statement behind the earlier ones of its job. Returns its position. */
  #place(asked: Asked<Owner>): number {
    const { sql } = asked.query
    const shape = describeStatement(asked.query)
    const own = this.#lastOfOwner.get(asked.owner) ?? -1
    const position = this.#lastOfText.get(sql) ?? -1
    const merged = this.#merged[position]
    // One insert cannot update a row twice, which one job may do.
    const isBehind = shape.insert?.conflictClause ? position > own : position >= own
    if (merged && isBehind && merged.asked.length < MAX_MERGED) {
      merged.asked.push(asked)
      return position
    }
    this.#merged.push({ shape, asked: [asked] })
    const last = this.#merged.length - 1
    if (canMerge(shape, asked.query)) this.#lastOfText.set(sql, last)
    return last
  }

  /** Sends what was collected. */
  flush(): void {
    const merged = this.#take()
    if (merged.length > 0) void this.#send(merged)
  }

  /** Rejects what was collected, which belongs to a transaction that is rolled back. */
  discard(error: unknown): void {
    for (const { asked } of this.#take()) for (const { reject } of asked) reject(error)
  }

  #take(): Merged<Owner>[] {
    const merged = this.#merged
    this.#merged = []
    this.#lastOfOwner.clear()
    this.#lastOfText.clear()
    return merged
  }

  async #send(merged: Merged<Owner>[]): Promise<void> {
    const outcomes = await Promise.all(merged.map((one) => this.#run(one)))
    for (const [n, outcome] of outcomes.entries()) {
      for (const [i, { resolve, reject }] of merged[n]!.asked.entries()) {
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.results[i]!)
      }
    }
  }

  async #run({ shape, asked }: Merged<Owner>): Promise<Outcome> {
    const queries = asked.map(({ query }) => query)
    try {
      return { results: await runMerged(this.#client, shape, queries) }
    } catch (error) {
      this.#onFailure(error, [...new Set(asked.map(({ owner }) => owner))])
      return { error }
    }
  }
}

/** Whether other values of the same statement can be sent with it. */
function canMerge({ isRead, insert }: StatementShape, { sql, parameters }: CompiledQuery): boolean {
  return insert !== undefined || (isRead && canMergeRead(sql, parameters))
}

/** A limit that is not known when the statement is planned would make PostgreSQL expect to read most of a table. */
export const canMergeRead = (sql: string, parameters: readonly unknown[]): boolean =>
  /^\s*select\b/i.test(sql) && !/\b(limit|offset) \$/i.test(sql) && arePlain(parameters)

export const arePlain = (parameters: readonly unknown[]): boolean => parameters.every(isPlain)

const isPlain = (value: unknown) => value === null || typeof value === 'string' || Number.isSafeInteger(value)

/** Runs statements of equal text as one. Returns the result of each. @throws StorageError */
export function runMerged(
  on: pg.Pool | pg.PoolClient,
  { insert }: StatementShape,
  queries: CompiledQuery[],
): Promise<QueryResult<unknown>[]> {
  const [first] = queries as [CompiledQuery]
  if (queries.length === 1) return run(on, first).then((result) => [result])
  return insert ? insertRows(on, insert, queries) : readEach(on, queries)
}

/** The rows are one JSON parameter: PostgreSQL knows the types of the columns. */
async function insertRows(
  on: pg.Pool | pg.PoolClient,
  { table, columns, conflictClause }: NonNullable<StatementShape['insert']>,
  queries: CompiledQuery[],
): Promise<QueryResult<unknown>[]> {
  const names = columns.map((name) => `"${name}"`).join(', ')
  const sql = `insert into "${table}" (${names}) select ${names} from json_populate_recordset(null::"${table}", $1)${conflictClause}`
  const rows = queries.map(({ parameters }) => Object.fromEntries(columns.map((name, i) => [name, parameters[i]])))
  await run(on, { sql, parameters: [JSON.stringify(rows)] })
  return queries.map(() => ({ rows: [], numAffectedRows: 1n }))
}

/** Runs each distinct read once. */
async function readEach(on: pg.Pool | pg.PoolClient, queries: CompiledQuery[]): Promise<QueryResult<unknown>[]> {
  const positions = new Map<string, number>()
  const distinct: CompiledQuery[] = []
  const positionOf = queries.map((query) => {
    const key = JSON.stringify(query.parameters)
    const known = positions.get(key)
    if (known !== undefined) return known
    positions.set(key, distinct.length)
    return distinct.push(query) - 1
  })
  const found = distinct.length === 1 ? [(await run(on, distinct[0]!)).rows] : await readLaterally(on, distinct)
  // Each job gets rows of its own, so that no job sees what another one does to them.
  return positionOf.map((position) => ({ rows: found[position]!.map((row) => ({ ...(row as object) })) }))
}

async function readLaterally(on: pg.Pool | pg.PoolClient, queries: CompiledQuery[]): Promise<unknown[][]> {
  const { rows, fields } = await runArrays(
    on,
    mergeReads(
      queries[0]!.sql,
      queries.map(({ parameters }) => parameters),
    ),
  )
  const names = fields.slice(1)
  const found: unknown[][] = queries.map(() => [])
  for (const [position, ...values] of rows) {
    found[(position as number) - 1]!.push(Object.fromEntries(names.map((name, i) => [name, values[i]])))
  }
  return found
}

/** One statement for several sets of parameters. The first column of its rows is the position of the set, from 1. */
export function mergeReads(sql: string, sets: (readonly unknown[])[]): { sql: string; parameters: unknown[][] } {
  const parameters = sets[0]!.map((_, i) => sets.map((set) => set[i]))
  const types = parameters.map((values) => (values.some((value) => typeof value === 'number') ? 'bigint' : 'text'))
  return { sql: lateralText(sql, types), parameters }
}

const lateralTexts = new Map<string, string>()
const MAX_TEXTS = 500

/** `offset 0` keeps PostgreSQL from flattening the subquery, so it plans the statement as if it were sent alone and uses its index. */
function lateralText(sql: string, types: string[]): string {
  const key = `${types.join()} ${sql}`
  let text = lateralTexts.get(key)
  if (!text) {
    const arrays = types.map((type, i) => `$${i + 1}::${type}[]`)
    const names = types.map((_, i) => `p${i + 1}`)
    const one = sql.replaceAll(/\$(\d+)/g, '_batch.p$1')
    text = `select _batch.position, _found.* from unnest(${arrays}) with ordinality as _batch (${names}, position)
      cross join lateral (select * from (${one}) _one offset 0) _found`
    if (lateralTexts.size < MAX_TEXTS) lateralTexts.set(key, text)
  }
  return text
}
