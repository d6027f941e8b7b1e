import { openDatabase } from '../../server/src/database/open.ts'
import { administer, databaseUrl } from './database.ts'
import { createCluster } from './postgres-cluster.ts'
import { SCRATCH } from './scratch.ts'

/** Nothing here outlives the run, so nothing needs to survive a power loss. Small buffers make dropping databases fast. */
const SETTINGS = [
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'shared_buffers=16MB',
]

/** Before all tests on PostgreSQL: a server, the one that TEST_POSTGRES_URL names or a throwaway one, and a template. */
export default async function setUp(): Promise<() => Promise<void>> {
  const given = process.env.TEST_POSTGRES_URL
  const cluster = given ? undefined : await createCluster(SETTINGS, { home: SCRATCH })
  const home = given ?? cluster?.url ?? ''
  const template = `referral_test_template_${process.pid}`
  process.env.TEST_POSTGRES_URL = home
  process.env.TEST_POSTGRES_TEMPLATE = template
  await administer(home, `create database ${template}`)
  const db = await openDatabase(databaseUrl(home, template))
  await db.migrate()
  await db.close()
  return async () => {
    if (cluster) await cluster.remove()
    else await administer(home, `drop database if exists ${template} with (force)`)
  }
}
