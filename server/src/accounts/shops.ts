import { type Context, type Deps, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { createSecret, hashSecret } from '../core/secret.ts'
import type { ShopRow, UserRow } from '../database/tables.ts'
import { findShop, findUserByEmail, insertShop, insertUser, listShops, updateShopIfUnchanged } from './queries.ts'

export type Plan = ShopRow['plan']
const ALL_PLANS: Record<Plan, true> = { FREE: true, STARTER: true, GROWTH: true, PROFESSIONAL: true, ENTERPRISE: true }
export const PLANS = Object.keys(ALL_PLANS) as Plan[]

export const list = (deps: Deps): Promise<ShopRow[]> => listShops(deps.db.read)

/** What the operator does to a shop, audited as any other change. */
export async function operatorContext(deps: Deps, shopId: string): Promise<Context> {
  const shop = await findShop(deps.db.read, shopId)
  if (!shop) throw new Error(`There is no shop ${shopId}.`)
  return toOperatorContext(deps, shop)
}

const toOperatorContext = (deps: Deps, shop: ShopRow): Context => ({
  ...deps,
  shop,
  actor: 'operator',
  requestId: deps.newId('req'),
})

/** Creates a shop and its owner. The token is in the answer and nowhere else. */
export async function create(
  deps: Deps,
  wanted: { name: string; plan: Plan; currency: string; ownerEmail: string },
): Promise<{ shopId: string; ownerToken: string }> {
  if (!/^[A-Z]{3}$/.test(wanted.currency)) throw new Error('--currency must be three capital letters, like USD.')
  if (!wanted.name.trim()) throw new Error('--name must not be empty.')
  const shop = newShop(deps, wanted)
  const ctx = toOperatorContext(deps, shop)
  return mutate(ctx, async (trx) => {
    await insertShop(trx, shop)
    const { row, ownerToken } = newUser(deps, { shop: shop.id, email: wanted.ownerEmail, role: 'OWNER' })
    await insertUser(trx, row)
    return {
      result: { shopId: shop.id, ownerToken },
      audit: { action: 'shop.created', subjectId: shop.id, data: { plan: shop.plan } },
    }
  })
}

/** Changes the plan or the shop's own kill switch. */
export async function set(deps: Deps, shopId: string, wanted: { plan?: Plan; api?: 'on' | 'off' }): Promise<void> {
  const ctx = await operatorContext(deps, shopId)
  const changes: Partial<ShopRow> = {}
  if (wanted.plan) changes.plan = wanted.plan
  if (wanted.api) changes.apiEnabled = wanted.api === 'on' ? 1 : 0
  if (Object.keys(changes).length === 0) throw new Error('Say what to change: --plan or --api.')
  await mutate(ctx, async (trx) => {
    const claimed = await updateShopIfUnchanged(trx, ctx.shop, { ...changes, updatedAt: nowIso(deps) })
    if (!claimed) throw new Error('Somebody else changed the shop meanwhile; try again.')
    return { result: undefined, audit: { action: 'shop.updated', subjectId: shopId, data: { ...changes } } }
  })
}

/** Creates a user of a shop. The token is in the answer and nowhere else. */
export async function createUser(
  deps: Deps,
  wanted: { shop: string; email: string; role: UserRow['role'] },
): Promise<{ userId: string; ownerToken: string }> {
  const ctx = await operatorContext(deps, wanted.shop)
  if (await findUserByEmail(deps.db.read, wanted.shop, wanted.email)) {
    throw new Error(`The shop has a user with the e-mail address ${wanted.email} already.`)
  }
  return mutate(ctx, async (trx) => {
    const { row, ownerToken } = newUser(deps, wanted)
    await insertUser(trx, row)
    return {
      result: { userId: row.id, ownerToken },
      audit: { action: 'user.created', subjectId: row.id, data: { role: row.role } },
    }
  })
}

function newUser(deps: Deps, { shop, email, role }: { shop: string; email: string; role: UserRow['role'] }) {
  const ownerToken = createSecret('ro', deps.random)
  const row: UserRow = {
    id: deps.newId('usr'),
    shopId: shop,
    email,
    role,
    tokenHash: hashSecret(ownerToken),
    createdAt: nowIso(deps),
    revokedAt: null,
  }
  return { row, ownerToken }
}

function newShop(deps: Deps, { name, plan, currency }: { name: string; plan: Plan; currency: string }): ShopRow {
  const createdAt = nowIso(deps)
  return {
    id: deps.newId('shp'),
    name: name.trim(),
    plan,
    currency,
    apiEnabled: 1,
    defaultProgramId: null,
    minimumPayoutCents: null,
    minimumPayoutCentsByCurrency: '{}',
    legacyMinimumPayout: null,
    taxWithholdingBps: 0,
    attributionPrecedence: JSON.stringify(['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT']),
    clickTouch: 'LAST',
    storeWebhookSecret: null,
    storeDomain: null,
    storeDomainAliases: '[]',
    webhooksVersion: 1,
    version: 1,
    createdAt,
    updatedAt: createdAt,
  }
}
