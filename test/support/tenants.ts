import type { Deps } from '../../server/src/core/context.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import * as users from '../../server/src/domains/accounts/users.ts'

// What the operator does, by shop and email address.

export interface Named {
  shop: string
  email: string
}

export async function createShop(deps: Deps, input: shops.NewShop): Promise<{ shopId: string; ownerToken: string }> {
  const { shop, owner } = await shops.create(deps, input)
  return { shopId: shop.id, ownerToken: owner.token }
}

export async function createUser(
  deps: Deps,
  { shop, ...user }: Named & { role: 'OWNER' | 'STAFF' },
): Promise<{ userId: string; ownerToken: string }> {
  const { id, token } = await users.create(await shops.operatorContext(deps, shop), user)
  return { userId: id, ownerToken: token }
}

/** The token of a sign-in link. */
export async function createLink(deps: Deps, { shop, email }: Named): Promise<{ userId: string; token: string }> {
  const { userId, path } = await users.createLink(await shops.operatorContext(deps, shop), { email })
  return { userId, token: new URLSearchParams(path.split('?')[1]).get('token') ?? '' }
}

export const revokeUser = async (deps: Deps, { shop, email }: Named): Promise<{ userId: string }> =>
  users.revoke(await shops.operatorContext(deps, shop), { email })

export async function replaceToken(
  deps: Deps,
  { shop, email }: Named,
): Promise<{ userId: string; ownerToken: string }> {
  const { id, token } = await users.replaceToken(await shops.operatorContext(deps, shop), { email })
  return { userId: id, ownerToken: token }
}
