import type { Kysely } from 'kysely'
import { openPostgresReader } from './postgres.ts'
import { openSqliteReader } from './sqlite.ts'
import type { Tables } from './tables.ts'
import { isPostgresUrl } from './url.ts'

/** A connection of its own that can only read; it is open as long as its thread. */
export const openReader = (url: string): Kysely<Tables> =>
  isPostgresUrl(url) ? openPostgresReader(url) : openSqliteReader(url.replace(/^file:/, ''))
