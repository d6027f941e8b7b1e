import type { Kysely } from 'kysely'
import type { AuditHeadRow, Tables } from './tables.ts'

/** Reads of committed rows. */
export interface Reads {
  /** Committed rows only. */
  read: Reader
  /**
   * Runs a report in a separate thread with its own read connection; shops share its time. `isLong`: in the thread of reports
   * that can take long, even if it is not one of them.
   */
  runReport: <Input extends ReportRequest, Result>(
    report: Report<Input, Result>,
    input: Input,
    timeoutMs?: number,
    isLong?: boolean,
  ) => Promise<Result>
}

/** A SQLite or PostgreSQL database. Writing is only possible through `transact`. */
export interface Database extends Reads {
  /**
   * Runs `work` in a transaction and resolves once the commit is on disk. `work` does no I/O except its own queries, does
   * not nest, and may run more than once. With `shopId`, transactions on the same shop run one at a time across all
   * processes, so rows it has read do not change before its commit; `chain` is the audit chain of that shop.
   */
  transact: <T>(work: TransactionWork<T>, shopId?: string) => Promise<T>
  /** Starts the thread of reports, which the first of them would wait for. */
  startReports: () => void
  migrate: () => Promise<void>
  isMigrated: () => Promise<boolean>
  /** Runs the integrity check of the engine. Returns one line per problem. */
  findDamage: () => Promise<string[]>
  /** Collects statistics for the query planner from a sample of the tables that have changed much. */
  optimize: () => Promise<void>
  /**
   * Removes deleted and replaced rows from the files as far as this takes milliseconds. PostgreSQL does it when it vacuums.
   */
  overwriteDeleted: () => Promise<void>
  /** The state of the connection pools; SQLite has none. */
  connections: () => PoolState[]
  close: () => Promise<void>
}

export type TransactionWork<T> = (trx: Transaction, chain: AuditChain) => Promise<T>

/** Called for each group commit with the number of changes that share its transaction. */
export type OnGroupCommit = (size: number) => void

/** Receives what the database measures. */
export interface DatabaseObserver {
  onGroup?: OnGroupCommit
  /** Called after each read with its time in seconds. */
  onRead?: (seconds: number) => void
  /** Called after each change with its time in seconds, from the queue to the commit. */
  onChange?: (seconds: number) => void
}

/** The connections of one pool. */
export interface PoolState {
  pool: string
  busy: number
  idle: number
  /** Requests that wait for a connection. */
  waiting: number
}

/** Reads committed rows. Writing through it does not compile. */
export type Reader = Pick<Kysely<Tables>, 'selectFrom' | 'fn' | 'getExecutor'>

/** An open transaction: reads, including its own writes, and writes. */
export type Transaction = Kysely<Tables>

/** The last row of an audit chain: its number, 0 for an empty chain, and its hash; and the id of the shop's last webhook event. */
export type AuditHead = Pick<AuditHeadRow, 'seq' | 'hash' | 'eventId'>

/**
 * A shop's audit chain and the sequence of its webhook events within a transaction. The row that stores the head of both is
 * also the shop's write lock: a transaction reads it when it begins, and updates it before the commit if the head has moved.
 */
export interface AuditChain {
  /**
   * Appends an audit row or webhook events. `write` inserts them after the last ones, and returns the new head.
   *
   * @throws Error when the transaction was started without a shop.
   */
  append: (write: (last: AuditHead) => Promise<AuditHead>) => Promise<void>
}

/** The head of a chain without rows. */
export const NEW_HEAD: AuditHead = { seq: 0, hash: '', eventId: '' }

/** The chain of a transaction without a shop. */
export const NO_CHAIN: AuditChain = {
  append: () => Promise.reject(new Error('A transaction that writes to an audit needs a shopId')),
}

/** Runs `work` with reads of one snapshot of the database, in which later commits are not visible. */
export type InSnapshot = <T>(work: (db: Reader) => Promise<T>) => Promise<T>

/** A read-only connection. `inSnapshot` may run its work twice, when the connection was lost. */
export interface ReportReader {
  db: Kysely<Tables>
  inSnapshot: InSnapshot
}

/**
 * A query that reads so much that it would block other requests, so it runs in the report thread. Input and result are
 * copied between threads, so both are plain data.
 */
export interface Report<Input extends ReportRequest, Result> {
  /** The URL of the module that exports it. */
  module: string
  /** The name of its export. */
  name: string
  run: (db: Reader, input: Input, inSnapshot?: InSnapshot) => Promise<Result>
  /** Equal requests that wait share one run. */
  isShared: boolean
  /** It can read every commission of a shop, so it runs in its own thread, where no short report waits for it. */
  isLong: boolean
}

/**
 * Declares a report. The report thread imports the module and finds the report by the name of its export.
 *
 * @example
 * export const totals = defineReport(import.meta.url, 'totals', (db, input: { shopId: string }) => sumTotals(db, input))
 */
export const defineReport = <Input extends ReportRequest, Result>(
  module: string,
  name: string,
  run: (db: Reader, input: Input, inSnapshot: InSnapshot) => Promise<Result>,
  { isShared = false, isLong = false } = {},
): Report<Input, Result> => ({
  module,
  name,
  run: (db, input, inSnapshot = (work) => work(db)) => run(db, input, inSnapshot),
  isShared,
  isLong,
})

/** The common input of all reports. */
export interface ReportRequest {
  shopId: string
  /** The shop whose time in the report thread it uses, if not its own: the live shop of a test shop. */
  ownerId?: string | undefined
  query?: unknown
}

/** Whether both databases store the text unchanged. Other text is rejected. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
