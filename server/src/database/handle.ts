import type { Kysely } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import type { Tables } from './tables.ts'

/** A plain handle on a database, whichever engine it is: one connection, ordinary transactions. For whole-database work. */
export async function withHandle<T>(url: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const withStock = (db: Kysely<never>) => work(db as unknown as Kysely<Tables>)
  return isPostgresUrl(url)
    ? (await import('./postgres.ts')).withStockHandle(url, withStock)
    : (await import('./sqlite.ts')).withStockHandle(url.replace(/^file:/, ''), withStock)
}
