import pg from 'pg'
import { createPool } from './postgres-failover.ts'
import { StorageError } from './storage-error.ts'

/** Options of a pool; timeouts in milliseconds, 0 for none. Parameters in the URL take precedence. */
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
  /** Runs on every new connection. */
  setupSql?: string
}

const CONNECT_MS = 5000
const IDLE_MS = 60_000
const IDLE_IN_TRANSACTION_MS = 10_000
const INT8 = 20
const NUMERIC = 1700

/** pg returns 64-bit integers as text. @throws Error for a number that would lose precision. */
function toNumber(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new Error('A number in the database is too large to be exact')
  }
  return number
}

const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 || oid === NUMERIC ? toNumber : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** Opens a pool to `postgres://…`. TLS and timeouts can be set in the URL (`sslmode`, `sslrootcert`, `lock_timeout` …). */
export function openPool(
  url: string,
  { max, statementTimeoutMs: statementMs, lockTimeoutMs: lockMs, ...given }: PoolOptions,
): pg.Pool {
  const options: pg.PoolConfig & { pipeline?: boolean } = {
    application_name: 'referral-server',
    max,
    types,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    // A process that hangs while it holds a shop's lock must not hold it forever.
    idle_in_transaction_session_timeout: given.idleInTransactionTimeoutMs ?? IDLE_IN_TRANSACTION_MS,
    // For a network that drops packets; PostgreSQL's own timeouts are shorter.
    query_timeout: statementMs && statementMs + 5000,
    pipeline: given.pipeline ?? false,
    idleTimeoutMillis: given.keepIdle ? 0 : IDLE_MS,
    onConnect: async (client) => {
      // For a connection that is lost between statements: the next statement on it fails.
      client.on('error', () => {})
      if (given.setupSql) await client.query(given.setupSql)
    },
  }
  // For a lost idle connection, which the pool has removed.
  return createPool(url, options).on('error', () => {})
}

/** The number of connections: `?pool=` in the URL, or the default. @throws Error */
export function poolSize(url: string, fallback: number): number {
  const text = /[?&]pool=([^&]*)/.exec(url)?.[1]
  if (text === undefined) return fallback
  // At least one to read and one to write.
  if (/^\d{1,3}$/.test(text) && Number(text) >= 2) return Number(text)
  throw new Error(`pool in DATABASE_URL must be a number from 2 to 999, not "${text}".`)
}

// 08: connection exceptions; 57P01 to 57P03: the server shuts down, crashed or is starting; 53300: too many connections;
// 25P03: idle-in-transaction timeout; 25006: the primary became a standby.
const CONNECTION_LOST_CODES = /^(08|57P0[1-3]|53300|25P03|25006)/
// A migration of another process changed the columns of a prepared statement.
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
