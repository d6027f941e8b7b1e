import { readConfig } from '../../server/src/config.ts'
import { createDeps, type Deps } from '../../server/src/core/context.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import type { TestServer } from './server.ts'

/** The use cases on the database of a server process, instead of a process for each operator command. */
export async function openDeps(env: Record<string, string>): Promise<{ deps: Deps; close: () => Promise<void> }> {
  const config = readConfig(env)
  const db = await openDatabase(config.databaseUrl)
  return { deps: createDeps({ ...config, logLevel: 'silent' }, db), close: () => db.close() }
}

/** What another process on the database of a server uses. */
export async function openOtherDeps({ deps, url }: TestServer): Promise<{ deps: Deps; close: () => Promise<void> }> {
  const db = await openDatabase(url)
  return { deps: { ...deps, db }, close: () => db.close() }
}
