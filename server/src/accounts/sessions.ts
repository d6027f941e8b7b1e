import { timingSafeEqual } from 'node:crypto'
import { ApiError } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, type Deps, nowIso, type OwnerContext } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { createSecret, hashSecret, isWellFormed } from '../core/secret.ts'
import type { Reader } from '../database/database.ts'
import type { SessionRow, ShopRow, UserRow } from '../database/tables.ts'
import * as sessions from './queries.ts'
import { findShop, findUser, findUserByToken } from './queries.ts'

export const SESSION_MS = 12 * 3_600_000
export const LINK_MS = 15 * 60_000

/** A user of a shop, with the session of the request, if any. */
export interface Owner {
  user: UserRow
  shop: ShopRow
  /** Undefined for an owner token. */
  session: SessionRow | undefined
}

/** The user with the owner token `ro_…`; undefined for an unknown token or a revoked user. */
export async function findOwner(db: Reader, token: string): Promise<Owner | undefined> {
  if (!isWellFormed('ro', token)) return undefined
  const tokenHash = hashSecret(token)
  const user = await findUserByToken(db, tokenHash)
  if (!user || !timingSafeEqual(Buffer.from(user.tokenHash, 'hex'), Buffer.from(tokenHash, 'hex'))) return undefined
  return withShop(db, user)
}

/** The user with the session of a cookie; undefined when the session has ended. */
export async function findBySession(deps: Pick<Deps, 'now'>, db: Reader, secret: string): Promise<Owner | undefined> {
  if (!isWellFormed('rs', secret)) return undefined
  const session = await sessions.findSession(db, hashSecret(secret))
  if (!session || session.expiresAt <= nowIso(deps)) return undefined
  const owner = await withShop(db, await findUser(db, session.shopId, session.userId))
  return owner && { ...owner, session }
}

/** The CSRF token of a session's forms. It is derived from the session, so it is not stored. */
export const csrfTokenOf = ({ vault }: Pick<Deps, 'vault'>, session: SessionRow): string =>
  vault.fingerprint(csrfSubject(session))

export const isCsrfToken = ({ vault }: Pick<Deps, 'vault'>, session: SessionRow, token: string | null): boolean =>
  token !== null && vault.hasFingerprint(token, csrfSubject(session))

/**
 * Creates a session for an owner token, or for the token of a one-time link, which is deleted. The returned `secret` is
 * stored in the cookie only.
 *
 * @throws ApiError 401 `sign_in_refused`.
 */
export async function signIn(
  deps: Deps & { requestId: string },
  token: string,
): Promise<Owner & { session: SessionRow; secret: string }> {
  const isLink = isWellFormed('rl', token)
  const findSignedIn = async (db: Reader): Promise<Owner> => {
    const owner = isLink ? await findByLink(deps, db, token) : await findOwner(db, token)
    if (!owner) throw signInRejected()
    return owner
  }
  const { shop, user } = await findSignedIn(deps.db.read)
  const recheck = async (db: Reader) => (await findSignedIn(db)).shop
  const ctx: Context = { ...deps, shop, actor: `user:${user.id}`, recheck }
  return mutate(ctx, async (trx) => {
    if (isLink && !(await sessions.deleteSignInLink(trx, shop.id, hashSecret(token)))) throw signInRejected()
    const createdAt = nowIso(deps)
    await sessions.deleteExpired(trx, shop.id, createdAt)
    const secret = createSecret('rs', deps.random)
    const expiresAt = new Date(deps.now() + SESSION_MS).toISOString()
    const session = { tokenHash: hashSecret(secret), shopId: shop.id, userId: user.id, createdAt, expiresAt }
    await sessions.insertSession(trx, shop.id, session)
    const audit = { action: 'session.created', subjectId: user.id, data: { by: isLink ? 'link' : 'token' } }
    return { result: { user, shop, session, secret }, audit }
  })
}

/** Ends the session of the request, if it has one. */
export async function signOut(ctx: OwnerContext): Promise<components['schemas']['ActionReply']> {
  const result = { ok: true as const, message: 'You are signed out.' }
  const { session } = ctx
  if (!session) return result
  return mutate(ctx, async (trx) => {
    await sessions.deleteSession(trx, ctx.shop.id, session.tokenHash)
    return { result, audit: { action: 'session.ended', subjectId: session.userId } }
  })
}

/** Creates a token that signs a user in once within 15 minutes. */
export async function createSignInLink(ctx: Context, userId: string): Promise<string> {
  return mutate(ctx, async (trx) => {
    const token = createSecret('rl', ctx.random)
    await sessions.deleteExpired(trx, ctx.shop.id, nowIso(ctx))
    const expiresAt = new Date(ctx.now() + LINK_MS).toISOString()
    await sessions.insertSignInLink(trx, ctx.shop.id, { tokenHash: hashSecret(token), userId, expiresAt })
    return { result: token, audit: { action: 'sign_in_link.created', subjectId: userId } }
  })
}

/** The signed-in user as in openapi.yaml. */
export function toSession(
  deps: Pick<Deps, 'vault'>,
  { user, shop, session }: Owner,
): components['schemas']['SessionReply'] {
  return {
    data: {
      user: { id: user.id, email: user.email, role: user.role },
      shop: { id: shop.id, name: shop.name, plan: shop.plan, currency: shop.currency, timeZone: shop.timeZone },
      csrfToken: session ? csrfTokenOf(deps, session) : null,
      expiresAt: session?.expiresAt ?? null,
    },
  }
}

async function withShop(db: Reader, user: UserRow | undefined): Promise<Owner | undefined> {
  if (!user || user.revokedAt !== null) return undefined
  const shop = await findShop(db, user.shopId)
  return shop && { user, shop, session: undefined }
}

async function findByLink(deps: Pick<Deps, 'now'>, db: Reader, token: string): Promise<Owner | undefined> {
  const link = await sessions.findSignInLink(db, hashSecret(token))
  if (!link || link.expiresAt <= nowIso(deps)) return undefined
  return withShop(db, await findUser(db, link.shopId, link.userId))
}

const csrfSubject = ({ tokenHash }: SessionRow) => `csrf:${tokenHash}`

const signInRejected = () =>
  new ApiError(401, 'sign_in_refused', 'This owner token or sign-in link is invalid or has expired. Request a new one.')
