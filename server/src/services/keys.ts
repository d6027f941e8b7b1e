import { type Context, nowIso } from '../context.ts'
import { invalidBody } from '../errors.ts'
import { insertApiKey } from '../repositories/api-keys.ts'
import { mutate } from './mutate.ts'
import { createSecret, hashSecret, prefixOf } from './secret.ts'

/** Every scope there is (section 5 rule 6). */
export const SCOPES = [
  'affiliates:read',
  'affiliates:write',
  'commissions:read',
  'coupons:read',
  'coupons:write',
  'payouts:read',
  'payouts:write',
  'programs:read',
  'programs:write',
  'analytics:read',
  'events:write',
  'webhooks:read',
  'webhooks:write',
]

/**
 * Creates an API key of the context's shop. The secret is in the answer and nowhere else.
 *
 * @throws ApiError 400 without a label or a known scope.
 */
export async function createApiKey(
  ctx: Context,
  wanted: { label: string; scopes: string[] },
): Promise<{ keyId: string; secret: string }> {
  const label = wanted.label.trim()
  const scopes = wanted.scopes.includes('all') ? SCOPES : [...new Set(wanted.scopes)]
  const unknown = scopes.find((scope) => !SCOPES.includes(scope))
  if (!label) throw invalidBody('label is required.')
  if (scopes.length === 0) throw invalidBody('scopes must name at least one scope.')
  if (unknown) throw invalidBody(`scopes must be among ${SCOPES.join(', ')}; ${unknown} is not.`)
  return mutate(ctx, async (trx) => {
    const secret = createSecret('rk', ctx.random)
    const id = ctx.newId('key')
    await insertApiKey(trx, ctx.shop.id, {
      id,
      label,
      prefix: prefixOf(secret),
      secretHash: hashSecret(secret),
      scopes: JSON.stringify(scopes),
      createdAt: nowIso(ctx),
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: null,
    })
    return { result: { keyId: id, secret }, audit: { action: 'key.created', subjectId: id, data: { label, scopes } } }
  })
}
