import pg from 'pg'
import { StorageError } from './storage-error.ts'

/** How a pool's connections behave; times in milliseconds, 0 for none. What the address says as a parameter wins. */
interface PoolOptions {
  max: number
  statementTimeoutMs: number
  lockTimeoutMs?: number
  /** Statements may be sent before the earlier ones are answered. */
  pipeline?: true
  /** How long a transaction may stand still; 0 for ever. */
  idleInTransactionTimeoutMs?: number
  /** Connections stay open while nobody needs them. */
  keepIdle?: true
  /** Run on every new connection. */
  setupSql?: string
}

const CONNECT_MS = 5000
const IDLE_MS = 60_000
const IDLE_IN_TRANSACTION_MS = 10_000
const INT8 = 20
const NUMERIC = 1700

/** pg returns counts and amounts as text. @throws Error rather than rounding one that no number holds exactly. */
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

/** A pool of connections to `postgres://…`. TLS and time-outs follow the address (`sslmode`, `sslrootcert`, `lock_timeout` …). */
export function openPool(
  url: string,
  { max, statementTimeoutMs: statementMs, lockTimeoutMs: lockMs, ...given }: PoolOptions,
): pg.Pool {
  const options: pg.PoolConfig & { pipeline?: boolean } = {
    connectionString: url,
    application_name: 'referral-server',
    max,
    types,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    // A process that was frozen while it held a shop's lock must not hold it for ever.
    idle_in_transaction_session_timeout: given.idleInTransactionTimeoutMs ?? IDLE_IN_TRANSACTION_MS,
    // The last resort when the network swallows answers: the server's own time-outs come first.
    query_timeout: statementMs && statementMs + 5000,
    pipeline: given.pipeline ?? false,
    idleTimeoutMillis: given.keepIdle ? 0 : IDLE_MS,
    onConnect: async (client) => {
      // A connection that breaks while nobody waits for an answer; the next statement on it says so.
      client.on('error', () => {})
      if (given.setupSql) await client.query(given.setupSql)
    },
  }
  // An idle connection that broke has left the pool by then.
  return new pg.Pool(options).on('error', () => {})
}

/** How many connections an address asks for with `?pool=`; `usual` when it does not. @throws Error */
export function poolSize(url: string, usual: number): number {
  const text = /[?&]pool=([^&]*)/.exec(url)?.[1]
  if (text === undefined) return usual
  // One to read and one to write at least.
  if (/^\d{1,3}$/.test(text) && Number(text) >= 2) return Number(text)
  throw new Error(`pool in the address of the database must be a number from 2 to 999, not "${text}".`)
}

// 08: connection exceptions; 57P01 to 57P03: the server stops, crashed or is starting; 53300: it has no place left;
// 25P03: it ended a transaction that stood still.
const CONNECTION_LOST_CODES = /^(08|57P0[1-3]|53300|25P03)/
// A migration that ran elsewhere changed the columns of a statement that this connection had planned.
const STALE_PLAN = /cached plan must not change/

/** What a driver threw, as a storage error. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  const { message, code } = error as Error & { code?: string }
  const isAnswer = error instanceof pg.DatabaseError && code !== undefined
  return new StorageError(message || 'The database cannot be reached', {
    code: code ?? 'connection_lost',
    isLost: !isAnswer || CONNECTION_LOST_CODES.test(code) || STALE_PLAN.test(message),
    cause: error,
  })
}
