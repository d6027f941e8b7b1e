import { type Context, type Deps, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { createSecret, hashSecret } from '../core/secret.ts'
import type { UserRow } from '../database/tables.ts'
import {
  deleteSessionsOf,
  deleteSignInLinksOf,
  findUserByEmail,
  revokeUserIfActive,
  updateTokenIfUnchanged,
} from './queries.ts'
import { createSignInLink } from './sessions.ts'
import { operatorContext } from './shops.ts'

/** A user of a shop, by email address. */
export interface NamedUser {
  shop: string
  email: string
}

/** Creates a token that signs the user in once within 15 minutes. */
export async function createLink(deps: Deps, named: NamedUser): Promise<{ userId: string; token: string }> {
  const { ctx, user } = await findActiveUser(deps, named)
  return { userId: user.id, token: await createSignInLink(ctx, user.id) }
}

/** Revokes a user: invalidates the owner token and ends every session. */
export async function revoke(deps: Deps, named: NamedUser): Promise<{ userId: string }> {
  const { ctx, user } = await findActiveUser(deps, named)
  return mutate(ctx, async (trx) => {
    const revokedAt = nowIso(deps)
    if (!(await revokeUserIfActive(trx, ctx.shop.id, user.id, revokedAt)))
      throw new Error('This user is already revoked.')
    await deleteSessionsOf(trx, ctx.shop.id, user.id)
    return { result: { userId: user.id }, audit: { action: 'user.revoked', subjectId: user.id } }
  })
}

/**
 * Replaces a user's owner token; the new one is in the result only. The old token, sessions and sign-in links of the user
 * become invalid when the change commits.
 */
export async function replaceToken(deps: Deps, named: NamedUser): Promise<{ userId: string; ownerToken: string }> {
  const { ctx, user } = await findActiveUser(deps, named)
  return mutate(ctx, async (trx) => {
    const ownerToken = createSecret('ro', deps.random)
    if (!(await updateTokenIfUnchanged(trx, ctx.shop.id, user, hashSecret(ownerToken)))) {
      throw new Error('Another command changed this user. Retry.')
    }
    await deleteSessionsOf(trx, ctx.shop.id, user.id)
    await deleteSignInLinksOf(trx, ctx.shop.id, user.id)
    return {
      result: { userId: user.id, ownerToken },
      audit: { action: 'owner_token.replaced', subjectId: user.id },
    }
  })
}

async function findActiveUser(deps: Deps, { shop, email }: NamedUser): Promise<{ ctx: Context; user: UserRow }> {
  const ctx = await operatorContext(deps, shop)
  const user = await findUserByEmail(deps.db.read, shop, email)
  if (!user) throw new Error(`Shop ${shop} has no user ${email}.`)
  if (user.revokedAt !== null) throw new Error(`User ${email} is revoked.`)
  return { ctx, user }
}
