import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Database, Reader } from '../database/database.ts'
import type { SessionRow, ShopRow, UserRow } from '../database/tables.ts'
import type { Vault } from './vault.ts'

/** What the world gives the server. Tests bring their own clock, randomness and network. */
export interface Deps {
  config: Config
  db: Database
  log: Logger
  vault: Vault
  /** Milliseconds since 1970. */
  now: () => number
  /** A time-ordered opaque id, `<prefix>_…`. */
  newId: (prefix: IdPrefix) => string
  random: (bytes: number) => Uint8Array
  /** Aborted when the server stops: what would go on for ever ends then. */
  stopping: AbortSignal
  /** Called after a commit that left something to deliver. */
  wakeDispatcher: () => void
}

export type IdPrefix =
  | 'aff'
  | 'prg'
  | 'com'
  | 'bat'
  | 'whs'
  | 'key'
  | 'shp'
  | 'usr'
  | 'jrn'
  | 'evt'
  | 'dlv'
  | 'aud'
  | 'con'
  | 'rul'
  | 'rfd'
  | 'req'

/** A request of nobody in particular: documentation and signing in. */
export interface PublicContext extends Deps {
  requestId: string
  /** The caller's connection is encrypted, so its cookies may be. */
  isHttps: boolean
}

/** A caller who acts on one shop: an API key, a user, a store or the operator. */
export interface Context extends Deps {
  shop: ShopRow
  /** The name of the caller in the audit: `key:<id>`, `user:<id>`, `store` or `operator`. */
  actor: string
  requestId: string
  /** Absent where there is no credential, as for the operator. */
  recheck?: Recheck
  /** Set when the caller sent an `Idempotency-Key` with a POST. */
  idempotency?: Idempotency
}

/**
 * Checks the caller's credential again and returns the shop, both as `db` sees them. Every transaction begins with this
 * check, and slow reads end with it.
 *
 * @throws ApiError the same error as for a new request.
 */
export type Recheck = (db: Reader) => Promise<ShopRow>

/** A request with a credential that can be revoked while the request is open. */
export interface AuthenticatedContext extends Context {
  recheck: Recheck
}

/** A request with an API key. */
export type KeyContext = AuthenticatedContext

/** A signed notification of a store. */
export type StoreContext = AuthenticatedContext

/** A request of a user of the shop, with an owner token or a session. */
export interface OwnerContext extends AuthenticatedContext {
  user: UserRow
  /** Undefined for an owner token. */
  session: SessionRow | undefined
  /** The caller's connection is encrypted, so its cookies may be. */
  isHttps: boolean
}

export interface Idempotency {
  key: string
  /** What the key was used for: operation, declared query and canonical body. */
  subject: string
  /** Set once the answer is a stored one. */
  replayed?: boolean
  /** What is stored under the key has had its time, and makes room for the next answer. */
  hasExpired?: boolean
}

/** The present as stored: ISO 8601 in UTC with milliseconds. */
export const nowIso = (deps: { now: () => number }) => new Date(deps.now()).toISOString()

/** The context of each security scheme. */
export interface Contexts {
  apiKey: KeyContext
  ownerToken: OwnerContext
  storeSignature: StoreContext
  none: PublicContext
}
