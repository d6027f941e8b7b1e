import pg from 'pg'
import type { PoolState } from './database.ts'
import { StorageError } from './storage-error.ts'

/** Pool options. Timeouts are in milliseconds, 0 for none. Parameters in the URL take precedence. */
interface PoolOptions {
  max: number
  statementTimeoutMs: number
  lockTimeoutMs?: number
  /** Send statements before earlier ones have completed. */
  pipeline?: true
  /** How long a transaction may be idle. */
  idleInTransactionTimeoutMs?: number
  /** Keep idle connections open. */
  keepIdle?: true
  /** A statement that changes settings, for a session or for the current transaction. */
  setupSql?: (scope: 'session' | 'transaction') => string
}

/** A pool of connections to PostgreSQL, or to a pooler in front of it. */
export interface PostgresPool extends pg.Pool {
  /** Starts a transaction. Several statements if the pool's settings apply only to one transaction. */
  beginSql: string
  /** How long a statement waits for a lock; 0 without a limit. */
  lockTimeoutMs: number
}

const CONNECT_MS = 5000
const IDLE_MS = 60_000
const IDLE_IN_TRANSACTION_MS = 10_000
const INT8 = 20
const NUMERIC = 1700
const JSON_TYPE = 114

/** pg returns 64-bit integers as text. @throws Error for a number that would lose precision. */
function toNumber(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new Error('A number in the database is too large to be exact')
  }
  return number
}

/** Integers that a number may not represent exactly have at least 16 digits. */
const LONG_NUMBER = /:-?\d{16}/

const toExact = (_: string, value: unknown) => (typeof value === 'number' ? toNumber(String(value)) : value)

/** Parses rows as JSON. @throws Error for a number that would lose precision. */
const toRows = (text: string) => JSON.parse(text, LONG_NUMBER.test(text) ? toExact : undefined)

const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, toNumber],
  [NUMERIC, toNumber],
  [JSON_TYPE, toRows],
])

const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/**
 * Opens a pool to `postgres://…`. TLS and timeouts can be set in the URL (`sslmode`, `sslrootcert`, `lock_timeout` …). With
 * `pgbouncer=true` or `prepare=false`, nothing outlives a transaction, as transaction pooling requires.
 */
export function openPool(
  url: string,
  { max, statementTimeoutMs: statementMs, lockTimeoutMs: lockMs, ...poolConfig }: PoolOptions,
): PostgresPool {
  const timeouts = {
    statement_timeout: statementMs,
    lock_timeout: lockMs ?? 0,
    // A hung process must not hold a shop's lock forever.
    idle_in_transaction_session_timeout: poolConfig.idleInTransactionTimeoutMs ?? IDLE_IN_TRANSACTION_MS,
  }
  const options: pg.PoolConfig & { pipeline?: boolean } = {
    application_name: 'referral-server',
    max,
    types,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS,
    // Covers a network that drops packets. PostgreSQL's own timeouts are shorter.
    query_timeout: statementMs && statementMs + 5000,
    pipeline: poolConfig.pipeline ?? false,
    idleTimeoutMillis: poolConfig.keepIdle ? 0 : IDLE_MS,
  }
  const { isShared, isPrepared } = readPooling(url)
  const lockTimeoutMs = readMs(url, 'lock_timeout') ?? timeouts.lock_timeout
  const Client = isPrepared ? TurnClient : UnnamedClient
  // A connection lost between statements emits this. The next statement on it fails.
  const ignoreErrors = (client: pg.ClientBase) => void client.on('error', () => {})
  const setupSql = (scope: 'session' | 'transaction') =>
    [NO_JIT[scope], poolConfig.setupSql?.(scope)].filter(Boolean).join('; ')
  if (isShared) {
    const settings = Object.entries(timeouts).map(([name, ms]) => setLocal(name, readMs(url, name) ?? ms))
    const beginSql = ['begin', setupSql('transaction'), ...settings].join('; ')
    const shared = { ...options, Client, pipeline: true, onConnect: ignoreErrors }
    return runSeparately(create(withoutTimeouts(url), shared, { beginSql, lockTimeoutMs }))
  }
  const onConnect = async (client: pg.ClientBase) => {
    ignoreErrors(client)
    await client.query(setupSql('session'))
  }
  return create(url, { ...options, ...timeouts, Client, onConnect }, { beginSql: 'begin', lockTimeoutMs })
}

function create(
  url: string,
  options: pg.PoolConfig,
  settings: Pick<PostgresPool, 'beginSql' | 'lockTimeoutMs'>,
): PostgresPool {
  // A lost idle connection emits this. The pool has already removed it.
  const pool = new pg.Pool({ ...options, connectionString: url }).on('error', () => {})
  return Object.assign(pool, settings)
}

/** Makes each of a pool's single statements a transaction with the pool's settings. */
function runSeparately(pool: PostgresPool): PostgresPool {
  const query = async (...statement: [string, unknown[]]) => {
    const client = await pool.connect()
    // Sent together, which costs one round trip.
    const replies = [client.query(pool.beginSql), client.query(...statement), client.query('commit')]
    const [begun, done, committed] = await Promise.allSettled(replies)
    const failed = [begun, done, committed].find((outcome) => outcome?.status === 'rejected')
    client.release(failed !== undefined && toStorageError(failed.reason).isLost)
    if (failed) throw failed.reason
    return (done as PromiseFulfilledResult<pg.QueryResult>).value
  }
  return Object.assign(pool, { query: query as typeof pool.query })
}

/** Writes all statements from one turn of the event loop to the socket at once. */
class TurnClient extends pg.Client {
  #isCorked = false

  override query(...args: unknown[]): never {
    const { stream } = this.connection
    if (!this.#isCorked) {
      this.#isCorked = true
      stream.cork()
      process.nextTick(() => {
        this.#isCorked = false
        stream.uncork()
      })
    }
    const send = super.query as (...all: unknown[]) => unknown
    return send.apply(this, args) as never
  }
}

/** Sends statements without names: a prepared statement belongs to a session. */
class UnnamedClient extends TurnClient {
  override query(...args: unknown[]): never {
    const [statement, ...rest] = args
    const isNamed = typeof statement === 'object' && statement !== null && 'name' in statement
    return super.query(isNamed ? { ...statement, name: undefined } : statement, ...rest)
  }
}

const TIMEOUTS = /([?&])(statement_timeout|lock_timeout|idle_in_transaction_session_timeout)=[^&]*/g

/** Removed from the options, because pg would send them as startup parameters, which poolers reject. */
const withoutTimeouts = (url: string) => url.replaceAll(TIMEOUTS, '$1')

/**
 * Before version 18, PostgreSQL adds ten billion to the cost of a plan that has to use a disabled kind of node, and then
 * compiles it: half a second for each order.
 */
const NO_JIT = { session: 'set jit = off', transaction: 'set local jit = off' }

const KEYED_PLANS = [
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['plan_cache_mode', 'force_generic_plan'],
]

/**
 * Settings for connections that find few rows by key: the planner reads them one by one through indexes, and plans a
 * prepared statement once. Statistics for rows that change constantly are usually wrong, and PostgreSQL would read
 * whole tables or every earlier version of a row.
 */
export const planByKey = (scope: 'session' | 'transaction'): string =>
  `select ${KEYED_PLANS.map(([name, value]) => `set_config('${name}', '${value}', ${scope === 'transaction'})`).join(', ')}`

const setLocal = (name: string, ms: number) => `set local ${name} = ${ms}`

const parameterOf = (url: string, name: string) => new URLSearchParams(url.split('?')[1]).get(name) ?? undefined

/** @throws Error */
function readMs(url: string, name: string): number | undefined {
  const text = parameterOf(url, name)
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new Error(`${name} in DATABASE_URL must be a number of milliseconds, not "${text}".`)
}

/** @throws Error */
function readFlag(url: string, name: string): boolean | undefined {
  const text = parameterOf(url, name)
  if (text === undefined || text === 'true' || text === 'false') return text && text === 'true'
  throw new Error(`${name} in DATABASE_URL must be true or false, not "${text}".`)
}

/**
 * Whether connections share PostgreSQL sessions, and whether statements are prepared by name. Newer poolers keep
 * prepared statements: `pgbouncer=true&prepare=true`.
 */
function readPooling(url: string): { isShared: boolean; isPrepared: boolean } {
  const isBehindPooler = readFlag(url, 'pgbouncer') ?? false
  const isPrepared = readFlag(url, 'prepare') ?? !isBehindPooler
  return { isShared: isBehindPooler || !isPrepared, isPrepared }
}

/** The number of connections: `?pool=` in the URL, or the default. @throws Error */
export function poolSize(url: string, fallback: number): number {
  const text = parameterOf(url, 'pool')
  if (text === undefined) return fallback
  // At least one to read and one to write.
  if (/^\d{1,3}$/.test(text) && Number(text) >= 2) return Number(text)
  throw new Error(`pool in DATABASE_URL must be a number from 2 to 999, not "${text}".`)
}

export const poolState = (pool: string, { totalCount, idleCount, waitingCount }: pg.Pool): PoolState => ({
  pool,
  busy: totalCount - idleCount,
  idle: idleCount,
  waiting: waitingCount,
})

// 08: connection exceptions; 57P01 to 57P03: the server shuts down, crashed or is starting; 53300: too many connections;
// 25P03: idle-in-transaction timeout; 25006: the primary became a standby.
const CONNECTION_LOST_CODES = /^(08|57P0[1-3]|53300|25P03|25006)/
// Another process's migration changed a prepared statement's columns.
const STALE_PLAN = /cached plan must not change/

/** Converts an error of pg. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  const { message, code } = error as Error & { code?: string }
  const isFromServer = error instanceof pg.DatabaseError && code !== undefined
  return new StorageError(message || 'Cannot connect to the database', {
    code: code ?? 'connection_lost',
    isLost: !isFromServer || CONNECTION_LOST_CODES.test(code) || STALE_PLAN.test(message),
    cause: error,
  })
}
