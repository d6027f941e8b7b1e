import { affiliateNotFound, concurrentChange, forbidden } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, type Deps, nowIso, systemClock } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import type { Vault } from '../../core/vault.ts'
import type { Reader } from '../../database/database.ts'
import { updateIfUnchanged } from '../../database/rows.ts'
import type { AffiliateRow, ShopRow } from '../../database/tables.ts'
import { findShop } from '../accounts/queries.ts'
import { findAffiliate } from './queries.ts'

type AffiliateToken = components['schemas']['AffiliateToken']

/** The scopes that a token can have. A token never has a scope that its creator lacks. */
export const TOKEN_SCOPES = ['affiliates:read', 'commissions:read', 'coupons:read', 'analytics:read'] as const

const DEFAULT_SECONDS = 3600

/** The signed content of a token, which is not stored. */
interface Claims {
  shopId: string
  affiliateId: string
  scopes: string[]
  issuedAt: string
  expiresAt: string
}

/** A token's time of issue: always after the last revocation, even within the same millisecond. */
export function issueAt(ctx: Context, { tokensRevokedAt }: AffiliateRow): string {
  const now = systemClock(ctx).now()
  const revokedAt = tokensRevokedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(tokensRevokedAt)
  return new Date(Math.max(now, revokedAt + 1)).toISOString()
}

/** Whether a token was revoked together with its affiliate's other tokens. */
export const isRevoked = ({ tokensRevokedAt }: AffiliateRow, issuedAt: string): boolean =>
  tokensRevokedAt !== null && issuedAt <= tokensRevokedAt

/**
 * Creates a token that lets an affiliate's page read the API for at most a day.
 *
 * @param scopes the creator's scopes
 * @throws ApiError 404 `affiliate_not_found`.
 */
export async function createToken(
  ctx: Context,
  affiliateId: string,
  { expiresInSeconds, scopes }: { expiresInSeconds?: number | undefined; scopes: readonly string[] },
): Promise<AffiliateToken> {
  const claims = await mutate(ctx, async (trx) => {
    const affiliate = await findAffiliate(trx, ctx.shop.id, affiliateId)
    if (!affiliate || affiliate.status === 'REJECTED') throw affiliateNotFound()
    const expiresAt = new Date(systemClock(ctx).now() + (expiresInSeconds ?? DEFAULT_SECONDS) * 1000).toISOString()
    const granted = TOKEN_SCOPES.filter((scope) => scopes.includes(scope))
    const issuedAt = issueAt(ctx, affiliate)
    const result: Claims = { shopId: ctx.shop.id, affiliateId, scopes: granted, issuedAt, expiresAt }
    return { result, audit: { action: 'affiliate_token.created', subjectId: affiliateId, data: { expiresAt } } }
  })
  // The stored response contains only the claims, so that no stored row is a credential.
  const { scopes: granted, expiresAt } = claims
  return { affiliateId, scopes: granted as AffiliateToken['scopes'], expiresAt, token: signToken(ctx.vault, claims) }
}

/**
 * Revokes all of an affiliate's tokens, and the links to their page.
 *
 * @throws ApiError 404 `affiliate_not_found`.
 */
export const revokeTokens = (ctx: Context, affiliateId: string) =>
  mutate(ctx, async (trx) => {
    const affiliate = await findAffiliate(trx, ctx.shop.id, affiliateId)
    if (!affiliate) throw affiliateNotFound()
    const tokensRevokedAt = issueAt(ctx, affiliate)
    if (!(await updateIfUnchanged(trx, 'affiliates', affiliate, { tokensRevokedAt }))) throw concurrentChange()
    const message = 'The tokens and page links of the affiliate are revoked.'
    return {
      result: { ok: true as const, message, id: affiliateId },
      audit: { action: 'affiliate_tokens.revoked', subjectId: affiliateId },
    }
  })

const PREFIX = 'ra_'

/** Whether a bearer token claims to be an affiliate's. */
export const isAffiliateToken = (token: string): boolean => token.startsWith(PREFIX)

// The prefix keeps other texts' signatures from being valid for a token.
const signedText = (claims: string) => `affiliate token\n${claims}`

const toToken = (text: string, signature: string) =>
  `${PREFIX}${Buffer.from(text).toString('base64url')}.${Buffer.from(signature, 'hex').toString('base64url')}`

function signToken(vault: Vault, claims: Claims): string {
  const text = JSON.stringify(claims)
  return toToken(text, vault.fingerprint(signedText(text)))
}

function readToken(vault: Vault, token: string): Claims | undefined {
  const [claims = '', encoded = ''] = token.slice(PREFIX.length).split('.')
  const text = Buffer.from(claims, 'base64url').toString()
  const signature = Buffer.from(encoded, 'base64url').toString('hex')
  // Decoding ignores padding and other characters, so that different texts would be the same token.
  if (token !== toToken(text, signature)) return undefined
  return vault.hasFingerprint(signature, signedText(text)) ? (JSON.parse(text) as Claims) : undefined
}

/** A token's affiliate. */
export interface AffiliateCaller extends Pick<Claims, 'affiliateId' | 'scopes'> {
  shop: ShopRow
}

/**
 * Returns a token's affiliate as `db` sees it.
 *
 * @throws ApiError 403 for a token that is unknown, expired or revoked, or whose affiliate is archived or rejected.
 */
export async function findAffiliateCaller(
  deps: Pick<Deps, 'vault' | 'now'>,
  db: Reader,
  token: string,
): Promise<AffiliateCaller> {
  const claims = readToken(deps.vault, token)
  if (!claims) throw forbidden('key_unknown', 'This token does not exist.')
  const { shopId, affiliateId, scopes, issuedAt, expiresAt } = claims
  if (expiresAt <= nowIso(deps)) throw forbidden('key_expired', 'This token has expired. Create a new token.')
  const shop = await findShop(db, shopId)
  const affiliate = shop && (await findAffiliate(db, shopId, affiliateId))
  if (!affiliate || affiliate.status === 'REJECTED')
    throw forbidden('key_revoked', 'This token was revoked: its affiliate is archived or rejected.')
  if (isRevoked(affiliate, issuedAt)) throw forbidden('key_revoked', 'This token was revoked. Create a new token.')
  return { shop, affiliateId, scopes }
}
