import pg from 'pg'
import { readConfig } from '../../server/src/config.ts'
import { createDeps } from '../../server/src/core/context.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { check } from '../../server/src/operator/check.ts'
import { createPgBouncer } from '../support/pgbouncer.ts'
import { createCluster, type PostgresCluster, whyNoPostgres } from '../support/postgres-cluster.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { createRedis, type TestRedis, whyNoRedis } from '../support/redis.ts'
import { SCRATCH } from '../support/scratch.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createShop } from '../support/tenants.ts'

/** Why these tests cannot run here; logged. */
export const missing = await whyNoPostgres()
if (missing) console.warn(`skipped: the tests of several instances, because ${missing}`)
/** Without Redis, limits are shared in PostgreSQL. */
export const noRedis = whyNoRedis()
if (noRedis && !missing) console.warn(`skipped: several instances with Redis, because ${noRedis}; without it they run`)

export interface Shop {
  shopId: string
  ownerToken: string
  /** Keys with every scope, each with its own limit. */
  keys: string[]
}

export interface Instances {
  postgres: PostgresCluster
  redis: TestRedis | undefined
  servers: RunningServer[]
  env: Record<string, string>
  /** Starts one more, or one again, with more in its environment. */
  start: (more?: Record<string, string>) => Promise<RunningServer>
  createShop: (options?: { plan?: shops.Plan; keys?: number }) => Promise<Shop>
  query: <Row>(text: string, values?: unknown[]) => Promise<Row[]>
  /** The inconsistencies of the database. */
  problems: () => Promise<string[]>
  stop: () => Promise<void>
}

/** How the servers reach PostgreSQL: directly, or through PgBouncer in transaction mode. */
export type Pooling = 'unnamed' | 'prepared'

const POOLING = process.env.TEST_POOLING as Pooling | undefined

/** Several server processes on one PostgreSQL and one Redis, all on loopback. */
export async function startInstances(
  count: number,
  more: Record<string, string> = {},
  { pooling = POOLING }: { pooling?: Pooling | undefined } = {},
): Promise<Instances> {
  const folder = temporaryFolder()
  const settings = ['fsync=off', 'full_page_writes=off']
  const [postgres, redis] = await Promise.all([
    createCluster(settings, { home: SCRATCH }),
    noRedis ? undefined : createRedis(),
  ])
  const pooler = pooling && (await createPgBouncer(postgres.url, { isPrepared: pooling === 'prepared' }))
  const env: Record<string, string> = {
    REFERRAL_DATA_DIR: folder.path,
    DATABASE_URL: pooler?.url ?? postgres.url,
    REDIS_URL: redis?.url ?? '',
    REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('base64'),
    LOG_LEVEL: 'warn',
    ...more,
  }
  const config = readConfig(env)
  const servers: RunningServer[] = []
  const start = async (others: Record<string, string> = {}) => {
    const server = await startServer({ ...env, ...others })
    servers.push(server)
    return server
  }
  await Promise.all(Array.from({ length: count }, () => start()))
  const db = await openDatabase(postgres.url)
  const deps = createDeps({ ...config, logLevel: 'silent' }, db)
  return {
    postgres,
    redis,
    servers,
    env,
    start,
    createShop: async ({ plan = 'ENTERPRISE', keys = 1 } = {}) => {
      const shop = await createShop(deps, { name: 'S', plan, currency: 'USD', ownerEmail: 'owner@example.com' })
      const ctx = await shops.operatorContext(deps, shop.shopId)
      const made = Array.from({ length: keys }, () => createApiKey(ctx, { label: 'K', scopes: ['all'] }))
      return { ...shop, keys: (await Promise.all(made)).map(({ secret }) => secret) }
    },
    query: (text, values) => queryOnce(postgres.url, text, values),
    problems: async () => (await check({ db })).problems,
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop('SIGKILL')))
      await db.close()
      await Promise.all([postgres.remove(), redis?.stop(), pooler?.stop()])
      folder.remove()
    },
  }
}

async function queryOnce<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query(text, values)
    return rows as Row[]
  } finally {
    await client.end()
  }
}
