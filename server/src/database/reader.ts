import type { Kysely } from 'kysely'
import { isPostgresUrl } from '../config.ts'
import type { Tables } from './tables.ts'

/** A connection of its own that can only read; it is open as long as its thread. */
export const openReader = async (url: string): Promise<Kysely<Tables>> =>
  isPostgresUrl(url)
    ? (await import('./postgres.ts')).openPostgresReader(url)
    : (await import('./sqlite.ts')).openSqliteReader(url.replace(/^file:/, ''))
