import { concurrentChange, conflict, notFound } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, type Deps, nowIso, systemClock } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { createSecret, hashSecret } from '../core/secret.ts'
import type { UserRow } from '../database/tables.ts'
import { emailKey } from '../engine/normalize.ts'
import {
  findUser,
  findUserByEmail,
  insertUser,
  listUsers,
  revokeUserIfActive,
  updateTokenIfUnchanged,
} from './queries.ts'
import { createSignInLink, LINK_MS } from './sessions.ts'
import { deletePasskeysOf, deleteSessionsOf, deleteSignInLinksOf } from './sign-in-queries.ts'

type User = components['schemas']['ShopUser']
type UserWithToken = components['schemas']['ShopUserWithToken']

/** A user of the shop, by id or email address. */
export type NamedUser = { id: string } | { email: string }

/** Every user of the shop, oldest first. */
export const list = async (ctx: Context): Promise<{ data: User[] }> => ({
  data: (await listUsers(ctx.db.read, ctx.shop.id)).map(toUser),
})

/** Creates a user. The token is in the result only. @throws ApiError 409 `user_exists`. */
export async function create(
  ctx: Context,
  { email, role = 'OWNER' }: { email: string; role?: UserRow['role'] },
): Promise<UserWithToken> {
  return mutate(ctx, async (trx) => {
    if (await findUserByEmail(trx, ctx.shop.id, email))
      throw conflict('user_exists', 'The shop already has a user with this email address.')
    const { row, ownerToken } = newUser(ctx, { shopId: ctx.shop.id, email, role })
    await insertUser(trx, ctx.shop.id, row)
    return {
      result: { ...toUser(row), token: ownerToken },
      audit: { action: 'user.created', subjectId: row.id, data: { role: row.role } },
    }
  })
}

/**
 * Creates a link that signs the user in once within 15 minutes: the path of its page.
 *
 * @throws ApiError 404 `user_not_found`, 409 `user_already_revoked`.
 */
export async function createLink(
  ctx: Context,
  named: NamedUser,
): Promise<{ userId: string; path: string; expiresAt: string }> {
  const user = await findActiveUser(ctx, named)
  const expiresAt = new Date(systemClock(ctx).now() + LINK_MS).toISOString()
  return { userId: user.id, path: `/admin/sign-in?token=${await createSignInLink(ctx, user.id)}`, expiresAt }
}

/**
 * Revokes a user: invalidates the owner token and the passkeys, and ends every session.
 *
 * @throws ApiError 404 `user_not_found`, 409 `user_already_revoked`.
 */
export async function revoke(ctx: Context, named: NamedUser): Promise<{ userId: string }> {
  const user = await findActiveUser(ctx, named)
  return mutate(ctx, async (trx) => {
    if (!(await revokeUserIfActive(trx, ctx.shop.id, user.id, nowIso(ctx)))) throw alreadyRevoked()
    await deleteSessionsOf(trx, ctx.shop.id, user.id)
    await deletePasskeysOf(trx, ctx.shop.id, user.id)
    return { result: { userId: user.id }, audit: { action: 'user.revoked', subjectId: user.id } }
  })
}

/**
 * Replaces a user's owner token; the new one is in the result only. The old token, sessions, sign-in links and passkeys
 * of the user become invalid when the change commits.
 *
 * @throws ApiError 404 `user_not_found`, 409 `user_already_revoked` or `concurrent_change`.
 */
export async function replaceToken(ctx: Context, named: NamedUser): Promise<UserWithToken> {
  const user = await findActiveUser(ctx, named)
  return mutate(ctx, async (trx) => {
    const token = createSecret('ro', ctx.random)
    if (!(await updateTokenIfUnchanged(trx, ctx.shop.id, user, hashSecret(token)))) throw concurrentChange()
    await deleteSessionsOf(trx, ctx.shop.id, user.id)
    await deleteSignInLinksOf(trx, ctx.shop.id, user.id)
    await deletePasskeysOf(trx, ctx.shop.id, user.id)
    return {
      result: { ...toUser(user), token },
      audit: { action: 'owner_token.replaced', subjectId: user.id },
    }
  })
}

async function findActiveUser({ db, shop }: Context, named: NamedUser): Promise<UserRow> {
  const user = await ('id' in named
    ? findUser(db.read, shop.id, named.id)
    : findUserByEmail(db.read, shop.id, named.email))
  if (!user) throw notFound('user_not_found', 'No user with this id exists in this shop.')
  if (user.revokedAt !== null) throw alreadyRevoked()
  return user
}

const alreadyRevoked = () => conflict('user_already_revoked', 'This user is revoked.')

/** A new user with a new token. */
export function newUser(
  deps: Pick<Deps, 'random' | 'newId' | 'now'>,
  { shopId, email, role }: Pick<UserRow, 'shopId' | 'email' | 'role'>,
): { row: UserRow; ownerToken: string } {
  const ownerToken = createSecret('ro', deps.random)
  const id = deps.newId('usr')
  const tokenHash = hashSecret(ownerToken)
  const known = { id, shopId, email, emailKey: emailKey(email), role, tokenHash }
  const row = { ...known, challengeAt: null, createdAt: nowIso(deps), revokedAt: null }
  return { row, ownerToken }
}

export const toUser = ({ id, email, role, createdAt, revokedAt }: UserRow): User => ({
  id,
  email,
  role,
  createdAt,
  revokedAt,
})
