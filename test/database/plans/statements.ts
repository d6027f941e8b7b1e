import { AsyncLocalStorage } from 'node:async_hooks'
import type { CompiledQuery } from 'kysely'
import type { TestServer } from '../../support/server.ts'

/** A statement that the server ran, with some of the values it ran with. */
export interface Statement {
  sql: string
  values: (readonly unknown[])[]
  /** In the report worker, where it blocks no request. */
  isReport: boolean
  /** What caused it. */
  cause: string
}

type Execute = (query: CompiledQuery) => Promise<unknown>

const MOST_VALUES = 4

/** Collects every statement that a server runs from this call on. */
export function watchStatements(server: TestServer): {
  seen: Map<string, Statement>
  causing: (cause: string) => void
} {
  const seen = new Map<string, Statement>()
  const inReport = new AsyncLocalStorage<true>()
  const watched = new WeakSet<object>()
  let cause = ''

  function watch(executor: { executeQuery: Execute }): void {
    if (watched.has(executor)) return
    watched.add(executor)
    const execute = executor.executeQuery
    executor.executeQuery = (query) => {
      note(query)
      return execute.call(executor, query)
    }
  }

  function note({ sql, parameters }: CompiledQuery): void {
    const isReport = inReport.getStore() === true
    const key = `${isReport} ${sql}`
    const known = seen.get(key) ?? { sql, values: [], isReport, cause }
    if (known.values.length < MOST_VALUES) known.values.push(parameters)
    seen.set(key, known)
  }

  const { db } = server
  watch(db.read.getExecutor() as unknown as { executeQuery: Execute })
  const { transact } = db
  db.transact = (work, shopId) =>
    transact((trx, chain) => {
      watch(trx.getExecutor() as unknown as { executeQuery: Execute })
      return work(trx, chain)
    }, shopId)
  // Here instead of in its thread, where its statements cannot be seen.
  db.runReport = (report, input) => inReport.run(true, () => report.run(db.read, input))
  return {
    seen,
    causing: (next) => {
      cause = next
    },
  }
}
