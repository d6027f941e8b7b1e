import { type CompiledQuery, type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { Trx } from './database.ts'
import type { Tables } from './tables.ts'

/** Where a value goes that is only known when the query runs. */
class Hole {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const holes = new Proxy({}, { get: (_, name) => new Hole(String(name)) })

/**
 * A query that is built and compiled once for each engine and then runs with other values, at a tenth of the cost of
 * building it anew. The values have no keys of their own while it is built: name each one that is used.
 *
 * `prepared<{ id: string }>()((db, { id }) => db.selectFrom('shops').select('name').where('id', '=', id).compile())`
 */
export const prepared =
  <Values extends object>() =>
  <Row>(build: (db: Trx, values: Values) => CompiledQuery<Row>) =>
    runner<Values, Row>(build, holes as Values)

/**
 * The same for a query that depends on which values there are: compiled once for each set of them. While it is built,
 * those that are there are not undefined, and nothing else is known of them.
 */
export const shaped =
  <Values extends object>() =>
  <Row>(build: (db: Trx, values: Values) => CompiledQuery<Row>) => {
    const byShape = new Map<string, (db: Trx, values: Values) => Promise<Row[]>>()
    return (db: Trx, values: Values): Promise<Row[]> => {
      let shape = ''
      for (const name in values) if (values[name] !== undefined) shape += `${name},`
      let run = byShape.get(shape)
      if (!run) {
        const names = shape.split(',').slice(0, -1)
        const given = Object.fromEntries(names.map((name) => [name, new Hole(name)]))
        run = runner<Values, Row>(build, given as Values)
        byShape.set(shape, run)
      }
      return run(db, values)
    }
  }

function runner<Values extends object, Row>(build: (db: Trx, values: Values) => CompiledQuery<Row>, given: Values) {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  return async (db: Trx, values: Values): Promise<Row[]> => {
    const executor = db.getExecutor()
    let query = compiled.get(executor.adapter)
    if (!query) {
      query = build(db, given)
      compiled.set(executor.adapter, query)
    }
    const parameters = query.parameters.map((one) => (one instanceof Hole ? values[one.name as keyof Values] : one))
    const { rows } = await executor.executeQuery<Row>({ ...query, parameters })
    return rows
  }
}

/** Inserts rows of a table; a column without a value is left out. */
export function preparedInsert<Name extends keyof Tables>(table: Name): (trx: Trx, row: Tables[Name]) => Promise<void> {
  const insert = shaped<Tables[Name]>()((trx, row) =>
    trx
      .insertInto(table as keyof Tables)
      .values(row as never)
      .compile(),
  )
  return async (trx, row) => {
    await insert(trx, row)
  }
}

/**
 * Names the index that a statement has to use, after the table in its `from`. SQLite plans by averages, or by nothing at
 * all: where one session has half of a shop's clicks, it would rather walk through the whole shop. PostgreSQL has no such
 * clause and needs none, for it knows how unequal values are.
 */
export const indexedBy = (db: Trx, index: string): RawBuilder<unknown> =>
  db.getExecutor().adapter instanceof SqliteAdapter ? sql`indexed by ${sql.ref(index)}` : sql``
