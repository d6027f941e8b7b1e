import { timingSafeEqual } from 'node:crypto'
import { ApiError, apiDisabled, forbidden, rateLimited, shopSuspended, storageUnavailable } from '../contract/errors.ts'
import type { Operation } from '../contract/spec.ts'
import { clockOf, type Deps, type KeyContext, nowIso } from '../core/context.ts'
import { bestEffort } from '../core/log.ts'
import { hashSecret, isWellFormed } from '../core/secret.ts'
import type { Reader } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import { findKeyWithShop, type KeyWithShop, type UsedKey, updateLastUsed } from '../domains/accounts/queries.ts'
import { type AffiliateCaller, findAffiliateCaller, isAffiliateToken } from '../domains/affiliates/tokens.ts'
import { ADDRESS_LIMIT, type RateLimit, requestLimit } from './rate-limit.ts'
import type { RequestState, Server } from './server.ts'

/**
 * Authorizes an API key or an affiliate's token. Checks, in this order: kill switch, credential, suspension, plan, the
 * shop's switch, rate limit, scope.
 *
 * @throws ApiError 401, 403, 429 or 503.
 */
export async function authorizeKey(server: Server, op: Operation, request: RequestState): Promise<KeyContext> {
  const arrival = op.method === 'GET' ? undefined : { at: server.deps.now(), id: server.deps.newId('req') }
  if (!(await server.apiSwitch.isOn())) throw apiDisabled()
  const token = request.authorization && parseBearerToken(request.authorization)
  if (token && isAffiliateToken(token)) return authorizeAffiliate(server, op, request, token)
  const { caller, limit } = await identifyCaller(server, request)
  await countRequest(server, request, caller, { subject: rateLimitSubject(caller), limit })
  server.recordKeyUse(caller.key)
  requireScope(op, caller)
  const { key, shop } = caller
  const recheck = (db: Reader) => reauthorize(server.deps, db, { op, secretHash: caller.usedSecretHash })
  const { requestId, traceparent } = request
  const { scopes } = caller
  const clock = clockOf(server.deps, shop)
  return { ...server.deps, ...clock, shop, actor: `key:${key.id}`, requestId, arrival, traceparent, recheck, scopes }
}

/** Authorizes an affiliate's token, which can read only that affiliate's data. */
async function authorizeAffiliate(
  server: Server,
  op: Operation,
  request: RequestState,
  token: string,
): Promise<KeyContext> {
  const find = async (db: Reader) => {
    const caller = await findAffiliateCaller(server.deps, db, token)
    requirePlan(caller)
    return { ...caller, isApiOff: !(await server.apiSwitch.isOn()) }
  }
  const caller = await find(server.deps.db.read).catch((error) => rejectCaller(server, request, error))
  const { shop, affiliateId, scopes } = caller
  request.caller = { shopId: shop.id }
  await countRequest(server, request, caller, { subject: `affiliate:${affiliateId}`, limit: ADDRESS_LIMIT })
  requireAffiliateOperation(op, caller)
  const recheck = async (db: Reader) => {
    const again = await find(db)
    if (isApiDisabled(again)) throw apiDisabled()
    return again.shop
  }
  const { requestId, traceparent } = request
  const clock = clockOf(server.deps, shop)
  return {
    ...server.deps,
    ...clock,
    shop,
    actor: `affiliate:${affiliateId}`,
    requestId,
    traceparent,
    recheck,
    scopes,
    affiliateId,
  }
}

function requireAffiliateOperation(op: Operation, { scopes }: AffiliateCaller): void {
  // Operations without a scope accept every API key.
  if (op.scope === undefined) throw forbidden('key_unknown', 'This operation requires an API key.')
  if (op.affiliateParameter === undefined || !scopes.includes(op.scope))
    throw forbidden('scope_missing', 'This token of an affiliate cannot call this operation.')
}

/**
 * Adds the affiliate filter for an affiliate's token.
 *
 * @throws ApiError 403 `scope_missing` for another affiliate.
 */
export function limitToAffiliate<Query>(
  { affiliateParameter: name }: Operation,
  affiliateId: string,
  query: Query,
): Query {
  const requested = name && (query as Record<string, unknown>)[name]
  if (!name || (requested !== undefined && requested !== affiliateId))
    throw forbidden('scope_missing', 'This token of an affiliate cannot read other affiliates.')
  return { ...query, [name]: affiliateId }
}

/** Counts a request in its caller's window. @throws ApiError 429 or 503. */
async function countRequest(
  server: Server,
  request: RequestState,
  caller: Pick<Caller, 'isApiOff' | 'shop'>,
  { subject, limit }: { subject: string; limit: number },
): Promise<void> {
  if (isApiDisabled(caller)) {
    request.rateLimit = await server.limiter.peek(subject, limit)
    throw apiDisabled()
  }
  request.rateLimit = await server.limiter.consume(subject, limit)
  if (request.rateLimit.exceeded) throw rateLimited(request.rateLimit)
}

/** Repeats the checks in {@link authorizeKey} whose outcome can change while a request is open. */
async function reauthorize(
  deps: Deps,
  db: Reader,
  { op, secretHash }: { op: Operation; secretHash: string },
): Promise<ShopRow> {
  const caller = await findCaller(deps, db, secretHash)
  requirePlan(caller)
  if (isApiDisabled(caller)) throw apiDisabled()
  requireScope(op, caller)
  return caller.shop
}

const isApiDisabled = ({ isApiOff, shop }: Pick<Caller, 'isApiOff' | 'shop'>): boolean => isApiOff || !shop.apiEnabled

/** The requests per window for a caller whose shop is active and has a plan with API access. */
export function requirePlan({ shop }: Pick<Caller, 'shop'>): number {
  if (shop.suspendedAt !== null) throw shopSuspended()
  const limit = requestLimit(shop)
  if (limit === undefined)
    throw forbidden(
      'plan_required',
      'The plan of this shop does not include API access. Upgrade to the Professional plan.',
    )
  return limit
}

function requireScope(op: Operation, { scopes }: Caller): void {
  if (op.scope && !scopes.includes(op.scope)) {
    throw forbidden('scope_missing', `This API key lacks the scope ${op.scope}.`)
  }
}

/** Returns a caller whose plan has API access. Failed attempts are rate-limited by address. */
async function identifyCaller(server: Server, request: RequestState): Promise<{ caller: Caller; limit: number }> {
  try {
    const caller = await authenticateKey(server.deps, request.authorization)
    request.caller = { shopId: caller.shop.id, keyId: caller.key.id }
    return { caller, limit: requirePlan(caller) }
  } catch (error) {
    return rejectCaller(server, request, error)
  }
}

/** Counts a failed attempt by address. @throws ApiError 429, or the error. */
async function rejectCaller(server: Server, request: RequestState, error: unknown): Promise<never> {
  if (!(error instanceof ApiError) || error.status === 503) throw error
  request.rateLimit = await server.limiter.consume(`address:${request.address}`, ADDRESS_LIMIT)
  throw request.rateLimit.exceeded ? rateLimited(request.rateLimit) : error
}

/** A key's rate-limit subject. A rotated key keeps its ID, and so its window. */
const rateLimitSubject = ({ key }: Caller): string => `key:${key.limitSubject ?? key.id}`

/**
 * The window for the response headers if the request was not counted: the key's if it is valid, otherwise the
 * address's.
 */
export async function currentRateLimit(server: Server, request: RequestState): Promise<RateLimit> {
  if (request.rateLimit) return request.rateLimit
  if (request.authorization) {
    const caller = await authenticateKey(server.deps, request.authorization).catch(() => undefined)
    const limit = caller && requestLimit(caller.shop)
    if (caller && limit) return server.limiter.peek(rateLimitSubject(caller), limit)
  }
  return server.limiter.peek(`address:${request.address}`, ADDRESS_LIMIT)
}

export interface Caller extends KeyWithShop {
  scopes: string[]
  /** The hash of the request's secret: the current one, or the previous one during an overlap. */
  usedSecretHash: string
}

const LAST_USED_INTERVAL_MS = 60_000

/** Returns the token of `Authorization: Bearer <token>`, or undefined for any other value. */
export const parseBearerToken = (header: string): string | undefined => /^Bearer +(\S+)$/i.exec(header.trim())?.[1]

/** @throws ApiError 401 when the header is missing or malformed. */
function requireBearerToken(header: string | null): string {
  if (!header) {
    throw new ApiError(
      401,
      'credentials_missing',
      'The Authorization header is missing. Send Authorization: Bearer <API_KEY>.',
    )
  }
  const token = parseBearerToken(header)
  if (!token) {
    throw new ApiError(
      401,
      'credentials_malformed',
      'The Authorization header is malformed. Send Authorization: Bearer <API_KEY>.',
    )
  }
  return token
}

/**
 * Returns a request's key and shop. The key is found by its hash, which is then compared in constant time.
 *
 * @throws ApiError 401 without a token, 403 for a key that is unknown, revoked or expired, 503 when the database is
 * unavailable.
 */
async function authenticateKey(deps: Deps, header: string | null): Promise<Caller> {
  const token = requireBearerToken(header)
  if (!isWellFormed('rk', token)) throw keyUnknown()
  try {
    return await findCaller(deps, deps.db.read, hashSecret(token))
  } catch (error) {
    throw error instanceof ApiError ? error : storageUnavailable(error)
  }
}

/**
 * Returns the key and shop as `db` sees them: committed rows, or an open transaction's.
 *
 * @throws ApiError 403 for a key that is unknown, revoked or expired.
 */
export async function findCaller(deps: Pick<Deps, 'now'>, db: Reader, secretHash: string): Promise<Caller> {
  const keyAndShop = await findKeyWithShop(db, secretHash)
  if (!keyAndShop || !hasSecret(deps, keyAndShop.key, secretHash)) throw keyUnknown()
  const { revokedAt, expiresAt, scopes } = keyAndShop.key
  if (revokedAt !== null) throw forbidden('key_revoked', 'This API key was revoked. Create a new key.')
  if (expiresAt !== null && expiresAt <= nowIso(deps))
    throw forbidden('key_expired', 'This API key has expired. Create a new key.')
  return { ...keyAndShop, scopes: JSON.parse(scopes), usedSecretHash: secretHash }
}

/** Whether a digest matches the key's secret, or the previous one while both are valid. */
function hasSecret(deps: Pick<Deps, 'now'>, key: Caller['key'], secretHash: string): boolean {
  if (equalDigests(key.secretHash, secretHash)) return true
  const { previousSecretHash: previous, previousSecretUntil: until } = key
  return previous !== null && until !== null && equalDigests(previous, secretHash) && nowIso(deps) < until
}

const keyUnknown = () => forbidden('key_unknown', 'This API key does not exist.')

const equalDigests = (a: string, b: string) => timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'))

/**
 * Records when a key was last used, at most once a minute and without delaying the response. Keys used during a write
 * share the next one.
 */
export function createKeyUseRecorder(deps: Deps): (key: Caller['key']) => void {
  const notedAt = new Map<string, number>()
  let noted: UsedKey[] = []
  let isWriting = false
  const note = async () => {
    isWriting = true
    while (noted.length > 0) {
      // The order prevents deadlocks between processes.
      const keys = noted.sort((a, b) => (a.id < b.id ? -1 : 1))
      noted = []
      const write = () => deps.db.transact((trx) => updateLastUsed(trx, keys))
      await bestEffort(deps.log, 'last_used_update_failed', write)
    }
    isWriting = false
  }
  return ({ id, shopId, lastUsedAt }) => {
    const now = deps.now()
    const known = notedAt.get(id) ?? Date.parse(lastUsedAt ?? '1970-01-01T00:00:00.000Z')
    if (now - known < LAST_USED_INTERVAL_MS) return
    notedAt.set(id, now)
    noted.push({ shopId, id, lastUsedAt: new Date(now).toISOString() })
    if (!isWriting) void note()
  }
}
