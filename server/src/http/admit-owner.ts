import type { Context } from '../context.ts'
import { ApiError, forbidden, rateLimited } from '../errors.ts'
import { findBySession, findOwner, isCsrfToken, type Owner } from '../services/sessions.ts'
import type { Visit } from './admit.ts'
import { tokenOf } from './authenticate.ts'
import type { Browser } from './browser.ts'
import type { Server } from './server.ts'
import type { Operation } from './spec.ts'

/** Attempts to sign in, and unknown owner tokens, per client address and minute. */
export const SIGN_IN_LIMIT = 10
/** Requests per window of one user, pages and forms included: ten a second for as long as they like. */
export const OWNER_LIMIT = 600

/**
 * Lets a user of a shop in, with an owner token or a session, in the order: credential, rate limit, role, CSRF token.
 *
 * @throws ApiError 401, 403 or 429.
 */
export async function admitOwner(server: Server, op: Operation, visit: Visit, browser: Browser): Promise<Context> {
  const owner = visit.authorization ? await byToken(server, visit) : await bySession(server, browser)
  await countOwner(server, owner)
  if (!op.roles.includes(owner.user.role)) throw forbidden('role_missing', 'Only an OWNER may do this.')
  if (owner.session && op.method !== 'GET' && !isOwnForm(server, owner, browser)) {
    throw forbidden('csrf_token_invalid', 'Send the CSRF token of your session in the header X-CSRF-Token.')
  }
  return ownerContext(server, owner, { requestId: visit.requestId, isHttps: browser.isHttps })
}

/** Counts a request of a user. @throws ApiError 429 `rate_limited`. */
export async function countOwner({ limiter }: Pick<Server, 'limiter'>, { user }: Owner): Promise<void> {
  const window = await limiter.consume(`user:${user.id}`, OWNER_LIMIT)
  if (window.exceeded) throw rateLimited(window)
}

/** The context of a call that a user of a shop makes. */
export const ownerContext = (
  { deps }: Pick<Server, 'deps'>,
  { user, shop, session }: Owner,
  visit: { requestId: string; isHttps: boolean },
): Context => ({ ...deps, ...visit, shop, user, ...(session && { session }), actor: `user:${user.id}` })

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

async function byToken(server: Server, { authorization, address }: Visit): Promise<Owner> {
  const token = tokenOf(authorization ?? '')
  if (!token) {
    throw new ApiError(
      401,
      'owner_credentials_malformed',
      'The Authorization header must be Bearer, one space and one owner token.',
    )
  }
  const owner = await findOwner(server.deps, token)
  if (owner) return owner
  await throttle(server, address)
  throw forbidden('owner_token_unknown', 'This owner token is not known.')
}

async function bySession(server: Server, browser: Browser): Promise<Owner> {
  if (browser.session === null) {
    throw new ApiError(
      401,
      'owner_credentials_missing',
      'Send your owner token in the header Authorization: Bearer <OWNER_TOKEN>, or sign in.',
    )
  }
  const owner = await findBySession(server.deps, browser.session)
  if (owner) return owner
  throw new ApiError(401, 'session_expired', 'The session has ended; sign in again.')
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
