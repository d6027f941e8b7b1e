import type { CompiledQuery, QueryResult } from 'kysely'
import type pg from 'pg'
import { arePlain, canMergeRead, runMerged } from './postgres-batch.ts'
import { describeStatement, type Send } from './postgres-executor.ts'

interface Asked {
  query: CompiledQuery
  resolve: (result: QueryResult<unknown>) => void
  reject: (error: unknown) => void
}

/** A limit, so that the reads of one request do not wait for those of too many others. */
const MAX_MERGED = 32

/**
 * Merges reads of equal text that requests ask for in one turn of the event loop, such as the look-ups of their keys. Those
 * that must not be merged, because of a limit, are still sent once when their values are equal too. A merged read that
 * fails is repeated by each request alone, with `send`.
 */
export function batchReads(pool: pg.Pool, send: Send): Send {
  let asked = new Map<string, Asked[]>()

  function flush(): void {
    const all = asked
    asked = new Map()
    for (const same of all.values()) {
      for (let start = 0; start < same.length; start += MAX_MERGED) void run(same.slice(start, start + MAX_MERGED))
    }
  }

  async function run(same: Asked[]): Promise<void> {
    const queries = same.map(({ query }) => query)
    const shape = describeStatement(queries[0]!)
    const results = same.length > 1 ? await runMerged(pool, shape, queries).catch(() => undefined) : undefined
    for (const [i, { query, resolve, reject }] of same.entries()) {
      if (results) resolve(results[i]!)
      else send(query).then(resolve, reject)
    }
  }

  return <R>(query: CompiledQuery) => {
    const { sql, parameters } = query
    if (!describeStatement(query).isRead || !arePlain(parameters)) return send<R>(query)
    const text = canMergeRead(sql, parameters) ? sql : `${JSON.stringify(parameters)} ${sql}`
    return new Promise<QueryResult<R>>((resolve, reject) => {
      // After the requests of this turn were read, which arrive on several connections.
      if (asked.size === 0) setImmediate(flush)
      const one = { query, resolve: resolve as Asked['resolve'], reject }
      const same = asked.get(text)
      if (same) same.push(one)
      else asked.set(text, [one])
    })
  }
}
