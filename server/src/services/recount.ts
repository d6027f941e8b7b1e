import type { Config } from '../config.ts'
import { withHandle } from '../db/handle.ts'
import { isPostgresUrl } from '../db/url.ts'
import { recountRows } from '../repositories/consistency.ts'

/** Counts the rows of all lists anew, on a connection of its own: a large database takes longer than a request may. */
export const recount = ({ databaseUrl }: Pick<Config, 'databaseUrl'>): Promise<void> =>
  withHandle(databaseUrl, (db) =>
    db.transaction().execute((trx) => recountRows(trx, { lock: isPostgresUrl(databaseUrl) })),
  )
