// Full: it starts several servers.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { readConfig } from '../../server/src/config.ts'
import { createDeps } from '../../server/src/core/context.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { createCluster, whyNoPostgres } from '../support/postgres-cluster.ts'
import { SCRATCH } from '../support/scratch.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const missing = await whyNoPostgres()

test.skipIf(missing)(
  'a change is not acknowledged when PostgreSQL crashed during its commit and then assigned its id to another transaction',
  async () => {
    const folder = temporaryFolder()
    // The log of the change reaches the disk with its commit at the earliest, so that the crash loses its id, too.
    const cluster = await createCluster(['fsync=off', 'wal_writer_delay=10s'], { home: SCRATCH })
    const db = await openDatabase(cluster.url)
    await db.migrate()
    const config = readConfig({
      REFERRAL_DATA_DIR: folder.path,
      DATABASE_URL: cluster.url,
      REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('base64'),
    })
    const deps = createDeps({ ...config, logLevel: 'silent' }, db)
    const { shop } = await shops.create(deps, {
      name: 'S',
      plan: 'ENTERPRISE',
      currency: 'USD',
      ownerEmail: 'o@example.com',
    })
    const ctx = await shops.operatorContext(deps, shop.id)
    const execute = async (...statements: string[]) => {
      const client = new pg.Client(cluster.url)
      await client.connect()
      const results: pg.QueryResult[] = []
      for (const statement of statements) results.push(await client.query(statement))
      await client.end()
      return results.at(-1)!.rows
    }
    await execute(
      `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.4); return null; end $$`,
      `create constraint trigger slow after insert on "apiKeys" deferrable initially deferred for each row execute function slow()`,
      'checkpoint',
    )
    const pending = createApiKey(ctx, { label: 'Kept', scopes: ['all'] })
    await sleep(200)
    await cluster.stop('immediate')
    await cluster.start()
    await execute(...Array.from({ length: 50 }, () => 'select pg_current_xact_id()'))
    const key = await pending
    expect(await execute('select id from "apiKeys"')).toEqual([{ id: key.keyId }])
    await db.close()
    await cluster.remove()
    folder.remove()
  },
  60_000,
)
