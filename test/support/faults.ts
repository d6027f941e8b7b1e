import { StorageError } from '../../server/src/database/storage-error.ts'
import type { TestServer } from './server.ts'

type Execute = (query: unknown) => Promise<unknown>

/** Which statement of a transaction's work: of every transaction, or only of those that change a shop. */
interface Place {
  n: number
  ofShops?: boolean
}

/** Lets something happen before the n-th statement; what it throws fails the statement. Answers how to mend it. */
export function beforeStatement({ db }: TestServer, { n, ofShops }: Place, happen: () => void): () => void {
  const { transact } = db
  db.transact = (work, shopId) =>
    transact(async (trx, chain) => {
      if (ofShops && shopId === undefined) return work(trx, chain)
      const executor = trx.getExecutor() as unknown as { executeQuery: Execute }
      const execute = executor.executeQuery
      let count = 0
      executor.executeQuery = async (query) => {
        if (++count === n) happen()
        return execute.call(executor, query)
      }
      try {
        return await work(trx, chain)
      } finally {
        executor.executeQuery = execute
      }
    }, shopId)
  return () => {
    db.transact = transact
  }
}

/** Makes the n-th statement of every transaction's work fail as a broken disk would. Answers how to mend it. */
export const failStatement = (server: TestServer, n: number): (() => void) =>
  beforeStatement(server, { n }, () => {
    throw new StorageError('disk I/O error', { code: '58030', isLost: false })
  })

/** Lets no row into a table. Answers how to mend it. */
export function refuseInserts({ sql }: TestServer, table: string): () => void {
  sql.exec(`create trigger broken before insert on "${table}" begin select raise(abort, 'disk'); end`)
  return () => void sql.exec('drop trigger broken')
}
