import { ApiError, affiliateNotFound, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, clockOf, type Deps, nowIso, systemClock } from '../../core/context.ts'
import { recordAccess } from '../../core/mutate.ts'
import type { Reader } from '../../database/database.ts'
import type { ShopRow } from '../../database/tables.ts'
import { findShop } from '../accounts/queries.ts'
import { toAffiliate } from './affiliates.ts'
import { findAffiliate } from './queries.ts'
import { isRevoked, issueAt } from './tokens.ts'

const HOUR_MS = 3_600_000
/** How long a link can be valid, in hours. */
export const LINK_HOURS: readonly number[] = [1, 24, 168]

/** The seal's associated data, so that no other sealed text is accepted as a token. */
const BOUND = 'affiliate page'

interface Token {
  shopId: string
  affiliateId: string
  issuedAt: string
  expiresAt: string
}

/**
 * Creates a link to an affiliate's page: read-only, for this affiliate alone, and valid for some hours. The token is not
 * stored. It ends early when the affiliate is archived or rejected, its tokens are revoked, or the shop is suspended.
 *
 * @throws ApiError 400 `invalid_body`, 404 `affiliate_not_found`.
 */
export async function createPortalLink(
  ctx: Context,
  affiliateId: string,
  hours: number,
): Promise<{ path: string; expiresAt: string }> {
  if (!LINK_HOURS.includes(hours))
    throw invalidField(
      'invalid_body',
      'hours',
      `must be ${LINK_HOURS.slice(0, -1).join(', ')} or ${LINK_HOURS.at(-1)}.`,
    )
  const row = await findAffiliate(ctx.db.read, ctx.shop.id, affiliateId)
  if (!row) throw affiliateNotFound()
  const expiresAt = new Date(systemClock(ctx).now() + hours * HOUR_MS).toISOString()
  const token: Token = { shopId: ctx.shop.id, affiliateId, issuedAt: issueAt(ctx, row), expiresAt }
  await recordAccess(ctx, 'affiliate_link.created', affiliateId)
  const sealed = ctx.vault.seal(JSON.stringify(token), BOUND)
  return { path: `/affiliate?${new URLSearchParams({ token: sealed })}`, expiresAt }
}

/** A link's affiliate, and a context that reads the shop for them. */
export interface OpenedPortal {
  ctx: Context
  affiliate: components['schemas']['Affiliate']
  expiresAt: string
}

/** @throws ApiError 401 `session_expired` for a link that is invalid or has expired. */
export async function openPortal(deps: Deps & { requestId: string }, sealed: string): Promise<OpenedPortal> {
  const token = readToken(deps, sealed)
  const recheck = async (db: Reader) => (await findOpen(deps, db, token)).shop
  const { shop, row } = await findOpen(deps, deps.db.read, token)
  const ctx: Context = { ...deps, ...clockOf(deps, shop), shop, actor: `affiliate:${row.id}`, recheck }
  return { ctx, affiliate: toAffiliate(row), expiresAt: token.expiresAt }
}

/** The shop behind an expired or revoked link, to ask for a new one. Undefined for a link that no shop created. */
export async function shopOfLink(deps: Pick<Deps, 'vault' | 'db'>, sealed: string): Promise<ShopRow | undefined> {
  const text = deps.vault.open(sealed, BOUND)
  const shop = text === null ? undefined : await findShop(deps.db.read, (JSON.parse(text) as Token).shopId)
  return shop?.suspendedAt === null ? shop : undefined
}

function readToken({ vault }: Pick<Deps, 'vault'>, sealed: string): Token {
  const text = vault.open(sealed, BOUND)
  if (text === null) throw linkExpired()
  return JSON.parse(text)
}

async function findOpen(deps: Pick<Deps, 'now'>, db: Reader, { shopId, affiliateId, issuedAt, expiresAt }: Token) {
  if (expiresAt <= nowIso(deps)) throw linkExpired()
  const shop = await findShop(db, shopId)
  const row = shop && (await findAffiliate(db, shopId, affiliateId))
  if (!row || shop.suspendedAt !== null || row.status === 'REJECTED' || isRevoked(row, issuedAt)) throw linkExpired()
  return { shop, row }
}

const linkExpired = () =>
  new ApiError(401, 'session_expired', 'This link is invalid or has expired. Request a new one from the shop.')
