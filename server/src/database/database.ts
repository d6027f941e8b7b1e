import type { Kysely } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import type { AuditHeadRow, Tables } from './tables.ts'

/** A database, whichever engine it is. Writing is only possible through `transact`. */
export interface Database {
  /** Committed rows only. */
  read: Reader
  /**
   * Runs `work` in a transaction and answers after it is on disk. Work does no I/O but its own queries, does not nest,
   * and may run more than once. Work on one shop, when the shop is named, runs one after the other, whichever process it
   * runs in; what it has read does not change under it. `chain` is the audit chain of that shop.
   */
  transact: <T>(work: (trx: Transaction, chain: AuditChain) => Promise<T>, shopId?: string) => Promise<T>
  /** Runs a report in a thread with a read connection of its own; shops take turns. */
  runReport: <Input extends ReportRequest, Result>(
    report: Report<Input, Result>,
    input: Input,
    timeoutMs?: number,
  ) => Promise<Result>
  migrate: () => Promise<void>
  isMigrated: () => Promise<boolean>
  /** What the engine itself finds wrong with its files, a line each. */
  findDamage: () => Promise<string[]>
  close: () => Promise<void>
}

/** How many changes shared a transaction, told after each. */
export type OnGroupCommit = (size: number) => void

/** Opens `file:<path>` (SQLite) or `postgres://…`. */
export async function openDatabase(url: string, onGroup: OnGroupCommit = () => {}): Promise<Database> {
  if (url.startsWith('file:')) return (await import('./sqlite.ts')).openSqlite(url.slice('file:'.length), onGroup)
  if (isPostgresUrl(url)) return (await import('./postgres.ts')).openPostgres(url, onGroup)
  throw new Error(`A database is file:<path> or postgres://…, not ${url.split(':')[0]}:…`)
}

/** Reads committed rows; writing through it does not compile. */
export type Reader = Pick<Kysely<Tables>, 'selectFrom' | 'fn' | 'getExecutor'>

/** An open transaction: reads what it has written, and writes. */
export type Transaction = Kysely<Tables>

/** The last row of an audit chain: its number, 0 when there is none, and its hash. */
export type AuditHead = Pick<AuditHeadRow, 'seq' | 'hash'>

/**
 * The end of a shop's audit chain as a transaction sees it. The row that stores it is the shop's write lock too: a
 * transaction reads it when it begins, and writes it before it commits if the chain has grown.
 */
export interface AuditChain {
  /** @throws Error when the transaction names no shop. */
  head: () => Promise<AuditHead>
  /** Moves the head to an audit row that was just inserted. */
  advance: (to: AuditHead) => void
}

/** What a transaction that names no shop gets. */
export const NO_CHAIN: AuditChain = {
  head: () => Promise.reject(new Error('A transaction that writes to an audit must name its shop')),
  advance: () => {},
}

/** A plain handle on a database, whichever engine it is: one connection, ordinary transactions. For whole-database work. */
export async function withConnection<T>(url: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const withStock = (db: Kysely<never>) => work(db as unknown as Kysely<Tables>)
  return isPostgresUrl(url)
    ? (await import('./postgres.ts')).withPostgresConnection(url, withStock)
    : (await import('./sqlite.ts')).withSqliteConnection(url.replace(/^file:/, ''), withStock)
}

/** A connection of its own that can only read; it is open as long as its thread. */
export const openReader = async (url: string): Promise<Kysely<Tables>> =>
  isPostgresUrl(url)
    ? (await import('./postgres.ts')).openPostgresReader(url)
    : (await import('./sqlite.ts')).openSqliteReader(url.replace(/^file:/, ''))

/**
 * A query that reads so much that other requests would have to wait, so it runs in the report thread. Input and result
 * are copied between threads, so both are plain data.
 */
export interface Report<Input extends ReportRequest, Result> {
  /** The URL of the module that exports it. */
  module: string
  /** The name of its export. */
  name: string
  run: (db: Reader, input: Input) => Promise<Result>
}

/**
 * Declares a report. The thread imports the module and looks the report up by the name of its export.
 *
 * @example
 * export const totals = defineReport(import.meta.url, 'totals', (db, input: { shopId: string }) => sumTotals(db, input))
 */
export const defineReport = <Input extends ReportRequest, Result>(
  module: string,
  name: string,
  run: Report<Input, Result>['run'],
): Report<Input, Result> => ({ module, name, run })

/** The input of every report: shops take turns. Reports add what they need. */
export interface ReportRequest {
  shopId: string
  query?: unknown
}

/** Text that a database cannot keep as it was sent is refused rather than changed. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
