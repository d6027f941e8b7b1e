import type pg from 'pg'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { isPostgresUrl } from '../config.ts'

export interface LimitStore {
  /** Undefined when requests are counted in the memory of this process. */
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

/** Opens the store for rate limits: Redis if configured, otherwise PostgreSQL, or the memory of this process. */
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
  // Losing counters in a crash is acceptable; an fsync for every request is not.
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
  const table = { storeClient: mergeCounts(pool), storeType: 'pool', tableName: 'rateLimits', tableCreated: true }
  const { RateLimiterPostgres } = await import('rate-limiter-flexible')
  return { store: new RateLimiterPostgres({ ...options, ...table }), close: () => pool.end() }
}

interface Query {
  name?: string
  values?: unknown[]
}

/** The key, the points to add, and the end of a new window; the time of the call. */
type CountValues = [key: string, points: number, expire: number, now: number]

interface PendingCount {
  values: CountValues
  resolve: (result: { rows: unknown[] }) => void
  reject: (error: unknown) => void
}

const COUNT = 'ratelimits:rlflx-upsert'
const GET = 'ratelimits:rlflx-get'
/** Updates of a key's row before the next one replaces it. */
const MAX_CHANGES = 16
/**
 * As the statement of rate-limiter-flexible, for several keys. The order prevents deadlocks between processes. The update
 * that closes a row inserts its successor and deletes its predecessors. A row that another process has closed since this
 * statement began counts nothing, and the request is counted again.
 */
const COUNT_ALL = `with counted as (
    insert into "rateLimits" as counted (key, generation, points, expire)
    select key, coalesce((select max(generation) from "rateLimits" latest where latest.key = given.key), 0), points, expire
    from unnest($1::text[], $2::integer[], $3::bigint[]) as given (key, points, expire) order by key
    on conflict (key, generation) do update set
      points = case when counted.changes >= ${MAX_CHANGES} then counted.points
        when counted.expire <= $4 then excluded.points else counted.points + excluded.points end,
      expire = case when counted.expire <= $4 and counted.changes < ${MAX_CHANGES} then excluded.expire else counted.expire end,
      changes = counted.changes + 1
    returning key, generation, points, expire, changes
  ), opened as (
    insert into "rateLimits" (key, generation, points, expire, changes)
    select key, generation + 1, points, expire, 1 from counted where changes = ${MAX_CHANGES}
  ), deleted as (
    delete from "rateLimits" old using counted
    where counted.changes = ${MAX_CHANGES} and old.key = counted.key and old.generation < counted.generation
  )
  select key, points, expire, changes > ${MAX_CHANGES} or (changes = 0 and generation > 0) as "isClosed" from counted`
const GET_LATEST = `select points, expire from "rateLimits" latest where key = $1 and (expire > $2 or expire is null)
  and generation = (select max(generation) from "rateLimits" newest where newest.key = latest.key)`

/** Counts the requests of one turn of the event loop with one statement. The caller never counts a key twice at a time. */
function mergeCounts(pool: pg.Pool): { query: (query: Query) => Promise<unknown> } {
  let pending: PendingCount[] = []

  async function flush(): Promise<void> {
    const counts = pending
    pending = []
    try {
      const column = (i: number) => counts.map(({ values }) => values[i])
      const values = [column(0), column(1), column(2), Math.max(...counts.map((one) => one.values[3]))]
      const { rows } = await pool.query({ name: 'count-all', text: COUNT_ALL, values })
      const byKey = new Map(rows.map((row) => [row.key, row]))
      for (const count of counts) {
        const row = byKey.get(count.values[0])
        if (row?.isClosed) add(count)
        else count.resolve({ rows: [row] })
      }
    } catch (error) {
      for (const { reject } of counts) reject(error)
    }
  }

  function add(count: PendingCount): void {
    if (pending.length === 0) setImmediate(flush)
    pending.push(count)
  }

  return {
    query: (query) => {
      if (query.name === GET) return pool.query({ ...query, text: GET_LATEST })
      if (query.name !== COUNT) return pool.query(query as pg.QueryConfig)
      return new Promise((resolve, reject) => add({ values: query.values as CountValues, resolve, reject }))
    },
  }
}

async function openRedis(url: string, options: StoreOptions): Promise<LimitStore> {
  const { Redis } = await import('ioredis')
  const client = new Redis(url, {
    // Requests that cannot be counted are accepted; they do not wait for Redis to return.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: (times) => Math.min(times * 100, CONNECT_TIMEOUT_MS),
  })
  // Failing commands report the error; an event per reconnection attempt adds nothing.
  client.on('error', () => {})
  await new Promise<void>((done) => {
    client.once('ready', done)
    setTimeout(done, CONNECT_TIMEOUT_MS).unref()
  })
  const { RateLimiterRedis } = await import('rate-limiter-flexible')
  const store = new RateLimiterRedis({ ...options, storeClient: client, rejectIfRedisNotReady: true })
  return { store, close: async () => client.disconnect() }
}
