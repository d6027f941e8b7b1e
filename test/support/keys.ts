import { type Context, nowIso } from '../../server/src/core/context.ts'
import { createSecret, hashSecret, secretPrefix } from '../../server/src/core/secret.ts'
import { insertRow } from '../../server/src/database/rows.ts'
import { SCOPES } from '../../server/src/domains/accounts/keys.ts'

/**
 * Creates this many keys with every scope, each with its own rate-limit window, and returns their secrets. Written to the table directly: load on
 * one shop needs more windows than the 20 keys that a shop can create.
 */
export async function insertKeys(ctx: Context, count: number): Promise<string[]> {
  const secrets = Array.from({ length: count }, () => createSecret('rk', ctx.random))
  for (const secret of secrets) {
    const row = {
      id: ctx.newId('key'),
      shopId: ctx.shop.id,
      label: 'Load',
      prefix: secretPrefix(secret),
      secretHash: hashSecret(secret),
      scopes: JSON.stringify(SCOPES),
      createdAt: nowIso(ctx),
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: null,
      limitSubject: null,
      previousSecretHash: null,
      previousSecretUntil: null,
    }
    await ctx.db.transact((trx) => insertRow(trx, 'apiKeys', row), ctx.shop.id)
  }
  return secrets
}
