import { CommitOutcomeUnknownError, QueueFullError, StorageError } from '../../server/src/database/storage-error.ts'
import type { Tables } from '../../server/src/database/tables.ts'
import { whileHeld } from './database.ts'
import { rowsOf, updateRows } from './inspect.ts'
import type { TestServer } from './server.ts'

type Execute = (query: unknown) => Promise<unknown>

/** Which statement of a transaction's work: of every transaction, or only of those that change a shop. */
interface Place {
  n: number
  ofShops?: boolean
}

/** Runs `happen` before the n-th statement; an error that it throws fails the statement. Returns a function that ends this. */
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

/** Makes the n-th statement of every transaction fail like a broken disk. Returns a function that ends this. */
export const failStatement = (server: TestServer, n: number): (() => void) =>
  beforeStatement(server, { n }, () => {
    throw new StorageError('disk I/O error', { code: '58030', isLost: false })
  })

/**
 * Makes the database reject writes to a table: all of them, or those of rows with these values.
 *
 * @returns a function that allows them again.
 */
export function rejectWrites<Name extends keyof Tables>(
  { sql }: Pick<TestServer, 'sql'>,
  event: 'insert' | 'update' | 'delete',
  table: Name,
  only: Partial<Tables[Name]> = {},
): () => void {
  const terms = Object.entries(only).map(([name, value]) => `new."${name}" = '${value}'`)
  const when = terms.length > 0 ? `when (${terms.join(' and ')}) ` : ''
  sql.exec(`create trigger broken before ${event} on "${table}" ${when}begin select raise(abort, 'disk'); end`)
  return () => void sql.exec('drop trigger broken')
}

/** Makes inserts into a table violate a unique index, as when another request inserted the same row first. */
export function violateUniqueness({ sql }: Pick<TestServer, 'sql'>, table: keyof Tables): () => void {
  sql.exec(`create trigger broken after insert on "${table}" begin insert into "idempotencyKeys"
    select "shopId", "key", '', '', null, '' from "idempotencyKeys" limit 1; end`)
  return () => void sql.exec('drop trigger broken')
}

/** Sends a request while something is broken, and restores it afterwards. */
export async function whileBroken<T>(restore: () => unknown, send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } finally {
    restore()
  }
}

/** Makes every statement on a table fail. Returns a function that restores it. */
export function removeTable({ sql }: Pick<TestServer, 'sql'>, table: keyof Tables): () => void {
  sql.exec(`alter table "${table}" rename to gone`)
  return () => void sql.exec(`alter table gone rename to "${table}"`)
}

/** Runs `happen` before each transaction begins. Returns a function that ends this. */
export function beforeTransaction(
  { db }: Pick<TestServer, 'db'>,
  happen: (shopId: string | undefined) => unknown,
): () => void {
  const { transact } = db
  db.transact = async (work, shopId) => {
    await whileHeld(() => happen(shopId))
    return transact(work, shopId)
  }
  return () => {
    db.transact = transact
  }
}

interface QueryExecutor {
  executeQuery: (query: { sql: string }) => Promise<{ rows: Record<string, unknown>[] }>
}

/** Counts the queries outside of transactions that name a table, and may change the rows that they find. */
export function watchReads(
  { db }: Pick<TestServer, 'db'>,
  table: keyof Tables,
  change: (row: Record<string, unknown>) => Record<string, unknown> = (row) => row,
): { count: () => number; end: () => void } {
  const executor = db.read.getExecutor() as unknown as QueryExecutor
  const { executeQuery } = executor
  let reads = 0
  executor.executeQuery = async (query) => {
    if (query.sql.includes(table)) reads++
    const found = await executeQuery.call(executor, query)
    return { ...found, rows: found.rows.map(change) }
  }
  return {
    count: () => reads,
    end: () => {
      executor.executeQuery = executeQuery
    },
  }
}

/** Runs `happen` after each report is computed and before its result is used. Returns a function that ends this. */
export function afterReport({ db }: Pick<TestServer, 'db'>, happen: () => unknown): () => void {
  const { runReport } = db
  db.runReport = async (...job) => {
    const result = await runReport(...job)
    await happen()
    return result as never
  }
  return () => {
    db.runReport = runReport
  }
}

/** Makes every transaction lose its connection during the commit. Returns a function that ends this. */
export function loseCommits({ db }: Pick<TestServer, 'db'>): () => void {
  const { transact } = db
  db.transact = (work, shopId) =>
    transact(async (trx, chain) => {
      await work(trx, chain)
      throw new CommitOutcomeUnknownError('The connection was lost during a commit', {
        code: 'commit_unknown',
        isLost: true,
      })
    }, shopId)
  return () => {
    db.transact = transact
  }
}

/** Makes every transaction fail before it begins. Returns a function that ends this. */
export function rejectTransactions({ db }: Pick<TestServer, 'db'>): () => void {
  const { transact } = db
  db.transact = () => Promise.reject(new StorageError('no connection', { code: '08006', isLost: false }))
  return () => {
    db.transact = transact
  }
}

/** Makes a call whose reports find the queue of the shop full. */
export const withFullReportQueue = <T>(server: TestServer, call: () => Promise<T>): Promise<T> =>
  withReports(server, () => Promise.reject(new QueueFullError()), call)

/** Makes a call whose reports have this result. */
export const withReportResult = <T>(server: TestServer, result: unknown, call: () => Promise<T>): Promise<T> =>
  withReports(server, () => Promise.resolve(result), call)

async function withReports<T>({ db }: TestServer, report: () => Promise<unknown>, call: () => Promise<T>): Promise<T> {
  const { runReport } = db
  db.runReport = () => report() as Promise<never>
  try {
    return await call()
  } finally {
    db.runReport = runReport
  }
}

/** Lets some transactions pass and fails the others, as if the process was killed in between. Returns a function that ends this. */
export function allowTransactions({ db }: TestServer, allowed: number): () => void {
  const { transact } = db
  let count = 0
  db.transact = (...given) =>
    ++count > allowed ? Promise.reject(new Error('The process was killed')) : transact(...given)
  return () => {
    db.transact = transact
  }
}

/** Lets whatever waits on the monotonic clock give up at its first attempt. */
export async function withoutPatience<T>(work: () => Promise<T>): Promise<T> {
  const now = performance.now.bind(performance)
  let aheadMs = 0
  performance.now = () => {
    aheadMs += 10_000
    return now() + aheadMs
  }
  return work().finally(() => {
    performance.now = now
  })
}

/** Runs `work` while the commissions of all batches of the shop move in another process, and every commission is in one. */
export async function whileProcessing<T>(server: TestServer, work: () => Promise<T>): Promise<T> {
  const { shopId } = server.shop
  const [batches, rows] = [rowsOf(server, 'payoutBatches', { shopId }), rowsOf(server, 'commissions', { shopId })]
  const process = JSON.stringify({ becomes: 'PAID', commissions: 1, at: '', actor: '', requestId: '' })
  const claim = { process, movedCommissions: 0, claimedBy: 'another process', claimedUntil: '9999-12-31T00:00:00.000Z' }
  for (const { id } of batches) updateRows(server, 'payoutBatches', { status: 'PROCESSING', ...claim }, { id })
  for (const { id, payoutBatchId } of rows)
    updateRows(server, 'commissions', { payoutBatchId: payoutBatchId ?? batches[0]!.id }, { id })
  return withoutPatience(work).finally(() => {
    const done = { process: null, movedCommissions: null, claimedBy: null, claimedUntil: null }
    for (const { id, status } of batches) updateRows(server, 'payoutBatches', { status, ...done }, { id })
    for (const { id, payoutBatchId } of rows) updateRows(server, 'commissions', { payoutBatchId }, { id })
  })
}
