import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { ApiError, forbidden, rateLimited, shopSuspended } from '../contract/errors.ts'
import type { Operation } from '../contract/spec.ts'
import { clockOf, type OwnerContext } from '../core/context.ts'
import type { Reader } from '../database/database.ts'
import type { UserRow } from '../database/tables.ts'
import { findBySession, findOwner, isCsrfToken, type Owner, SESSION_MS } from '../domains/accounts/sessions.ts'
import { parseBearerToken } from './authorize-key.ts'
import type { RequestState, Server } from './server.ts'

/** Sign-in attempts and unknown owner tokens per client address and window. */
const SIGN_IN_LIMIT = 10
/** Requests per user and window, including pages and forms: ten per second. */
const OWNER_LIMIT = 600

/**
 * Authorizes a user by owner token or session. Checks, in this order: credential, rate limit, role, CSRF token, suspension.
 *
 * @throws ApiError 401, 403 or 429.
 */
export async function authorizeOwner(
  server: Server,
  op: Operation,
  request: RequestState,
  browser: BrowserRequest,
): Promise<OwnerContext> {
  const token = request.authorization === null ? undefined : ownerToken(request.authorization)
  const find: FindOwner = token ? byToken(token) : bySession(server, browser)
  const owner = await find(server.deps.db.read).catch((error) => rejectUnknown(server, request, error))
  request.caller = { shopId: owner.shop.id, userId: owner.user.id }
  await limitOwner(server, owner)
  requireRole(op, owner)
  if (owner.session && op.method !== 'GET' && !isSameSiteWithCsrfToken(server, owner, browser)) {
    throw forbidden(
      'csrf_token_invalid',
      'The CSRF token is missing or invalid. Send the token of your session in the header X-CSRF-Token.',
    )
  }
  const isAllowedWhileSuspended = op.method === 'GET' || op.id === 'deleteSession'
  requireActive({ isAllowedWhileSuspended }, owner)
  return ownerContext(server, owner, {
    requestId: request.requestId,
    traceparent: request.traceparent,
    isHttps: browser.isHttps,
    find,
    roles: op.roles,
    isAllowedWhileSuspended,
  })
}

/** Finds the user who calls, in committed rows or an open transaction. @throws ApiError 401 or 403. */
type FindOwner = (db: Reader) => Promise<Owner>

interface OwnerContextOptions {
  requestId: string
  traceparent?: string | undefined
  isHttps: boolean
  find: FindOwner
  roles: readonly UserRow['role'][]
  /** Users of a suspended shop can read and sign out. */
  isAllowedWhileSuspended: boolean
}

/** Counts a request of a user. @throws ApiError 429 `rate_limited`. */
export async function limitOwner({ limiter }: Pick<Server, 'limiter'>, { user }: Owner): Promise<void> {
  const window = await limiter.consume(`user:${user.id}`, OWNER_LIMIT)
  if (window.exceeded) throw rateLimited(window)
}

/** The context of a request by a user of a shop. */
export function ownerContext(
  { deps }: Pick<Server, 'deps'>,
  { user, shop, session }: Owner,
  { find, roles, isAllowedWhileSuspended, ...request }: OwnerContextOptions,
): OwnerContext {
  const recheck = async (db: Reader) => {
    const owner = await find(db)
    requireRole({ roles }, owner)
    requireActive({ isAllowedWhileSuspended }, owner)
    return owner.shop
  }
  return { ...deps, ...clockOf(deps, shop), ...request, shop, user, session, actor: `user:${user.id}`, recheck }
}

/** @throws ApiError 403 `role_missing`. */
export function requireRole({ roles }: Pick<OwnerContextOptions, 'roles'>, { user }: Owner): void {
  if (!roles.includes(user.role)) throw forbidden('role_missing', 'This operation requires the role OWNER.')
}

/** @throws ApiError 403 `shop_suspended`. */
export function requireActive(
  { isAllowedWhileSuspended }: Pick<OwnerContextOptions, 'isAllowedWhileSuspended'>,
  { shop }: Owner,
): void {
  if (shop.suspendedAt !== null && !isAllowedWhileSuspended) throw shopSuspended()
}

/**
 * Counts a sign-in attempt, successful or not. Rejects cross-site requests, which could sign a visitor in to another
 * account (login CSRF).
 *
 * @throws ApiError 403 `cross_site_refused`, 429 `sign_in_throttled`.
 */
export async function authorizeSignIn(server: Server, address: string, browser: BrowserRequest): Promise<void> {
  if (browser.isCrossSite) {
    throw forbidden('cross_site_refused', 'Cross-site sign-in is not allowed. Sign in on a page of this server.')
  }
  await limitSignInAttempts(server, address)
}

function ownerToken(authorization: string): string {
  const token = parseBearerToken(authorization)
  if (token) return token
  throw new ApiError(
    401,
    'owner_credentials_malformed',
    'The Authorization header is malformed. Send Authorization: Bearer <OWNER_TOKEN>.',
  )
}

const byToken =
  (token: string): FindOwner =>
  async (db) => {
    const owner = await findOwner(db, token)
    if (owner) return owner
    throw forbidden('owner_token_unknown', 'This owner token does not exist.')
  }

/** @throws ApiError 401 `owner_credentials_missing`. */
function bySession({ deps }: Server, { session }: BrowserRequest): FindOwner {
  if (session === null) {
    throw new ApiError(
      401,
      'owner_credentials_missing',
      'The request has neither an owner token nor a session. Send Authorization: Bearer <OWNER_TOKEN>, or sign in.',
    )
  }
  return async (db) => {
    const owner = await findBySession(deps, db, session)
    if (owner) return owner
    throw sessionExpired()
  }
}

export const sessionExpired = () => new ApiError(401, 'session_expired', 'The session has expired. Sign in again.')

/** Unknown owner tokens share the limit of sign-in attempts. */
async function rejectUnknown(server: Server, { address }: RequestState, error: Error): Promise<never> {
  if (error instanceof ApiError && error.code === 'owner_token_unknown') await limitSignInAttempts(server, address)
  throw error
}

/** Browsers attach the cookie to cross-site requests too, so a session also needs its CSRF token. */
export const isSameSiteWithCsrfToken = (
  { deps }: Server,
  { session }: Owner,
  { csrfToken, isCrossSite }: BrowserRequest,
): boolean => session !== undefined && !isCrossSite && isCsrfToken(deps, session, csrfToken)

async function limitSignInAttempts(server: Server, address: string): Promise<void> {
  const { exceeded, reset } = await server.limiter.consume(`sign-in:${address}`, SIGN_IN_LIMIT)
  if (!exceeded) return
  throw new ApiError(429, 'sign_in_throttled', `Too many sign-in attempts. Retry in ${reset} seconds.`, {
    retryAfter: reset,
  })
}

const SESSION_COOKIE = 'referral_session'

/** What a browser sends with a request: its session, its CSRF token and where the request comes from. */
export interface BrowserRequest {
  session: string | null
  csrfToken: string | null
  /** Sent by a page of another site. */
  isCrossSite: boolean
  /** Whether cookies are set for https only. */
  isHttps: boolean
  /** The server's address as the caller sees it, without a path. */
  origin: string
}

/** A server whose public URL is https is reached over https, also behind a proxy that it was not told to trust. */
export function browserRequestOf(
  c: Context,
  { trustProxy, publicUrl }: Pick<Server['deps']['config'], 'trustProxy' | 'publicUrl'>,
): BrowserRequest {
  const url = new URL(c.req.url)
  const forwarded = trustProxy > 0 ? c.req.header('X-Forwarded-Proto')?.split(',').at(-trustProxy)?.trim() : undefined
  const isHttps = publicUrl?.startsWith('https:') === true || (forwarded ?? url.protocol.replace(':', '')) === 'https'
  return {
    session: getCookie(c, SESSION_COOKIE) ?? null,
    csrfToken: c.req.header('X-CSRF-Token') ?? null,
    isCrossSite: isCrossSite(c, url),
    isHttps,
    origin: publicUrl?.replace(/\/$/, '') ?? `${isHttps ? 'https' : 'http'}://${url.host}`,
  }
}

/** Browsers send `Sec-Fetch-Site`, older ones only `Origin`, and other clients neither. */
function isCrossSite(c: Context, url: URL): boolean {
  const site = c.req.header('Sec-Fetch-Site')
  if (site) return site !== 'same-origin' && site !== 'none'
  const origin = c.req.header('Origin')
  if (!origin) return false
  return !URL.canParse(origin) || new URL(origin).host !== (c.req.header('Host') ?? url.host)
}

/** The `Set-Cookie` value that starts a session, or ends it for null. The cookie is limited to `/admin`. */
export function sessionCookie(secret: string | null, isHttps: boolean): string {
  const age = secret === null ? 0 : SESSION_MS / 1000
  const secure = isHttps ? '; Secure' : ''
  return `${SESSION_COOKIE}=${secret ?? ''}; Path=/admin; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`
}
