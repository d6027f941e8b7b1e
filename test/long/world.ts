import { readConfig } from '../../server/src/config.ts'
import { createDeps } from '../../server/src/core/context.ts'
import type { Database } from '../../server/src/database/database.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { check } from '../../server/src/operator/check.ts'
import { administer, databaseUrl } from '../support/database.ts'
import { insertKeys } from '../support/keys.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createShop } from '../support/tenants.ts'
import type { RunOptions } from './guarantee.ts'

/** A database without open connections unless a server or `look` is running. */
export interface World {
  url: string
  folder: string
  env: Record<string, string>
  /** `under`: a command that runs it and becomes it. */
  start: (more?: Record<string, string>, under?: string[]) => Promise<RunningServer>
  look: <T>(work: (db: Database) => Promise<T>) => Promise<T>
  /** A shop with this many keys, each with its own rate limit. */
  createShop: (keys: number) => Promise<{ shopId: string; ownerToken: string; keys: string[] }>
  /** The inconsistencies of the database. */
  problems: () => Promise<string[]>
  remove: () => Promise<void>
}

let made = 0

/** A separate, empty, migrated database for server processes. */
export async function createWorld(
  { engine }: Pick<RunOptions, 'engine'>,
  more: Record<string, string> = {},
  folder = temporaryFolder(),
): Promise<World> {
  const home = process.env.TEST_POSTGRES_URL ?? ''
  const name = `referral_long_${process.pid}_${++made}`
  const url = engine === 'postgres' ? databaseUrl(home, name) : `file:${folder.path}/referral.db`
  if (engine === 'postgres') await administer(home, `create database ${name}`)
  const env: Record<string, string> = {
    REFERRAL_DATA_DIR: folder.path,
    DATABASE_URL: url,
    REFERRAL_DEMO: '0',
    REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('base64'),
    LOG_LEVEL: 'error',
    ...more,
  }
  const look = async <T>(work: (db: Database) => Promise<T>): Promise<T> => {
    const db = await openDatabase(url)
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  }
  await look((db) => db.migrate())
  return {
    url,
    folder: folder.path,
    env,
    start: (extra, under) => startServer({ ...env, ...extra }, under),
    look,
    createShop: (keys) => look((db) => createShopWithKeys(db, env, keys)),
    problems: () => look(async (db) => (await check({ db })).problems),
    remove: async () => {
      if (engine === 'postgres') await administer(home, `drop database ${name} with (force)`)
      folder.remove()
    },
  }
}

async function createShopWithKeys(db: Database, env: Record<string, string>, keys: number) {
  const deps = createDeps({ ...readConfig(env), logLevel: 'silent' }, db)
  const shop = await createShop(deps, { name: 'S', plan: 'ENTERPRISE', currency: 'USD', ownerEmail: 'o@example.com' })
  const ctx = await shops.operatorContext(deps, shop.shopId)
  return { ...shop, keys: await insertKeys(ctx, keys) }
}
