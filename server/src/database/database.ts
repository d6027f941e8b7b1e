import { isPostgresUrl } from '../config.ts'
import type { Reader, Transaction } from './access.ts'
import type { AuditChain } from './audit-chain.ts'
import type { ReportWorker } from './report-worker.ts'

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
  runReport: ReportWorker['run']
  migrate: () => Promise<void>
  isMigrated: () => Promise<boolean>
  /** What the engine itself finds wrong with its files, a line each. */
  findDamage: () => Promise<string[]>
  close: () => Promise<void>
}

/** How many changes shared a transaction, told after each. */
export type OnGroup = (size: number) => void

/** Opens `file:<path>` (SQLite) or `postgres://…`. */
export async function openDatabase(url: string, onGroup: OnGroup = () => {}): Promise<Database> {
  if (url.startsWith('file:')) return (await import('./sqlite.ts')).openSqlite(url.slice('file:'.length), onGroup)
  if (isPostgresUrl(url)) return (await import('./postgres.ts')).openPostgres(url, onGroup)
  throw new Error(`A database is file:<path> or postgres://…, not ${url.split(':')[0]}:…`)
}
