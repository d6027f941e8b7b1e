import type { Kysely } from 'kysely'
import type { AuditHeadRow, Tables } from './tables.ts'

/** Reads of committed rows. */
export interface Reads {
  /** Committed rows only. */
  read: Reader
  /**
   * Runs a report in a separate thread with its own read connection. Shops share its time. `isLong` uses the thread for
   * long reports, even for a short one.
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
  /** Starts the report thread, so that the first report does not wait for it. */
  startReports: () => void
  migrate: () => Promise<void>
  isMigrated: () => Promise<boolean>
  /** Runs the database engine's integrity check. Returns one line per problem. */
  findDamage: () => Promise<string[]>
  /** Collects statistics for the query planner from a sample of the tables that changed the most. */
  optimize: () => Promise<void>
  /** Removes deleted and replaced rows from the files, for a few milliseconds. PostgreSQL does this when it vacuums. */
  overwriteDeleted: () => Promise<void>
  /** The connection pools' state. SQLite has none. */
  connections: () => PoolState[]
  close: () => Promise<void>
}

export type TransactionWork<T> = (trx: Transaction, chain: AuditChain) => Promise<T>

/** Called for each group commit with the number of changes that share its transaction. */
export type OnGroupCommit = (size: number) => void

/** Receives the database's measurements. */
export interface DatabaseObserver {
  onGroup?: OnGroupCommit
  /** Called after each read with its time in seconds. */
  onRead?: (seconds: number) => void
  /** Called after each change with its time in seconds, from the queue to the commit. */
  onChange?: (seconds: number) => void
}

/** One pool's connections. */
export interface PoolState {
  pool: string
  busy: number
  idle: number
  /** Requests waiting for a connection. */
  waiting: number
}

/** Reads committed rows. Writing through it does not compile. */
export type Reader = Pick<Kysely<Tables>, 'selectFrom' | 'fn' | 'getExecutor'>

/** An open transaction: reads, including its own writes, and writes. */
export type Transaction = Kysely<Tables>

/**
 * The last row in an audit chain, with its number (0 for an empty chain) and its hash, and the ID of the shop's last
 * webhook event.
 */
export type AuditHead = Pick<AuditHeadRow, 'seq' | 'hash' | 'eventId'>

/**
 * A shop's audit chain and the sequence of its webhook events within a transaction. The row that stores both heads is
 * also the shop's write lock: a transaction reads it when it starts, and updates it before the commit if a head has
 * moved.
 */
export interface AuditChain {
  /**
   * Appends an audit row or webhook events. `write` inserts them after the last ones, and returns the new head.
   *
   * @throws Error when the transaction was started without a shop.
   */
  append: (write: (last: AuditHead) => Promise<AuditHead>) => Promise<void>
}

/** The head of an empty chain. */
export const NEW_HEAD: AuditHead = { seq: 0, hash: '', eventId: '' }

/** The chain for a transaction without a shop. */
export const NO_CHAIN: AuditChain = {
  append: () => Promise.reject(new Error('A transaction that writes to an audit needs a shopId')),
}

/** Runs `work` with reads from one snapshot, in which later commits are not visible. */
export type InSnapshot = <T>(work: (db: Reader) => Promise<T>) => Promise<T>

/** A read-only connection. `inSnapshot` may run its work twice, when the connection was lost. */
export interface ReportReader {
  db: Kysely<Tables>
  inSnapshot: InSnapshot
}

/**
 * A query that would block other requests, so it runs in the report thread. Input and result are copied between
 * threads, so both are plain data.
 */
export interface Report<Input extends ReportRequest, Result> {
  /** The URL of the module that exports it. */
  module: string
  /** The name of its export. */
  name: string
  run: (db: Reader, input: Input, inSnapshot?: InSnapshot) => Promise<Result>
  /** Whether equal waiting requests share one run. */
  isShared: boolean
  /**
   * Whether it can read all of a shop's commissions. It then runs in a separate thread, where no short report waits for
   * it.
   */
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

/** The input common to all reports. */
export interface ReportRequest {
  shopId: string
  /** The shop whose share of the report thread it uses, if not its own. For a test shop, the live shop. */
  ownerId?: string | undefined
  query?: unknown
}

/** Whether both databases store the text unchanged. Other text is rejected. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
