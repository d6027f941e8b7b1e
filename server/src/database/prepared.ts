import { type CompiledQuery, type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { Reader, Transaction } from './database.ts'

/** A parameter whose value is set when the query runs. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })

type Build<Db, Values, Row> = (db: Db, values: Values) => CompiledQuery<Row>
type Run<Db, Values, Row> = (db: Db, values: Values) => Promise<Row[]>

/**
 * A query that is compiled once per engine and then runs with different values, at a tenth of the cost of building it for
 * each call. While it is built, the values are placeholders that cannot be enumerated: name each one that is used.
 *
 * @example
 * const findName = prepared<{ id: string }>()((db, { id }) =>
 *   db.selectFrom('shops').select('name').where('id', '=', id).compile(),
 * )
 */
export const prepared =
  <Values extends object>() =>
  <Row>(build: Build<Reader, Values, Row>): Run<Reader, Values, Row> =>
    runner(build, placeholders as Values)

/** {@link prepared} for a statement that writes. */
export const preparedWrite =
  <Values extends object>() =>
  <Row>(build: Build<Transaction, Values, Row>): Run<Transaction, Values, Row> =>
    runner(build, placeholders as Values)

/**
 * {@link prepared} for a query whose text depends on which values are present: compiled once per set of present values.
 * While it is built, present values are placeholders and absent ones are undefined. With many values, the query is built
 * for the call, because each number of them is a statement of its own.
 */
export const preparedByShape =
  <Values extends object>() =>
  <Row>(build: Build<Reader, Values, Row>): Run<Reader, Values, Row> =>
    runnerByShape(build)

/** {@link preparedByShape} for a statement that writes. */
export const preparedWriteByShape =
  <Values extends object>() =>
  <Row>(build: Build<Transaction, Values, Row>): Run<Transaction, Values, Row> =>
    runnerByShape(build)

/** More than the columns of any table. */
const MAX_VALUES = 50

function runnerByShape<Db extends Reader, Values extends object, Row>(
  build: Build<Db, Values, Row>,
): Run<Db, Values, Row> {
  const byShape = new Map<string, Run<Db, Values, Row>>()
  return (db, values) => {
    const names = Object.keys(values).filter((name) => values[name as keyof Values] !== undefined)
    if (names.length > MAX_VALUES) return runner(build, values)(db, values)
    const shape = names.join()
    let run = byShape.get(shape)
    if (!run) {
      const present = Object.fromEntries(names.map((name) => [name, new Placeholder(name)]))
      run = runner(build, present as Values)
      byShape.set(shape, run)
    }
    return run(db, values)
  }
}

function runner<Db extends Reader, Values extends object, Row>(
  build: Build<Db, Values, Row>,
  placeholder: Values,
): Run<Db, Values, Row> {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  return async (db, values) => {
    const executor = db.getExecutor()
    let query = compiled.get(executor.adapter)
    if (!query) {
      query = build(db, placeholder)
      compiled.set(executor.adapter, query)
    }
    const parameters = query.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.name as keyof Values] : parameter,
    )
    const { rows } = await executor.executeQuery<Row>({ ...query, parameters })
    return rows
  }
}

/**
 * An index hint for SQLite, after the table in `from`. SQLite plans with averages or without statistics: when one session
 * has half of a shop's clicks, it would scan the whole shop. PostgreSQL has no such clause, but has statistics on skewed values.
 */
export const indexedBy = (db: Reader, index: string): RawBuilder<unknown> =>
  db.getExecutor().adapter instanceof SqliteAdapter ? sql`indexed by ${sql.ref(index)}` : sql``
