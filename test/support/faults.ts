import { StorageError } from '../../server/src/db/storage-error.ts'
import type { TestServer } from './server.ts'

type Execute = (query: unknown) => Promise<unknown>

/** Makes the n-th statement of every transaction's work fail as a broken disk would. Answers how to mend it. */
export async function failStatement({ db }: TestServer, n: number): Promise<() => void> {
  const { transact } = db
  db.transact = (work, shopId) =>
    transact(async (trx) => {
      const executor = trx.getExecutor() as unknown as { executeQuery: Execute }
      const execute = executor.executeQuery
      let count = 0
      executor.executeQuery = (query) => {
        count++
        const broken = new StorageError('disk I/O error', { code: '58030', isLost: false })
        return count === n ? Promise.reject(broken) : execute.call(executor, query)
      }
      try {
        return await work(trx)
      } finally {
        executor.executeQuery = execute
      }
    }, shopId)
  return () => {
    db.transact = transact
  }
}

/** Lets no row into a table. Answers how to mend it. */
export function refuseInserts({ sql }: TestServer, table: string): () => void {
  sql.exec(`create trigger broken before insert on "${table}" begin select raise(abort, 'disk'); end`)
  return () => void sql.exec('drop trigger broken')
}
