import { findBySession, findOwner, isCsrfToken, type Owner } from '../accounts/sessions.ts'
import { ApiError, forbidden, rateLimited } from '../contract/errors.ts'
import type { Operation } from '../contract/spec.ts'
import type { OwnerContext } from '../core/context.ts'
import type { Reader } from '../database/access.ts'
import type { UserRow } from '../database/tables.ts'
import { tokenOf } from './authenticate.ts'
import type { Visit } from './authorize.ts'
import type { Server } from './server.ts'
import type { Browser } from './session-cookie.ts'

/** Attempts to sign in, and unknown owner tokens, per client address and minute. */
export const SIGN_IN_LIMIT = 10
/** Requests per window of one user, pages and forms included: ten a second for as long as they like. */
export const OWNER_LIMIT = 600

/**
 * Lets a user of a shop in, with an owner token or a session, in the order: credential, rate limit, role, CSRF token.
 *
 * @throws ApiError 401, 403 or 429.
 */
export async function admitOwner(server: Server, op: Operation, visit: Visit, browser: Browser): Promise<OwnerContext> {
  const token = visit.authorization === null ? undefined : ownerToken(visit.authorization)
  const look: Look = token ? byToken(token) : bySession(server, browser)
  const owner = await look(server.deps.db.read).catch((error) => refuseUnknown(server, visit, error))
  await countOwner(server, owner)
  requireRole(op, owner)
  if (owner.session && op.method !== 'GET' && !isOwnForm(server, owner, browser)) {
    throw forbidden('csrf_token_invalid', 'Send the CSRF token of your session in the header X-CSRF-Token.')
  }
  return ownerContext(server, owner, { requestId: visit.requestId, isHttps: browser.isHttps, look, roles: op.roles })
}

/** Finds who calls, as committed rows or an open transaction show them. @throws ApiError 401 or 403. */
type Look = (db: Reader) => Promise<Owner>

interface OwnerVisit {
  requestId: string
  isHttps: boolean
  look: Look
  roles: readonly UserRow['role'][]
}

/** Counts a request of a user. @throws ApiError 429 `rate_limited`. */
export async function countOwner({ limiter }: Pick<Server, 'limiter'>, { user }: Owner): Promise<void> {
  const window = await limiter.consume(`user:${user.id}`, OWNER_LIMIT)
  if (window.exceeded) throw rateLimited(window)
}

/** The context of a call that a user of a shop makes. */
export function ownerContext(
  { deps }: Pick<Server, 'deps'>,
  { user, shop, session }: Owner,
  { look, roles, ...visit }: OwnerVisit,
): OwnerContext {
  const recheck = async (db: Reader) => {
    const owner = await look(db)
    requireRole({ roles }, owner)
    return owner.shop
  }
  return { ...deps, ...visit, shop, user, session, actor: `user:${user.id}`, recheck }
}

/** @throws ApiError 403 `role_missing`. */
export function requireRole({ roles }: Pick<OwnerVisit, 'roles'>, { user }: Owner): void {
  if (!roles.includes(user.role)) throw forbidden('role_missing', 'Only an OWNER may do this.')
}

/**
 * Counts an attempt to sign in, whether it will succeed or not. Another site's page may not make one, for it could sign
 * its visitor in as somebody else.
 *
 * @throws ApiError 403 `cross_site_refused`, 429 `sign_in_throttled`.
 */
export async function admitSignIn(server: Server, address: string, browser: Browser): Promise<void> {
  if (browser.isCrossSite) {
    throw forbidden('cross_site_refused', 'Signing in is only possible from this site itself.')
  }
  await throttle(server, address)
}

function ownerToken(authorization: string): string {
  const token = tokenOf(authorization)
  if (token) return token
  throw new ApiError(
    401,
    'owner_credentials_malformed',
    'The Authorization header must be Bearer, one space and one owner token.',
  )
}

const byToken =
  (token: string): Look =>
  async (db) => {
    const owner = await findOwner(db, token)
    if (owner) return owner
    throw forbidden('owner_token_unknown', 'This owner token is not known.')
  }

/** @throws ApiError 401 `owner_credentials_missing`. */
function bySession({ deps }: Server, { session }: Browser): Look {
  if (session === null) {
    throw new ApiError(
      401,
      'owner_credentials_missing',
      'Send your owner token in the header Authorization: Bearer <OWNER_TOKEN>, or sign in.',
    )
  }
  return async (db) => {
    const owner = await findBySession(deps, db, session)
    if (owner) return owner
    throw sessionExpired()
  }
}

export const sessionExpired = () => new ApiError(401, 'session_expired', 'The session has ended; sign in again.')

/** Guessing owner tokens is throttled as signing in is. */
async function refuseUnknown(server: Server, { address }: Visit, error: Error): Promise<never> {
  if (error instanceof ApiError && error.code === 'owner_token_unknown') await throttle(server, address)
  throw error
}

/** A cookie is sent by any page that makes the browser send it; the token only by pages of ours. */
export const isOwnForm = ({ deps }: Server, { session }: Owner, { csrfToken, isCrossSite }: Browser): boolean =>
  session !== undefined && !isCrossSite && isCsrfToken(deps, session, csrfToken)

async function throttle(server: Server, address: string): Promise<void> {
  const { exceeded, reset } = await server.limiter.consume(`sign-in:${address}`, SIGN_IN_LIMIT)
  if (!exceeded) return
  throw new ApiError(429, 'sign_in_throttled', `Too many attempts; try again in ${reset} seconds.`, {
    retryAfter: reset,
  })
}
