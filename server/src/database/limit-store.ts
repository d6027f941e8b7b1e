import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import {
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  type RateLimiterStoreAbstract,
} from 'rate-limiter-flexible'
import { isPostgresUrl } from '../config.ts'

export interface LimitStore {
  store: RateLimiterAbstract
  /** Whether other processes count in it too. */
  isShared: boolean
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

/** Where limits are counted: in Redis when there is an address of one, else in PostgreSQL, else in this process. */
export async function openLimitStore(
  { redisUrl, databaseUrl }: { redisUrl: string | undefined; databaseUrl: string },
  options: StoreOptions,
): Promise<LimitStore> {
  if (redisUrl) return openRedis(redisUrl, options)
  if (isPostgresUrl(databaseUrl)) return openPostgres(databaseUrl, options)
  return { store: new RateLimiterMemory(options), isShared: false, close: async () => {} }
}

async function openPostgres(url: string, options: StoreOptions): Promise<LimitStore> {
  // A window that a crash forgets is no loss, and waiting for the disk on every request would be.
  const setUp = 'set synchronous_commit = off'
  const { openPool } = await import('./postgres-pool.ts')
  const pool = openPool(url, {
    max: CONNECTIONS,
    statementTimeoutMs: COMMAND_TIMEOUT_MS,
    keepIdle: true,
    setupSql: setUp,
  })
  // Connecting takes longer than a request waits. A database that is not there yet is found later.
  await pool.query('select 1').catch(() => {})
  const table = { storeClient: pool, storeType: 'pool', tableName: 'rateLimits', tableCreated: true }
  return { store: new RateLimiterPostgres({ ...options, ...table }), isShared: true, close: () => pool.end() }
}

async function openRedis(url: string, options: StoreOptions): Promise<LimitStore> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    // What cannot be counted now is let through now: nothing waits for Redis to come back.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: (times) => Math.min(times * 100, CONNECT_TIMEOUT_MS),
  })
  // The commands that fail say so; a line for every attempt to connect would say no more.
  client.on('error', () => {})
  await new Promise<void>((done) => {
    client.once('ready', done)
    setTimeout(done, CONNECT_TIMEOUT_MS).unref()
  })
  const store: RateLimiterStoreAbstract = new RateLimiterRedis({
    ...options,
    storeClient: client,
    rejectIfRedisNotReady: true,
  })
  return { store, isShared: true, close: async () => client.disconnect() }
}
