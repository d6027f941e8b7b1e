import type { Kysely } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import type { Database, DatabaseObserver, ReportReader } from './database.ts'
import type { Tables } from './tables.ts'

/** Opens `file:<path>` (SQLite) or `postgres://…`. */
export async function openDatabase(url: string, observer: DatabaseObserver = {}): Promise<Database> {
  const db = await openEngine(url, observer)
  const { onChange } = observer
  if (!onChange) return db
  const transact: Database['transact'] = (...change) => {
    const startedAt = performance.now()
    return db.transact(...change).finally(() => onChange((performance.now() - startedAt) / 1000))
  }
  return { ...db, transact }
}

async function openEngine(url: string, observer: DatabaseObserver): Promise<Database> {
  if (url.startsWith('file:')) return (await import('./sqlite.ts')).openSqlite(url.slice('file:'.length), observer)
  if (isPostgresUrl(url)) return (await import('./postgres.ts')).openPostgres(url, observer)
  throw new Error(`The database must be file:<path> or postgres://…, not ${url.split(':')[0]}:…`)
}

/** Runs `work` with one plain connection and ordinary transactions, for work on the whole database, such as a copy. */
export async function withConnection<T, Schema = Tables>(
  url: string,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  return isPostgresUrl(url)
    ? (await import('./postgres.ts')).withPostgresConnection(url, work)
    : (await import('./sqlite.ts')).withSqliteConnection(url.replace(/^file:/, ''), work)
}

/** Opens a read-only connection that stays open as long as its thread. */
export const openReader = async (url: string): Promise<ReportReader> =>
  isPostgresUrl(url)
    ? (await import('./postgres.ts')).openPostgresReader(url)
    : (await import('./sqlite.ts')).openSqliteReader(url.replace(/^file:/, ''))
