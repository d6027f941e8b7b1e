import { concurrentChange, conflict, invalidBody, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { clockOf, nowIso, type OwnerContext, systemClock } from '../../core/context.ts'
import { bestEffort } from '../../core/log.ts'
import { beginAudit, mutate } from '../../core/mutate.ts'
import { parseBodyInstant } from '../../core/time.ts'
import type { Reader } from '../../database/database.ts'
import { insertRow, updateIfUnchanged } from '../../database/rows.ts'
import type { ShopRow } from '../../database/tables.ts'
import { newSecret, SCOPES } from '../accounts/keys.ts'
import { findShop, listTestShops } from '../accounts/queries.ts'
import { newShop } from '../accounts/shops.ts'
import { newUser } from '../accounts/users.ts'
import { makeDuePending } from '../webhooks/delivery-queries.ts'
import { beginTestShopDeletion, deleteTestShopRows } from './shop-deletion.ts'
import { purgeTestShop } from './shop-retention.ts'

type TestShop = components['schemas']['TestShop']

/** How many test shops a shop can have. */
export const MAX_TEST_SHOPS = 10

const listActive = async (db: Reader, shopId: string): Promise<ShopRow[]> =>
  (await listTestShops(db, shopId)).filter((shop) => !isBeingDeleted(shop))

/** A shop's test shops, oldest first. */
export async function list(ctx: OwnerContext): Promise<{ data: TestShop[] }> {
  const shops = await listActive(ctx.db.read, ctx.shop.id)
  return { data: shops.map((row) => toTestShop(ctx, row)) }
}

/**
 * Creates a shop with its own data, a clock that can be advanced, and the plan, limits, currency, and time zone of the
 * caller's shop. Only the result contains its owner token and its key, which has every scope.
 *
 * @throws ApiError 409 `test_shop_limit_reached`, or `shop_is_test` in a test shop.
 */
export async function create(
  ctx: OwnerContext,
  { name }: { name?: string | null | undefined },
): Promise<components['schemas']['TestShopCreated']> {
  const { plan, currency, id: testOf } = ctx.shop
  if (ctx.shop.isTest === 1) throw conflict('shop_is_test', 'A test shop cannot have test shops.')
  const named = { name: name?.trim() || `${ctx.shop.name} (test)`, plan, currency, isTest: 1 as const, testOf }
  const { requestsPerMinute, maxActiveKeys, timeZone } = ctx.shop
  const shop = { ...newShop(ctx, named), requestsPerMinute, maxActiveKeys, timeZone }
  const { row: user, ownerToken } = newUser(ctx, { shopId: shop.id, email: ctx.user.email, role: 'OWNER' })
  const { secret: apiKey, ...stored } = newSecret({ shop, random: ctx.random })
  const key = {
    id: ctx.newId('key'),
    shopId: shop.id,
    label: 'Test',
    ...stored,
    scopes: JSON.stringify(SCOPES),
    createdAt: nowIso(ctx),
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
    limitSubject: null,
    previousSecretHash: null,
    previousSecretUntil: null,
  }
  return mutate(ctx, async (trx) => {
    if ((await listActive(trx, testOf)).length >= MAX_TEST_SHOPS)
      throw conflict('test_shop_limit_reached', `A shop can have ${MAX_TEST_SHOPS} test shops. Delete one first.`)
    await insertRow(trx, 'shops', shop)
    await insertRow(trx, 'users', user)
    await insertRow(trx, 'apiKeys', key)
    await beginAudit({ ...ctx, shop }, trx, { action: 'shop.created', subjectId: shop.id, data: { plan } })
    return {
      result: { ...toTestShop(ctx, shop), ownerToken, apiKey },
      audit: { action: 'test_shop.created', subjectId: shop.id },
    }
  })
}

/** How far a clock can be ahead of the server's: a hundred years. */
const MAX_OFFSET_MS = 100 * 365 * 86_400_000

/** How long one call makes deliveries due. */
const MAX_CALL_MS = 20_000

/** Test shops whose clock this process is advancing. */
const advancing = new Set<string>()

/**
 * Advances a test shop's clock, by seconds or to an instant. Everything that depends on time follows: click windows,
 * periods, retries, retention, and the expiry of stored responses. Credentials and rate limits keep the server's time.
 * The clock advances in one short transaction. What becomes due or expires follows in others. The dispatcher and
 * retention complete an interrupted request.
 *
 * @throws ApiError 400 `invalid_body` for an instant that is not ahead, or too far; 404 `test_shop_not_found`; 409
 * `concurrent_change`, or while another request advances the clock.
 */
export async function advance(
  ctx: OwnerContext,
  id: string,
  { advanceSeconds, to }: { advanceSeconds?: number | null; to?: string | null },
): Promise<TestShop> {
  const shop = await findTestShop(ctx, ctx.db.read, id)
  const system = systemClock(ctx)
  const instant = parseBodyInstant('to', to)
  if (((advanceSeconds ?? undefined) === undefined) === (instant === undefined))
    throw invalidBody('Send either advanceSeconds or to.')
  const ms = instant === undefined ? (advanceSeconds ?? 0) * 1000 : Date.parse(instant) - clockOf(system, shop).now()
  const advanced = { ...shop, clockOffsetMs: shop.clockOffsetMs + ms }
  if (ms <= 0)
    throw invalidField(
      'invalid_body',
      'to',
      'must be after the current time of the test shop, because its clock only advances.',
    )
  if (advanced.clockOffsetMs > MAX_OFFSET_MS)
    throw invalidBody('The clock of a test shop can be at most 100 years ahead.')
  const target = { ...ctx, ...clockOf(system, advanced), shop, recheck: (db: Reader) => recheckTestShop(ctx, db, id) }
  if (advancing.has(id)) throw concurrentChange()
  advancing.add(id)
  try {
    await mutate(target, async (trx) => {
      const changes = { clockOffsetMs: advanced.clockOffsetMs, updatedAt: nowIso(target) }
      if (!(await updateIfUnchanged(trx, 'shops', shop, changes))) throw concurrentChange()
      const audit = { action: 'test_clock.advanced', subjectId: id, data: { seconds: ms / 1000 } }
      return { result: undefined, audit }
    })
    await bestEffort(ctx.log, 'retry_failed', () => makeAllDuePending(ctx, id, nowIso(target)))
    ctx.wakeDispatcher()
    await bestEffort(ctx.log, 'retention_failed', () => purgeTestShop({ ...ctx, ...system }, advanced))
  } finally {
    advancing.delete(id)
  }
  return toTestShop(ctx, advanced)
}

/** Makes the due deliveries of a test shop pending, in small transactions and for a limited time. */
async function makeAllDuePending({ db, stopping }: OwnerContext, id: string, now: string): Promise<void> {
  const until = performance.now() + MAX_CALL_MS
  while (performance.now() < until && !stopping.aborted)
    if ((await db.transact((trx) => makeDuePending(trx, now, id))) === 0) return
}

/**
 * Deletes a test shop. Its credentials are gone when the change commits; its data is deleted afterwards, in small
 * transactions. Retention completes an interrupted request.
 *
 * @throws ApiError 404 `test_shop_not_found`, also for the caller's own shop: the audit of the deletion would be
 * deleted with it.
 */
export async function remove(ctx: OwnerContext, id: string) {
  if (id === ctx.shop.id) throw testShopNotFound()
  await findTestShop(ctx, ctx.db.read, id)
  await mutate(ctx, async (trx) => {
    if (!(await beginTestShopDeletion(trx, id, nowIso(systemClock(ctx))))) throw testShopNotFound()
    return { result: undefined, audit: { action: 'test_shop.deleted', subjectId: id } }
  })
  await bestEffort(ctx.log, 'test_shop_data_not_deleted', () => deleteTestShopRows(ctx, id))
  return { ok: true as const, message: 'Test shop deleted.', id }
}

/** A test shop of the caller's shop, or the caller's shop itself. */
async function findTestShop(ctx: OwnerContext, db: Reader, id: string): Promise<ShopRow> {
  const shop = await findShop(db, id)
  const isOwn = shop?.testOf === ctx.shop.id || id === ctx.shop.id
  if (!shop || shop.isTest === 0 || isBeingDeleted(shop) || !isOwn) throw testShopNotFound()
  return shop
}

/** @throws ApiError 404 `test_shop_not_found`. */
export function requireListed(shops: TestShop[], id: string): TestShop {
  const testShop = shops.find((shop) => shop.id === id)
  if (!testShop) throw testShopNotFound()
  return testShop
}

async function recheckTestShop(ctx: OwnerContext, db: Reader, id: string): Promise<ShopRow> {
  await ctx.recheck(db)
  return findTestShop(ctx, db, id)
}

const isBeingDeleted = ({ deletionStartedAt }: ShopRow) => deletionStartedAt !== null

const testShopNotFound = () => notFound('test_shop_not_found', 'Your shop has no test shop with this id.')

const toTestShop = (ctx: OwnerContext, row: ShopRow): TestShop => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  currency: row.currency,
  now: nowIso(clockOf(systemClock(ctx), row)),
  createdAt: row.createdAt,
})
