import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { isPostgresUrl } from '../config.ts'

export interface LimitStore {
  /** Undefined if requests are counted in this process's memory. */
  store: RateLimiterAbstract | undefined
  close: () => Promise<void>
}

interface StoreOptions {
  points: number
  /** Seconds. */
  duration: number
  keyPrefix: string
}

const CONNECTIONS = 4
const COMMAND_TIMEOUT_MS = 1000
const CONNECT_TIMEOUT_MS = 1000

/** Opens the store for rate limits: Redis if configured, otherwise PostgreSQL, or this process's memory. */
export async function openLimitStore(
  { redisUrl, databaseUrl }: { redisUrl: string | undefined; databaseUrl: string },
  options: StoreOptions,
): Promise<LimitStore> {
  if (redisUrl) return openRedis(redisUrl, options)
  if (isPostgresUrl(databaseUrl)) return openPostgres(databaseUrl, options)
  return { store: undefined, close: async () => {} }
}

async function openPostgres(url: string, options: StoreOptions): Promise<LimitStore> {
  const { openPool, planByKey } = await import('./postgres-pool.ts')
  // Losing counters in a crash is acceptable. An fsync for every request is not.
  const setupSql = (scope: 'session' | 'transaction') =>
    `${planByKey(scope)}; set ${scope === 'transaction' ? 'local ' : ''}synchronous_commit = off`
  const pool = openPool(url, {
    max: CONNECTIONS,
    statementTimeoutMs: COMMAND_TIMEOUT_MS,
    keepIdle: true,
    setupSql,
  })
  // Connects eagerly: connecting takes longer than a request may wait. The first request retries a failure.
  await pool.query('select 1').catch(() => {})
  const table = { storeClient: pool, storeType: 'pool', tableName: 'rateLimits', tableCreated: true }
  const { RateLimiterPostgres } = await import('rate-limiter-flexible')
  return { store: new RateLimiterPostgres({ ...options, ...table }), close: () => pool.end() }
}

async function openRedis(url: string, options: StoreOptions): Promise<LimitStore> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    // Requests that cannot be counted are accepted. They do not wait for Redis to return.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: (times) => Math.min(times * 100, CONNECT_TIMEOUT_MS),
  })
  // Failing commands report the error. An event per reconnection attempt adds nothing.
  client.on('error', () => {})
  await new Promise<void>((done) => {
    client.once('ready', done)
    setTimeout(done, CONNECT_TIMEOUT_MS).unref()
  })
  const { RateLimiterRedis } = await import('rate-limiter-flexible')
  const store = new RateLimiterRedis({ ...options, storeClient: client, rejectIfRedisNotReady: true })
  return { store, close: async () => client.disconnect() }
}
