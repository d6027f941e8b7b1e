import SQLite from 'better-sqlite3'
import type { TestServer } from './server.ts'

type Execute = (query: unknown) => Promise<unknown>

/** Makes the n-th statement of the next transactions fail as a broken disk would. Answers how to mend it. */
export async function failStatement({ db }: TestServer, n: number): Promise<() => void> {
  const executor = await db.transact(async (trx) => trx.getExecutor() as unknown as { executeQuery: Execute })
  const execute = executor.executeQuery
  let count = 0
  executor.executeQuery = (query) => {
    count++
    if (count === n) return Promise.reject(new SQLite.SqliteError('disk I/O error', 'SQLITE_IOERR'))
    return execute.call(executor, query)
  }
  return () => {
    executor.executeQuery = execute
  }
}

/** Lets no row into a table. Answers how to mend it. */
export function refuseInserts({ sql }: TestServer, table: string): () => void {
  sql.exec(`create trigger broken before insert on "${table}" begin select raise(abort, 'disk'); end`)
  return () => void sql.exec('drop trigger broken')
}
