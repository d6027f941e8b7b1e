import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { monotonicFactory } from 'ulid'
import type { Config } from '../config.ts'
import type { components } from '../contract/schema.d.ts'
import type { Database, Reader } from '../database/database.ts'
import type { SessionRow, ShopRow, UserRow } from '../database/tables.ts'
import { type IdPrefix, laterId } from './ids.ts'
import { createLog } from './log.ts'
import { createVault, type Vault } from './vault.ts'

/** The server's dependencies. Tests replace the clock, the randomness and the network. */
export interface Deps {
  config: Config
  db: Database
  log: Logger
  vault: Vault
  /** Milliseconds since 1970. */
  now: () => number
  /** A time-ordered opaque ID, `<prefix>_…`. */
  newId: (prefix: IdPrefix) => string
  random: (bytes: number) => Uint8Array
  /** Aborted when the server stops; ends long-running work such as retention. */
  stopping: AbortSignal
  /** Called after a commit that added deliveries to the outbox. */
  wakeDispatcher: () => void
  /** Called after a commit that recorded payment results, or left payments out of a file. */
  countPayments: (result: PaymentCount, count: number) => void
}

/** The payment outcomes that the metrics count. */
export type PaymentCount = components['schemas']['ReconciledResult']['result'] | 'blocked'

/** A request without a credential, such as for the documentation or the sign-in page. */
export interface PublicContext extends Deps {
  requestId: string
  /** Whether the caller's connection is encrypted, so that cookies can be `Secure`. */
  isHttps: boolean
  /** The server's address as the caller sees it. */
  origin: string
  client: Client
}

/** Where a request came from, coarse enough to store: no IP address, no user agent. */
export interface Client {
  browser: string
  network: string
}

/**
 * The server's operator, who can act on every shop: a request with the operator token, or an operator command. Shop
 * contexts and public contexts are not assignable to it.
 */
export type Operator = Deps & { actor?: 'operator'; requestId?: string; isHttps?: never }

/** A request with the operator token. It has no shop, so it cannot be passed to a shop's use cases. */
export interface OperatorContext extends Deps {
  actor: 'operator'
  requestId: string
  isHttps?: never
}

/** When a request arrived. */
export interface Arrival {
  /** Milliseconds since 1970. */
  at: number
  /** Less than every ID created later, even in the same millisecond. */
  id: string
}

/** What `mutate` needs. `Shop` is a shop's row, or only an ID for changes to the installation itself. */
export interface MutationContext<Shop extends ShopId = ShopId> extends Deps {
  shop: Shop
  /** The caller's name in the audit: `key:<id>`, `user:<id>`, `store`, `site` or `operator`. */
  actor: string
  requestId: string
  /** When the request arrived, on the server's clock. Absent outside the API. */
  arrival?: Arrival
  /** The span that made the request. Deliveries of its events carry it. */
  traceparent?: string | undefined
  /** Absent without a credential, as for the operator. */
  recheck?: (db: Reader) => Promise<Shop>
  /** Set when the caller sent an `Idempotency-Key` with a POST. */
  idempotency?: Idempotency
  /** The server's clock, if `now` is a test shop's. */
  system?: Clock
}

/** The time, and IDs that start with it. */
export type Clock = Pick<Deps, 'now' | 'newId'>

/** The part of the shop that every write needs. */
export type ShopId = Pick<ShopRow, 'id' | 'isTest'>

/** A caller that acts on one shop: an API key, a user, a store or the operator. */
export type Context = MutationContext<ShopRow>

/**
 * Checks the caller's credential again and returns the shop, both as `db` sees them. Every transaction begins with this
 * check, and slow reads end with it.
 *
 * @throws ApiError the same error as for a new request.
 */
export type Recheck = (db: Reader) => Promise<ShopRow>

/** A request with a credential that can be revoked while the request is open. */
interface AuthenticatedContext extends Context {
  recheck: Recheck
}

/** A request with an API key. */
export interface KeyContext extends AuthenticatedContext {
  /** The scopes of the key or token. */
  scopes: readonly string[]
  /** Set for an affiliate's token, which can read only this affiliate. */
  affiliateId?: string
}

/** A signed notification of a store. */
export type StoreContext = AuthenticatedContext

/** A request from a page of the shop, without a credential. */
export interface SiteContext extends AuthenticatedContext {
  /** Whether a click counts. Bots, prefetches, HEAD requests, and clicks above the limits do not. */
  isCounted: () => Promise<boolean>
}

/** A request of a user of the shop, with an owner token or a session. */
export interface OwnerContext extends AuthenticatedContext {
  user: UserRow
  /** Undefined for an owner token. */
  session: SessionRow | undefined
  /** Whether the caller's connection is encrypted, so that cookies can be `Secure`. */
  isHttps: boolean
}

export interface Idempotency {
  key: string
  /** Fingerprints of the request sent with the key (operation, declared query and canonical body), one per encryption key, newest first. */
  fingerprints: [string, ...string[]]
  /** Set if the response is a stored one. */
  replayed?: boolean
  /** Set if the stored response has expired. The next response replaces it. */
  hasExpired?: boolean
}

/** A shop's clock: the server's, or one that the owner advances for a test shop. */
export function clockOf(
  { now, newId }: Clock,
  { clockOffsetMs }: Pick<ShopRow, 'clockOffsetMs'>,
): Clock & Pick<MutationContext, 'system'> {
  if (clockOffsetMs === 0) return { now, newId }
  return {
    now: () => now() + clockOffsetMs,
    newId: (prefix) => laterId(newId(prefix), clockOffsetMs),
    system: { now, newId },
  }
}

/** The server's clock, which decides when credentials and leases expire. */
export const systemClock = ({ system, now, newId }: Clock & Pick<MutationContext, 'system'>): Clock =>
  system ?? { now, newId }

/** The current time as it is stored: ISO 8601 in UTC with milliseconds. */
export const nowIso = (deps: { now: () => number }) => new Date(deps.now()).toISOString()

/** The context of each security scheme. */
export interface Contexts {
  apiKey: KeyContext
  ownerToken: OwnerContext
  storeSignature: StoreContext
  stripeSignature: StoreContext
  operatorToken: OperatorContext
  site: SiteContext
  none: PublicContext
}

/** Random numbers from 0 to 1, from a pool: one system call per number would cost more than the rest of an ID. */
function createRandom(random: (bytes: number) => Uint8Array): () => number {
  let pool: Uint8Array = new Uint8Array()
  let next = 0
  return () => {
    if (next >= pool.length) {
      pool = random(4096)
      next = 0
    }
    return (pool[next++] ?? 0) / 256
  }
}

/** A real server's dependencies: system clock, secure randomness, logs on standard error. */
export function createDeps(config: Config, db: Database): Deps {
  const ulid = monotonicFactory(createRandom(randomBytes))
  const now = () => Date.now()
  return {
    config,
    db,
    log: createLog(config.logLevel),
    vault: createVault(config.encryptionKeys),
    now,
    newId: (prefix) => `${prefix}_${ulid(now())}`,
    random: (bytes) => new Uint8Array(randomBytes(bytes)),
    stopping: new AbortController().signal,
    wakeDispatcher: () => {},
    countPayments: () => {},
  }
}
