import { concurrentChange, conflict, invalidBody, notFound } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, nowIso } from '../core/context.ts'
import { mutate } from '../core/mutate.ts'
import { createSecret, hashSecret, secretPrefix } from '../core/secret.ts'
import { parseBodyInstant } from '../core/time.ts'
import type { Transaction } from '../database/database.ts'
import type { ApiKeyRow } from '../database/tables.ts'
import { deleteApiKeys, findApiKey, insertApiKey, listApiKeys, updateApiKeyIfUnchanged } from './queries.ts'

type ApiKey = components['schemas']['ApiKey']
type Scope = components['schemas']['Scope']

// A scope that the document adds and this lacks does not compile.
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
/** Every scope there is. */
export const SCOPES = Object.keys(ALL_SCOPES) as Scope[]

/** What a key is made of; `expiresAt` as ISO 8601. */
export interface KeyInput {
  label: string
  scopes: string[]
  expiresAt?: string | null
}

/** The shop's keys, newest first, without their secrets. */
export async function list(ctx: Context): Promise<{ data: ApiKey[] }> {
  return { data: (await listApiKeys(ctx.db.read, ctx.shop.id)).map(toApiKey) }
}

/**
 * Creates a key. Its secret is in the answer and nowhere else.
 *
 * @throws ApiError 400 `invalid_body` without a label or a known scope, or when it would have expired already;
 *   409 `key_limit_reached`.
 */
export async function create(ctx: Context, wanted: KeyInput): Promise<ApiKey & { secret: string }> {
  const { label, scopes } = readKeyInput(wanted)
  const expiresAt = parseBodyInstant('expiresAt', wanted.expiresAt) ?? null
  if (expiresAt !== null && expiresAt <= nowIso(ctx)) throw invalidBody('expiresAt must be ahead of now.')
  return mutate(ctx, async (trx) => {
    const limitSubject = await assignWindow(ctx, trx)
    const { secret, ...stored } = newSecret(ctx)
    const row = {
      id: ctx.newId('key'),
      shopId: ctx.shop.id,
      label,
      ...stored,
      scopes: JSON.stringify(scopes),
      createdAt: nowIso(ctx),
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
      limitSubject,
    }
    await insertApiKey(trx, ctx.shop.id, row)
    const audit = { action: 'key.created', subjectId: row.id, data: { label, scopes, expiresAt } }
    return { result: { ...toApiKey(row), secret }, audit }
  })
}

/** One key that still works. @throws ApiError 404 `key_not_found`, 409 `key_already_revoked`. */
export const find = async (ctx: Context, id: string): Promise<ApiKey> => toApiKey(await findActive(ctx, id))

/**
 * Gives a key another secret. The old one opens nothing from the commit on.
 *
 * @throws ApiError 404 `key_not_found`, 409 `key_already_revoked` or `concurrent_change`.
 */
export async function rotate(ctx: Context, id: string): Promise<ApiKey & { secret: string }> {
  const before = await findActive(ctx, id)
  return mutate(ctx, async (trx) => {
    const { secret, ...stored } = newSecret(ctx)
    const changes = { ...stored, lastUsedAt: null }
    if (!(await updateApiKeyIfUnchanged(trx, ctx.shop.id, before, changes))) throw concurrentChange()
    const audit = { action: 'key.rotated', subjectId: id, data: { prefix: stored.prefix } }
    return { result: { ...toApiKey({ ...before, ...changes }), secret }, audit }
  })
}

/**
 * Stops a key at once.
 *
 * @throws ApiError 404 `key_not_found`, 409 `key_already_revoked` or `concurrent_change`.
 */
export async function revoke(ctx: Context, id: string) {
  const before = await findActive(ctx, id)
  return mutate(ctx, async (trx) => {
    if (!(await updateApiKeyIfUnchanged(trx, ctx.shop.id, before, { revokedAt: nowIso(ctx) }))) throw concurrentChange()
    return {
      result: { ok: true as const, message: 'API key revoked.', id },
      audit: { action: 'key.revoked', subjectId: id },
    }
  })
}

/** As {@link create}, for the operator: `all` stands for every scope. */
export async function createApiKey(ctx: Context, wanted: KeyInput): Promise<{ keyId: string; secret: string }> {
  const scopes = wanted.scopes.includes('all') ? SCOPES : wanted.scopes
  const { id, secret } = await create(ctx, { ...wanted, scopes })
  return { keyId: id, secret }
}

function readKeyInput(wanted: KeyInput): { label: string; scopes: Scope[] } {
  const label = wanted.label.trim()
  if (!label) throw invalidBody('label is required.')
  const scopes = SCOPES.filter((scope) => wanted.scopes.includes(scope))
  const unknown = wanted.scopes.find((scope) => !(SCOPES as string[]).includes(scope))
  if (unknown) throw invalidBody(`scopes must be among ${SCOPES.join(', ')}; ${unknown} is not.`)
  if (scopes.length === 0) throw invalidBody('scopes must name at least one scope.')
  return { label, scopes }
}

async function findActive(ctx: Context, id: string): Promise<ApiKeyRow> {
  const row = await findApiKey(ctx.db.read, ctx.shop.id, id)
  if (!row) throw notFound('key_not_found', 'No API key with this id exists in your shop.')
  if (row.revokedAt !== null) throw conflict('key_already_revoked', 'This API key was revoked; create a new one.')
  return row
}

function newSecret(ctx: Context): { secret: string } & Pick<ApiKeyRow, 'prefix' | 'secretHash'> {
  const secret = createSecret('rk', ctx.random)
  return { secret, prefix: secretPrefix(secret), secretHash: hashSecret(secret) }
}

const toApiKey = ({ id, label, prefix, scopes, createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKeyRow): ApiKey => ({
  id,
  label,
  prefix,
  scopes: JSON.parse(scopes),
  createdAt,
  lastUsedAt,
  expiresAt,
  status: revokedAt === null ? 'active' : 'revoked',
})

/** How many keys of a shop work at the same time, and how many rate-limit windows its keys have between them. */
export const MAX_ACTIVE_KEYS = 20
/** Revoked and expired keys that stay listed. The audit keeps what happened to earlier ones. */
const MAX_ENDED_KEYS = 200
/** Ended keys deleted at a time. */
const BATCH_SIZE = 100

/**
 * The rate-limit window of a key that is about to be created: null for one of its own, or the id of the key whose window
 * it continues. A shop has no more windows than active keys, so creating and revoking keys earns it no more requests. Once
 * all windows exist, a new key continues the one that has been without a key longest. Deletes the keys that ended longest
 * ago, so that a shop's keys do not pile up.
 *
 * @throws ApiError 409 `key_limit_reached`.
 */
export async function assignWindow(ctx: Context, trx: Transaction): Promise<string | null> {
  const now = nowIso(ctx)
  const keys = (await listApiKeys(trx, ctx.shop.id)).map((key) => ({ ...key, endedAt: endOf(key, now) }))
  const active = keys.filter(({ endedAt }) => endedAt === null)
  if (active.length >= MAX_ACTIVE_KEYS) {
    throw conflict(
      'key_limit_reached',
      `A shop can have ${MAX_ACTIVE_KEYS} active API keys. Revoke one before you create another.`,
    )
  }
  const ended = keys.filter(isEnded).sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1))
  const surplus = ended.slice(MAX_ENDED_KEYS, MAX_ENDED_KEYS + BATCH_SIZE).map(({ id }) => id)
  if (surplus.length > 0) await deleteApiKeys(trx, ctx.shop.id, surplus)
  if (new Set(keys.map(windowOf)).size < MAX_ACTIVE_KEYS) return null
  const inUse = new Set(active.map(windowOf))
  // Each window at the end of its last key, the latest first.
  const free = [...new Set(ended.map(windowOf))].filter((window) => !inUse.has(window))
  return free.at(-1) ?? null
}

const windowOf = ({ id, limitSubject }: ApiKeyRow): string => limitSubject ?? id

type Ended = ApiKeyRow & { endedAt: string }
const isEnded = (key: ApiKeyRow & { endedAt: string | null }): key is Ended => key.endedAt !== null

/** When a key was revoked or expired, whichever came first; null while it works. */
function endOf({ revokedAt, expiresAt }: ApiKeyRow, now: string): string | null {
  const expiredAt = expiresAt !== null && expiresAt <= now ? expiresAt : null
  return revokedAt !== null && (expiredAt === null || revokedAt < expiredAt) ? revokedAt : expiredAt
}
