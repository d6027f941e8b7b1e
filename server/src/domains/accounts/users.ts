import { concurrentChange, conflict, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, clockOf, type Deps, nowIso, systemClock } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { createSecret, hashSecret } from '../../core/secret.ts'
import { deleteRows, findRow, insertRow, updateRows } from '../../database/rows.ts'
import type { UserRow } from '../../database/tables.ts'
import { emailKey } from '../../engine/normalize.ts'
import { findUserByEmail, listTestShops, listUsers } from './queries.ts'
import { createSignInLink, LINK_MS } from './sessions.ts'

type User = components['schemas']['ShopUser']
type UserWithToken = components['schemas']['ShopUserWithToken']

/** A user of the shop, by ID or email address. */
type NamedUser = { id: string } | { email: string }

/** Every user of the shop, oldest first. */
export const list = async (ctx: Context): Promise<{ data: User[] }> => ({
  data: (await listUsers(ctx.db.read, ctx.shop.id)).map(toUser),
})

/** When users last signed in, by their ids. */
export const lastSignIns = async (ctx: Context): Promise<Map<string, string | null>> =>
  new Map((await listUsers(ctx.db.read, ctx.shop.id)).map(({ id, lastSignInAt }) => [id, lastSignInAt]))

/** Creates a user. The token is in the result only. @throws ApiError 409 `user_exists`. */
export async function create(
  ctx: Context,
  { email, role = 'OWNER' }: { email: string; role?: UserRow['role'] },
): Promise<UserWithToken> {
  return mutate(ctx, async (trx) => {
    if (await findUserByEmail(trx, ctx.shop.id, email))
      throw conflict('user_exists', 'The shop already has a user with this email address.', 'email')
    const { row, ownerToken } = newUser(ctx, { shopId: ctx.shop.id, email, role })
    await insertRow(trx, 'users', row)
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
 * Revokes a user: invalidates the owner token and the passkeys, and ends every session. The users with the same address in
 * the shop's test shops are revoked next, even if the user was revoked before, so that an interrupted call can be repeated.
 *
 * @throws ApiError 404 `user_not_found`, 409 `user_already_revoked`.
 */
export async function revoke(ctx: Context, named: NamedUser): Promise<{ userId: string }> {
  const user = await findNamedUser(ctx, named)
  const isRevoked = user.revokedAt !== null || !(await revokeOne(ctx, user))
  for await (const testShop of sameUserInTestShops(ctx, user)) await revokeOne(testShop.ctx, testShop.user)
  if (isRevoked) throw alreadyRevoked()
  return { userId: user.id }
}

/** Revokes a user of one shop. Returns whether this call did it. */
const revokeOne = (ctx: Context, user: UserRow): Promise<boolean> =>
  mutate(ctx, async (trx) => {
    const { id, shopId } = user
    const revoked = await updateRows(trx, 'users', { shopId, id, revokedAt: null }, { revokedAt: nowIso(ctx) })
    if (revoked === 0) return { result: false, audit: null }
    await deleteRows(trx, 'sessions', { shopId, userId: id })
    await deleteRows(trx, 'passkeys', { shopId, userId: id })
    return { result: true, audit: { action: 'user.revoked', subjectId: user.id } }
  })

/**
 * Replaces a user's owner token; the new one is in the result only. The old token, sessions, sign-in links and passkeys
 * of the user become invalid when the change commits, and next those of the same address in the shop's test shops.
 *
 * @throws ApiError 404 `user_not_found`, 409 `user_already_revoked` or `concurrent_change`.
 */
export async function replaceToken(ctx: Context, named: NamedUser): Promise<UserWithToken> {
  const user = await findActiveUser(ctx, named)
  const token = await replaceOne(ctx, user)
  // Who knows the old token may have created them. Nobody gets the new ones.
  for await (const testShop of sameUserInTestShops(ctx, user)) await replaceOne(testShop.ctx, testShop.user)
  return { ...toUser(user), token }
}

/** Replaces the token of a user of one shop. Returns the new one. */
const replaceOne = (ctx: Context, user: UserRow): Promise<string> =>
  mutate(ctx, async (trx) => {
    const token = createSecret('ro', ctx.random)
    const { id, shopId, tokenHash } = user
    const changes = { tokenHash: hashSecret(token) }
    const replaced = await updateRows(trx, 'users', { shopId, id, tokenHash, revokedAt: null }, changes)
    if (replaced === 0) throw concurrentChange()
    for (const table of ['sessions', 'signInLinks', 'passkeys'] as const)
      await deleteRows(trx, table, { shopId, userId: id })
    return { result: token, audit: { action: 'owner_token.replaced', subjectId: user.id } }
  })

/** The active users with the address of a user in the test shops of the shop, each with a context to change it. */
async function* sameUserInTestShops(ctx: Context, { email }: UserRow): AsyncGenerator<{ ctx: Context; user: UserRow }> {
  // The credential of the caller and its idempotency key are those of the other shop.
  const { recheck: _recheck, idempotency: _idempotency, ...rest } = ctx
  for (const shop of await listTestShops(ctx.db.read, ctx.shop.id)) {
    const user = await findUserByEmail(ctx.db.read, shop.id, email)
    if (user?.revokedAt === null) yield { ctx: { ...rest, ...clockOf(systemClock(ctx), shop), shop }, user }
  }
}

async function findNamedUser({ db, shop }: Context, named: NamedUser): Promise<UserRow> {
  const user = await ('id' in named
    ? findRow(db.read, 'users', { shopId: shop.id, id: named.id })
    : findUserByEmail(db.read, shop.id, named.email))
  if (!user) throw notFound('user_not_found', 'No user with this id exists in this shop.')
  return user
}

async function findActiveUser(ctx: Context, named: NamedUser): Promise<UserRow> {
  const user = await findNamedUser(ctx, named)
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
  const row = { ...known, challengeAt: null, lastSignInAt: null, createdAt: nowIso(deps), revokedAt: null }
  return { row, ownerToken }
}

export const toUser = ({ id, email, role, createdAt, revokedAt }: UserRow): User => ({
  id,
  email,
  role,
  createdAt,
  revokedAt,
})
