import { concurrentChange, invalidBody } from '../contract/errors.ts'
import { type Context, type Deps, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { createSecret, hashSecret } from '../core/secret.ts'
import type { ShopRow, UserRow } from '../database/tables.ts'
import { findShop, findUserByEmail, insertShop, insertUser, listShops, updateShopIfUnchanged } from './queries.ts'

export type Plan = ShopRow['plan']
const ALL_PLANS: Record<Plan, true> = { FREE: true, STARTER: true, GROWTH: true, PROFESSIONAL: true, ENTERPRISE: true }
export const PLANS = Object.keys(ALL_PLANS) as Plan[]

/** Whether a text is an ISO 4217 code, such as USD. */
export const isCurrency = (text: string): boolean => /^[A-Z]{3}$/.test(text)

export const list = (deps: Deps): Promise<ShopRow[]> => listShops(deps.db.read)

/** The context of an operator command, so that its changes are audited like all others. */
export async function operatorContext(deps: Deps, shopId: string): Promise<Context> {
  const shop = await findShop(deps.db.read, shopId)
  if (!shop) throw new Error(`Shop ${shopId} does not exist.`)
  return toOperatorContext(deps, shop)
}

const toOperatorContext = (deps: Deps, shop: ShopRow): Context => ({
  ...deps,
  shop,
  actor: 'operator',
  requestId: deps.newId('req'),
})

/** Creates a shop and its owner. The token is in the result only. */
export async function create(
  deps: Deps,
  input: { name: string; plan: Plan; currency: string; ownerEmail: string },
): Promise<{ shopId: string; ownerToken: string }> {
  if (!isCurrency(input.currency)) throw invalidBody('currency must be three capital letters, like USD.')
  if (!input.name.trim()) throw invalidBody('name must not be blank.')
  const shop = newShop(deps, input)
  const ctx = toOperatorContext(deps, shop)
  return mutate(ctx, async (trx) => {
    await insertShop(trx, shop)
    const { row, ownerToken } = newUser(deps, { shop: shop.id, email: input.ownerEmail, role: 'OWNER' })
    await insertUser(trx, shop.id, row)
    return {
      result: { shopId: shop.id, ownerToken },
      audit: { action: 'shop.created', subjectId: shop.id, data: { plan: shop.plan } },
    }
  })
}

/** Changes the plan or the shop's own API switch. */
export async function set(deps: Deps, shopId: string, input: { plan?: Plan; api?: 'on' | 'off' }): Promise<void> {
  const ctx = await operatorContext(deps, shopId)
  const changes: Partial<ShopRow> = {}
  if (input.plan) changes.plan = input.plan
  if (input.api) changes.apiEnabled = input.api === 'on' ? 1 : 0
  await mutate(ctx, async (trx) => {
    const updated = await updateShopIfUnchanged(trx, ctx.shop, { ...changes, updatedAt: nowIso(deps) })
    if (!updated) throw concurrentChange()
    return { result: undefined, audit: { action: 'shop.updated', subjectId: shopId, data: { ...changes } } }
  })
}

/** Creates a user of a shop. The token is in the result only. */
export async function createUser(
  deps: Deps,
  input: { shop: string; email: string; role: UserRow['role'] },
): Promise<{ userId: string; ownerToken: string }> {
  const ctx = await operatorContext(deps, input.shop)
  if (await findUserByEmail(deps.db.read, input.shop, input.email)) {
    throw new Error(`The shop already has a user with the email address ${input.email}.`)
  }
  return mutate(ctx, async (trx) => {
    const { row, ownerToken } = newUser(deps, input)
    await insertUser(trx, ctx.shop.id, row)
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
    requestsPerMinute: null,
    maxActiveKeys: null,
    suspendedAt: null,
    deletionStartedAt: null,
    exportDigest: null,
    version: 1,
    createdAt,
    updatedAt: createdAt,
  }
}
