import { timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import {
  type Client,
  type Context,
  clockOf,
  type Deps,
  nowIso,
  type OwnerContext,
  systemClock,
} from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { createSecret, hashSecret, isWellFormed } from '../../core/secret.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { deleteRows, findRow, insertRow, updateRows } from '../../database/rows.ts'
import type { SessionRow, ShopRow, SignInMethod, UserRow } from '../../database/tables.ts'
import { findShop, findUserByToken } from './queries.ts'
import * as sessions from './sign-in-queries.ts'

export const SESSION_MS = 12 * 3_600_000
export const LINK_MS = 15 * 60_000

/** A user of a shop, with the request's session, if any. */
export interface Owner {
  user: UserRow
  shop: ShopRow
  /** Undefined for an owner token. */
  session: SessionRow | undefined
}

/** The dependencies of a sign-in. */
export type SignInDeps = Deps & { requestId: string; client: Client }

/** A new session, with its cookie's secret. */
export type NewSession = Owner & { session: SessionRow; secret: string }

/** The user with the owner token `ro_…`; undefined for an unknown token or a revoked user. */
export async function findOwner(db: Reader, token: string): Promise<Owner | undefined> {
  if (!isWellFormed('ro', token)) return undefined
  const tokenHash = hashSecret(token)
  const user = await findUserByToken(db, tokenHash)
  if (!user || !timingSafeEqual(Buffer.from(user.tokenHash, 'hex'), Buffer.from(tokenHash, 'hex'))) return undefined
  return withShop(db, user)
}

/** The user with a cookie's session; undefined when the session has ended. */
export async function findBySession(deps: Pick<Deps, 'now'>, db: Reader, secret: string): Promise<Owner | undefined> {
  if (!isWellFormed('rs', secret)) return undefined
  const owner = await sessions.findSession(db, hashSecret(secret))
  return owner && owner.session.expiresAt > nowIso(deps) && owner.user.revokedAt === null ? owner : undefined
}

/** The CSRF token of a session's forms. It is derived from the session, so it is not stored. */
export const csrfTokenOf = ({ vault }: Pick<Deps, 'vault'>, session: SessionRow): string =>
  vault.fingerprint(csrfSubject(session))

export const isCsrfToken = ({ vault }: Pick<Deps, 'vault'>, session: SessionRow, token: string | null): boolean =>
  token !== null && vault.hasFingerprint(token, csrfSubject(session))

/**
 * Creates a session for an owner token, or for a one-time link's token, which it deletes. The returned `secret` is
 * stored only in the cookie.
 *
 * @throws ApiError 401 `sign_in_refused`.
 */
export async function signIn(deps: SignInDeps, token: string): Promise<NewSession> {
  const isLink = isWellFormed('rl', token)
  const findSignedIn = async (db: Reader): Promise<Owner> => {
    const owner = isLink ? await findByLink(deps, db, token) : await findOwner(db, token)
    if (!owner) throw signInRejected()
    return owner
  }
  const { shop, user } = await findSignedIn(deps.db.read)
  const recheck = async (db: Reader) => (await findSignedIn(db)).shop
  const ctx: Context = { ...deps, ...clockOf(deps, shop), shop, actor: `user:${user.id}`, recheck }
  return mutate(ctx, async (trx) => {
    if (!isLink) return createSession(deps, trx, { user, shop }, 'token')
    const link = await sessions.findSignInLink(trx, hashSecret(token))
    if (!link || !(await deleteRows(trx, 'signInLinks', { shopId: shop.id, tokenHash: link.tokenHash })))
      throw signInRejected()
    return createSession(deps, trx, { user, shop }, 'link', link.createdBy)
  })
}

/** Inserts a session as part of a sign-in. `linkCreatedBy` is the user who created the link, possibly another one. */
export async function createSession(
  { random, newId, now, client }: SignInDeps,
  trx: Transaction,
  { user, shop }: Pick<Owner, 'user' | 'shop'>,
  method: SignInMethod,
  linkCreatedBy: string | null = null,
) {
  const createdAt = nowIso({ now })
  await sessions.deleteExpired(trx, shop.id, createdAt)
  const secret = createSecret('rs', random)
  const session: SessionRow = {
    tokenHash: hashSecret(secret),
    shopId: shop.id,
    userId: user.id,
    id: newId('ses'),
    method,
    linkCreatedBy,
    ...client,
    createdAt,
    expiresAt: new Date(now() + SESSION_MS).toISOString(),
  }
  await insertRow(trx, 'sessions', session)
  await updateRows(trx, 'users', { shopId: shop.id, id: user.id }, { lastSignInAt: createdAt })
  const data = { by: method, ...(linkCreatedBy && { linkCreatedBy }) }
  const audit = { action: 'session.created', subjectId: user.id, data }
  return { result: { user, shop, session, secret }, audit }
}

/** A session without its secret. */
export type ListedSession = Omit<SessionRow, 'tokenHash' | 'shopId' | 'userId'> & {
  /** Whether the request uses this session. */
  isCurrent: boolean
}

/** The calling user's sessions, newest first. */
export async function list(ctx: OwnerContext): Promise<ListedSession[]> {
  const rows = await sessions.listSessionsOf(ctx.db.read, ctx.shop.id, ctx.user.id)
  const now = nowIso(systemClock(ctx))
  return rows
    .filter(({ expiresAt }) => expiresAt > now)
    .map(({ tokenHash, shopId: _shop, userId: _user, ...rest }) => ({
      ...rest,
      isCurrent: tokenHash === ctx.session?.tokenHash,
    }))
}

/** Ends one of the calling user's sessions. Does nothing if it has ended. */
export async function end(ctx: OwnerContext, id: string): Promise<void> {
  await mutate(ctx, async (trx) => {
    const count = await deleteRows(trx, 'sessions', { shopId: ctx.shop.id, userId: ctx.user.id, id })
    return { result: undefined, audit: count ? { action: 'session.ended', subjectId: ctx.user.id } : null }
  })
}

/** Ends all of the calling user's sessions except the current one. Returns how many. */
export async function endOthers(ctx: OwnerContext): Promise<number> {
  return mutate(ctx, async (trx) => {
    const tokenHash = ctx.session?.tokenHash ?? ''
    const count = await sessions.deleteOtherSessions(trx, ctx.shop.id, { userId: ctx.user.id, keptHash: tokenHash })
    const audit = { action: 'sessions.ended', subjectId: ctx.user.id, data: { count } }
    return { result: count, audit: count ? audit : null }
  })
}

/** Ends the request's session, if it has one. */
export async function signOut(ctx: OwnerContext): Promise<components['schemas']['ActionReply']> {
  const result = { ok: true as const, message: 'You are signed out.' }
  const { session } = ctx
  if (!session) return result
  return mutate(ctx, async (trx) => {
    await deleteRows(trx, 'sessions', { shopId: ctx.shop.id, tokenHash: session.tokenHash })
    return { result, audit: { action: 'session.ended', subjectId: session.userId } }
  })
}

/** Creates a token that signs a user in once, within 15 minutes. */
export async function createSignInLink(ctx: Context, userId: string): Promise<string> {
  return mutate(ctx, async (trx) => {
    const token = createSecret('rl', ctx.random)
    const system = systemClock(ctx)
    await sessions.deleteExpired(trx, ctx.shop.id, nowIso(system))
    const expiresAt = new Date(system.now() + LINK_MS).toISOString()
    await insertRow(trx, 'signInLinks', {
      shopId: ctx.shop.id,
      tokenHash: hashSecret(token),
      userId,
      createdBy: ctx.actor,
      expiresAt,
    })
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

/** A user and the shop, unless the user is revoked. */
export const findActiveOwner = async (db: Reader, shopId: string, userId: string): Promise<Owner | undefined> =>
  withShop(db, await findRow(db, 'users', { shopId, id: userId }))

async function withShop(db: Reader, user: UserRow | undefined): Promise<Owner | undefined> {
  if (!user || user.revokedAt !== null) return undefined
  const shop = await findShop(db, user.shopId)
  return shop && { user, shop, session: undefined }
}

async function findByLink(deps: Pick<Deps, 'now'>, db: Reader, token: string): Promise<Owner | undefined> {
  const link = await sessions.findSignInLink(db, hashSecret(token))
  if (!link || link.expiresAt <= nowIso(deps)) return undefined
  return findActiveOwner(db, link.shopId, link.userId)
}

const csrfSubject = ({ tokenHash }: SessionRow) => `csrf:${tokenHash}`

const signInRejected = () =>
  new ApiError(
    401,
    'sign_in_refused',
    'This token or sign-in link is invalid or has expired. Ask an owner of your shop for a new one.',
  )
