import { concurrentChange, conflict, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso, systemClock } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { createSecret, hashSecret, secretPrefix } from '../../core/secret.ts'
import { parseBodyInstant } from '../../core/time.ts'
import type { Transaction } from '../../database/database.ts'
import { findRow, insertRow } from '../../database/rows.ts'
import type { ApiKeyRow } from '../../database/tables.ts'
import { deleteApiKeys, listApiKeys, updateApiKeyIfUnchanged } from './queries.ts'

type ApiKey = components['schemas']['ApiKey']
type Scope = components['schemas']['Scope']

// Does not compile if a scope in openapi.yaml is missing here.
const ALL_SCOPES: Record<Scope, true> = {
  'affiliates:read': true,
  'affiliates:write': true,
  'commissions:read': true,
  'coupons:read': true,
  'coupons:write': true,
  'payouts:read': true,
  'payouts:write': true,
  'programs:read': true,
  'programs:write': true,
  'analytics:read': true,
  'events:write': true,
  'webhooks:read': true,
  'webhooks:write': true,
}
/** Every scope. */
export const SCOPES = Object.keys(ALL_SCOPES) as Scope[]

/** The fields of a new key; `expiresAt` as ISO 8601. */
interface KeyInput {
  label: string
  scopes: string[]
  expiresAt?: string | null
}

/** Lists the shop's keys, newest first, without their secrets. */
export async function list(ctx: Context): Promise<{ data: ApiKey[] }> {
  return { data: (await listApiKeys(ctx.db.read, ctx.shop.id)).map(toApiKey) }
}

/**
 * Creates a key. Its secret is in the result and cannot be read later.
 *
 * @throws ApiError 400 `invalid_body` without a label or a known scope, or when `expiresAt` has passed; 409
 *   `key_limit_reached`.
 */
export async function create(ctx: Context, input: KeyInput): Promise<ApiKey & { secret: string }> {
  const { label, scopes } = readKeyInput(input)
  const expiresAt = parseBodyInstant('expiresAt', input.expiresAt) ?? null
  if (expiresAt !== null && expiresAt <= systemTime(ctx))
    throw invalidField('invalid_body', 'expiresAt', 'must be in the future.')
  return mutate(ctx, async (trx) => {
    const limitSubject = await assignWindow(ctx, trx)
    const { secret, ...stored } = newSecret(ctx)
    const row = {
      id: ctx.newId('key'),
      shopId: ctx.shop.id,
      label,
      ...stored,
      scopes: JSON.stringify(scopes),
      createdAt: systemTime(ctx),
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
      limitSubject,
      previousSecretHash: null,
      previousSecretUntil: null,
    }
    await insertRow(trx, 'apiKeys', row)
    const audit = { action: 'key.created', subjectId: row.id, data: { label, scopes, expiresAt } }
    return { result: { ...toApiKey(row), secret }, audit }
  })
}

/** Finds a key that is not revoked. @throws ApiError 404 `key_not_found`, 409 `key_already_revoked`. */
export const find = async (ctx: Context, id: string): Promise<ApiKey> => toApiKey(await findActive(ctx, id))

/** The longest overlap after a rotation: a week. */
export const MAX_OVERLAP_SECONDS = 604_800

/**
 * Replaces a key's secret.
 *
 * @param overlapSeconds how long the old secret stays valid. With 0, it becomes invalid when the change commits. A
 * secret from an earlier rotation becomes invalid in any case.
 * @throws ApiError 404 `key_not_found`, 409 `key_already_revoked` or `concurrent_change`.
 */
export async function rotate(
  ctx: Context,
  id: string,
  { overlapSeconds = 0 }: { overlapSeconds?: number } = {},
): Promise<ApiKey & { secret: string }> {
  const before = await findActive(ctx, id)
  return mutate(ctx, async (trx) => {
    const { secret, ...stored } = newSecret(ctx)
    const until = overlapSeconds > 0 ? new Date(systemClock(ctx).now() + overlapSeconds * 1000).toISOString() : null
    const previous = { previousSecretHash: until && before.secretHash, previousSecretUntil: until }
    const changes = { ...stored, ...previous, lastUsedAt: null }
    if (!(await updateApiKeyIfUnchanged(trx, before, changes))) throw concurrentChange()
    const audit = { action: 'key.rotated', subjectId: id, data: { prefix: stored.prefix, previousSecretUntil: until } }
    return { result: { ...toApiKey({ ...before, ...changes }), secret }, audit }
  })
}

/**
 * Revokes a key with immediate effect.
 *
 * @throws ApiError 404 `key_not_found`, 409 `key_already_revoked` or `concurrent_change`.
 */
export async function revoke(ctx: Context, id: string) {
  const before = await findActive(ctx, id)
  return mutate(ctx, async (trx) => {
    if (!(await updateApiKeyIfUnchanged(trx, before, { revokedAt: systemTime(ctx) }))) throw concurrentChange()
    return {
      result: { ok: true as const, message: 'API key revoked.', id },
      audit: { action: 'key.revoked', subjectId: id },
    }
  })
}

/** Like {@link create}, for the operator; `all` means every scope. */
export async function createApiKey(ctx: Context, input: KeyInput): Promise<{ keyId: string; secret: string }> {
  const scopes = input.scopes.includes('all') ? SCOPES : input.scopes
  const { id, secret } = await create(ctx, { ...input, scopes })
  return { keyId: id, secret }
}

function readKeyInput(input: KeyInput): { label: string; scopes: Scope[] } {
  const label = input.label.trim()
  if (!label) throw invalidField('invalid_body', 'label', 'is required.')
  const scopes = SCOPES.filter((scope) => input.scopes.includes(scope))
  const unknown = input.scopes.find((scope) => !(SCOPES as string[]).includes(scope))
  if (unknown)
    throw invalidField('invalid_body', 'scopes', `must not contain ${unknown}. Use any of ${SCOPES.join(', ')}.`)
  if (scopes.length === 0) throw invalidField('invalid_body', 'scopes', 'must contain at least one scope.')
  return { label, scopes }
}

async function findActive(ctx: Context, id: string): Promise<ApiKeyRow> {
  const row = await findRow(ctx.db.read, 'apiKeys', { shopId: ctx.shop.id, id })
  if (!row) throw notFound('key_not_found', 'No API key with this id exists in your shop.')
  if (row.revokedAt !== null) throw conflict('key_already_revoked', 'This API key is revoked. Create a new key.')
  return row
}

/** Keys use the server's clock even in a test shop, so that advancing the test clock does not expire them. */
const systemTime = (ctx: Context): string => nowIso(systemClock(ctx))

/** A new secret, and its stored form. */
export function newSecret(
  ctx: Pick<Context, 'shop' | 'random'>,
): { secret: string } & Pick<ApiKeyRow, 'prefix' | 'secretHash'> {
  const secret = createSecret(ctx.shop.isTest === 1 ? 'rk_test' : 'rk', ctx.random)
  return { secret, prefix: secretPrefix(secret), secretHash: hashSecret(secret) }
}

const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  label: row.label,
  prefix: row.prefix,
  scopes: JSON.parse(row.scopes),
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt,
  expiresAt: row.expiresAt,
  previousSecretUntil: row.previousSecretUntil,
  status: row.revokedAt === null ? 'active' : 'revoked',
})

/** The default limit of active keys per shop, and of rate-limit windows. */
export const MAX_ACTIVE_KEYS = 20
/** How many revoked and expired keys stay listed. Earlier ones are only in the audit log. */
const MAX_ENDED_KEYS = 200
/** How many ended keys to delete at a time. */
const BATCH_SIZE = 100

/**
 * Assigns a rate-limit window to a new key: null for its own window, or the ID of the key whose window it continues. A
 * shop has no more windows than active keys can exist, so creating and revoking keys does not raise its rate limit.
 * Once all windows exist, a new key continues the window that has been unused longest. Deletes the keys that ended
 * longest ago.
 *
 * @throws ApiError 409 `key_limit_reached`.
 */
async function assignWindow(ctx: Context, trx: Transaction): Promise<string | null> {
  const now = systemTime(ctx)
  const keys = (await listApiKeys(trx, ctx.shop.id)).map((key) => ({ ...key, endedAt: endOf(key, now) }))
  const active = keys.filter(({ endedAt }) => endedAt === null)
  const limit = ctx.shop.maxActiveKeys ?? MAX_ACTIVE_KEYS
  if (active.length >= limit) {
    throw conflict(
      'key_limit_reached',
      `A shop can have ${limit} active API keys. Revoke one before you create another.`,
    )
  }
  const ended = keys.filter(isEnded).sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1))
  const surplus = ended.slice(MAX_ENDED_KEYS, MAX_ENDED_KEYS + BATCH_SIZE).map(({ id }) => id)
  if (surplus.length > 0) await deleteApiKeys(trx, ctx.shop.id, surplus)
  if (new Set(keys.map(windowOf)).size < limit) return null
  const inUse = new Set(active.map(windowOf))
  // Ordered by when each window's last key ended, latest first.
  const free = [...new Set(ended.map(windowOf))].filter((window) => !inUse.has(window))
  return free.at(-1) ?? null
}

const windowOf = ({ id, limitSubject }: ApiKeyRow): string => limitSubject ?? id

type Ended = ApiKeyRow & { endedAt: string }
const isEnded = (key: ApiKeyRow & { endedAt: string | null }): key is Ended => key.endedAt !== null

/** When a key was revoked or expired, whichever came first; null while it is active. */
function endOf({ revokedAt, expiresAt }: ApiKeyRow, now: string): string | null {
  const expiredAt = expiresAt !== null && expiresAt <= now ? expiresAt : null
  return revokedAt !== null && (expiredAt === null || revokedAt < expiredAt) ? revokedAt : expiredAt
}
