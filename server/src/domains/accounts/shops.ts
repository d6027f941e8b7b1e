import { concurrentChange, conflict, invalidField, shopNotFound } from '../../contract/errors.ts'
import { isCurrency } from '../../contract/is-currency.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import { type Context, clockOf, type Deps, nowIso, type Operator } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { mapPage, type Page } from '../../core/pagination.ts'
import { timeZoneName } from '../../core/time-zone.ts'
import { insertRow, updateIfUnchanged } from '../../database/rows.ts'
import type { ShopRow } from '../../database/tables.ts'
import { findShop, listShops, pageOfShops, updateTestShops } from './queries.ts'
import { newUser, toUser } from './users.ts'

export type Plan = ShopRow['plan']
const ALL_PLANS: Record<Plan, true> = { FREE: true, STARTER: true, GROWTH: true, PROFESSIONAL: true, ENTERPRISE: true }
export const PLANS = Object.keys(ALL_PLANS) as Plan[]

export type Shop = components['schemas']['Shop']

/** Every shop, oldest first. */
export const list = async (operator: Operator): Promise<Shop[]> => (await listShops(operator.db.read)).map(toShop)

/** A page of shops, oldest first. */
export const listPage = async (operator: Operator, query: Query<'listShops'>): Promise<Page<Shop>> =>
  mapPage(await pageOfShops(operator.db.read, query), toShop)

/** @throws ApiError 404 `shop_not_found`. */
export const read = async (operator: Operator, shopId: string): Promise<Shop> =>
  toShop((await operatorContext(operator, shopId)).shop)

/**
 * A context for the operator to act on a shop. Changes are audited like all others.
 *
 * @throws ApiError 404 `shop_not_found`.
 */
export async function operatorContext(operator: Operator, shopId: string): Promise<Context> {
  const shop = await findShop(operator.db.read, shopId)
  if (!shop) throw shopNotFound()
  return toShopContext(operator, shop)
}

const toShopContext = (operator: Operator, shop: ShopRow): Context => ({
  ...operator,
  ...clockOf(operator, shop),
  shop,
  actor: 'operator',
  requestId: operator.requestId ?? operator.newId('req'),
})

export interface NewShop {
  name: string
  plan?: Plan
  currency?: string
  timeZone?: string
  ownerEmail?: string
  /** Creates a test shop, which has its own clock. */
  test?: boolean
}

/** Creates a shop and its owner. Only the result contains the token. */
export async function create(
  operator: Operator,
  {
    name,
    plan = 'PROFESSIONAL',
    currency = 'USD',
    timeZone = 'UTC',
    ownerEmail = 'owner@localhost',
    test = false,
  }: NewShop,
): Promise<components['schemas']['ShopCreatedReply']['data']> {
  if (!isCurrency(currency)) throw invalidField('invalid_body', 'currency', 'must be an ISO 4217 currency, like USD.')
  const named = { name: checkName(name), plan, currency, isTest: test ? 1 : 0, testOf: null } as const
  const shop = { ...newShop(operator, named), timeZone: toTimeZone(timeZone) }
  return mutate(toShopContext(operator, shop), async (trx) => {
    await insertRow(trx, 'shops', shop)
    const { row, ownerToken } = newUser(operator, { shopId: shop.id, email: ownerEmail, role: 'OWNER' })
    await insertRow(trx, 'users', row)
    return {
      result: { shop: toShop(shop), owner: { ...toUser(row), token: ownerToken } },
      audit: { action: 'shop.created', subjectId: shop.id, data: { plan: shop.plan } },
    }
  })
}

/** @throws ApiError 400 `invalid_body`. */
export function toTimeZone(text: string): string {
  const name = timeZoneName(text)
  if (!name) throw invalidField('invalid_body', 'timeZone', 'must be an IANA time zone, like Europe/Berlin.')
  return name
}

function checkName(name: string): string {
  const trimmed = name.trim()
  if (!trimmed) throw invalidField('invalid_body', 'name', 'must not be blank.')
  return trimmed
}

/** The fields that the operator can change. Undefined fields stay unchanged. */
export interface ShopChanges {
  name?: string
  plan?: Plan
  apiEnabled?: boolean
  requestsPerMinute?: number | null
  maxActiveKeys?: number | null
}

/**
 * Changes a shop's name, plan, API switch, or limits. A request without changes succeeds.
 *
 * @throws ApiError 400 `invalid_body`, 404 `shop_not_found`, 409 `concurrent_change`.
 */
export async function update(operator: Operator, shopId: string, changes: ShopChanges): Promise<Shop> {
  const { name, apiEnabled, ...plain } = changes
  const columns: Partial<ShopRow> = { ...plain }
  if (name !== undefined) columns.name = checkName(name)
  if (apiEnabled !== undefined) columns.apiEnabled = apiEnabled ? 1 : 0
  const ctx = await operatorContext(operator, shopId)
  const differs = ([column, value]: [string, unknown]) =>
    value !== undefined && value !== ctx.shop[column as keyof ShopRow]
  return change(ctx, Object.fromEntries(Object.entries(columns).filter(differs)), 'shop.updated')
}

/** Suspends a shop. @throws ApiError 404 `shop_not_found`, 409 `concurrent_change`. */
export async function suspend(operator: Operator, shopId: string): Promise<Shop> {
  const ctx = await operatorContext(operator, shopId)
  const changes = ctx.shop.suspendedAt === null ? { suspendedAt: nowIso(operator), exportDigest: null } : {}
  return change(ctx, changes, 'shop.suspended')
}

/** Resumes a suspended shop. @throws ApiError 404 `shop_not_found`, 409 `concurrent_change` or `shop_deletion_started`. */
export async function resume(operator: Operator, shopId: string): Promise<Shop> {
  const ctx = await operatorContext(operator, shopId)
  if (ctx.shop.deletionStartedAt !== null)
    throw conflict('shop_deletion_started', 'The shop is being deleted, which cannot be undone.')
  const resumed = await change(
    ctx,
    ctx.shop.suspendedAt === null ? {} : { suspendedAt: null, exportDigest: null },
    'shop.resumed',
  )
  // Webhooks may be waiting.
  operator.wakeDispatcher()
  return resumed
}

/** The columns that test shops share with their shop: the operator's limits. */
const SHARED = ['plan', 'requestsPerMinute', 'maxActiveKeys', 'suspendedAt'] as const

const pickShared = (changes: Partial<ShopRow>): Partial<ShopRow> =>
  Object.fromEntries(Object.entries(changes).filter(([name]) => SHARED.some((shared) => shared === name)))

async function change(ctx: Context, changes: Partial<ShopRow>, action: string): Promise<Shop> {
  if (Object.keys(changes).length === 0) return toShop(ctx.shop)
  const after = { ...changes, updatedAt: nowIso(ctx) }
  // The audit log leaves the name out, as it does affiliates' names.
  const { name, ...data } = changes
  return mutate(ctx, async (trx) => {
    if (!(await updateIfUnchanged(trx, 'shops', ctx.shop, after))) throw concurrentChange()
    const shared = pickShared(changes)
    if (Object.keys(shared).length > 0) await updateTestShops(trx, ctx.shop.id, shared)
    return {
      result: toShop({ ...ctx.shop, ...after }),
      audit: { action, subjectId: ctx.shop.id, data: { ...data, ...(name !== undefined && { name: 'changed' }) } },
    }
  })
}

/** A shop as the operator sees it. */
const toShop = (row: ShopRow): Shop => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  currency: row.currency,
  status: statusOf(row),
  apiEnabled: row.apiEnabled === 1,
  requestsPerMinute: row.requestsPerMinute,
  maxActiveKeys: row.maxActiveKeys,
  suspendedAt: row.suspendedAt,
  isTest: row.isTest === 1,
  testOf: row.testOf,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

function statusOf({ suspendedAt, deletionStartedAt }: ShopRow): Shop['status'] {
  if (deletionStartedAt !== null) return 'DELETING'
  return suspendedAt === null ? 'ACTIVE' : 'SUSPENDED'
}

const EMAIL_HASH_KEY_BYTES = 32

/** A new shop's row. */
export function newShop(
  deps: Deps,
  { name, plan, currency, isTest, testOf }: Pick<ShopRow, 'name' | 'plan' | 'currency' | 'isTest' | 'testOf'>,
): ShopRow {
  const createdAt = nowIso(deps)
  return {
    id: deps.newId('shp'),
    name,
    plan,
    currency,
    apiEnabled: 1,
    defaultProgramId: null,
    minimumPayoutCents: null,
    minimumPayoutCentsByCurrency: '{}',
    minimumAffiliatePayoutCentsByCurrency: '{}',
    timeZone: 'UTC',
    legacyMinimumPayout: null,
    taxWithholdingBps: 0,
    attributionPrecedence: JSON.stringify(['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT']),
    clickTouch: 'LAST',
    storeWebhookSecret: null,
    stripeWebhookSecret: null,
    storeDomain: null,
    storeDomainAliases: '[]',
    siteDomains: '[]',
    emailHashKey: Buffer.from(deps.random(EMAIL_HASH_KEY_BYTES)).toString('base64url'),
    webhooksVersion: 1,
    erasureVersion: 0,
    requestsPerMinute: null,
    maxActiveKeys: null,
    suspendedAt: null,
    deletionStartedAt: null,
    exportDigest: null,
    isTest,
    testOf,
    clockOffsetMs: 0,
    version: 1,
    createdAt,
    updatedAt: createdAt,
  }
}
