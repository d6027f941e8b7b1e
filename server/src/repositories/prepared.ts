import type { CompiledQuery } from 'kysely'
import type { Trx } from '../db/database.ts'

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
  <Row>(build: (db: Trx, values: Values) => CompiledQuery<Row>) => {
    const compiled = new WeakMap<object, CompiledQuery<Row>>()
    return async (db: Trx, values: Values): Promise<Row[]> => {
      const executor = db.getExecutor()
      const query = compiled.get(executor.adapter) ?? build(db, holes as Values)
      compiled.set(executor.adapter, query)
      const parameters = query.parameters.map((one) => (one instanceof Hole ? values[one.name as keyof Values] : one))
      const { rows } = await executor.executeQuery<Row>({ ...query, parameters })
      return rows
    }
  }
