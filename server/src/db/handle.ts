import type { Kysely } from 'kysely'
import * as postgres from './postgres.ts'
import * as sqlite from './sqlite.ts'
import type { Tables } from './tables.ts'
import { isPostgresUrl } from './url.ts'

/** A plain handle on a database, whichever engine it is: one connection, ordinary transactions. For whole-database work. */
export function withHandle<T>(url: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const withStock = (db: Kysely<never>) => work(db as unknown as Kysely<Tables>)
  return isPostgresUrl(url)
    ? postgres.withStockHandle(url, withStock)
    : sqlite.withStockHandle(url.replace(/^file:/, ''), withStock)
}
