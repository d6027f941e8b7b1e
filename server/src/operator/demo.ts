import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Deps } from '../core/context.ts'
import { bestEffort } from '../core/log.ts'
import { createApiKey } from '../domains/accounts/keys.ts'
import { findShop } from '../domains/accounts/queries.ts'
import { createSignInLink, findOwner } from '../domains/accounts/sessions.ts'
import * as shops from '../domains/accounts/shops.ts'
import * as affiliates from '../domains/affiliates/affiliates.ts'
import * as coupons from '../domains/coupons/coupons.ts'
import * as programs from '../domains/programs/programs.ts'

const CODE = 'NISA16'

/**
 * Prepares a demo shop with an owner, a key with every scope, a published program, and an approved affiliate with a coupon.
 * It is created on the first start; its credentials are stored in `demo.env` (mode 0600) for later starts. Returns the text
 * to print.
 */
export async function prepareDemo(deps: Deps, url: string): Promise<string> {
  const file = join(deps.config.dataDir, 'demo.env')
  const known = existsSync(file) ? readEnv(readFileSync(file, 'utf8')) : {}
  const shopId = known.REFERRAL_SHOP_ID
  const exists = shopId !== undefined && (await findShop(deps.db.read, shopId)) !== undefined
  const env = exists ? { ...known, REFERRAL_BASE_URL: url } : await createDemoShop(deps, url)
  mkdirSync(deps.config.dataDir, { recursive: true, mode: 0o700 })
  // Written to a temporary file and renamed, so that readers never see a partial file. A leftover file may be readable by others.
  rmSync(`${file}.new`, { force: true })
  writeFileSync(
    `${file}.new`,
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
    { mode: 0o600, flag: 'wx' },
  )
  renameSync(`${file}.new`, file)
  return banner(url, env, { file, signIn: await signInPath(deps, env) })
}

/** A single-use sign-in link, or the plain page if creating one fails, which must not prevent startup. */
async function signInPath(deps: Deps, { REFERRAL_OWNER_TOKEN = '' }: Record<string, string>): Promise<string> {
  let path = '/admin'
  await bestEffort(deps.log, 'demo_link_failed', async () => {
    const owner = await findOwner(deps.db.read, REFERRAL_OWNER_TOKEN)
    if (!owner) return
    const ctx = await shops.operatorContext(deps, owner.shop.id)
    path = `/admin/sign-in?token=${await createSignInLink(ctx, owner.user.id)}`
  })
  return path
}

async function createDemoShop(deps: Deps, url: string): Promise<Record<string, string>> {
  const { shop, owner } = await shops.create(deps, {
    name: 'Demo shop',
    plan: 'PROFESSIONAL',
    currency: 'USD',
    ownerEmail: 'owner@demo.example',
  })
  const ctx = () => shops.operatorContext(deps, shop.id)
  await programs.create(await ctx(), demoProgram('Demo program'))
  const { id } = await affiliates.create(await ctx(), {
    email: 'nisa@demo.example',
    firstName: 'Nisa',
    lastName: 'Karim',
  })
  await affiliates.update(await ctx(), id, { status: 'APPROVED' })
  await coupons.assign(await ctx(), { affiliateId: id, code: CODE })
  const { secret } = await createApiKey(await ctx(), { label: 'Demo key', scopes: ['all'] })
  return {
    REFERRAL_BASE_URL: url,
    REFERRAL_API_KEY: secret,
    REFERRAL_OWNER_TOKEN: owner.token,
    REFERRAL_SHOP_ID: shop.id,
  }
}

/** A published program that pays 16% and auto-approves orders. */
export const demoProgram = (name: string) =>
  ({
    name,
    commissionType: 'PERCENT_OF_SALE',
    commissionPercent: 16,
    cookieDurationDays: 30,
    autoApproveAffiliate: false,
    autoApproveOrder: true,
    status: 'PUBLISH',
  }) as const

const readEnv = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

interface BannerLinks {
  file: string
  signIn: string
}

function banner(url: string, env: Record<string, string>, { file, signIn }: BannerLinks): string {
  const { REFERRAL_API_KEY: key = '' } = env
  return `
Referral Program API with a demo shop

  address         ${url}
  docs            ${url}/api/v1/docs
  dashboard       ${url}${signIn}
                  (the link works once, within 15 minutes; after that, sign in with the owner token)
  API key         ${key}
  credentials     ${file}

Report an order of 100.00 with a discount of 10.00. The coupon belongs to the affiliate Nisa, who earns 16%:

  curl ${url}/api/v1/events -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -H 'Idempotency-Key: order-1001' -d '{"externalOrderId":"1001","amountCents":10000,"discountCents":1000,"currency":"USD","couponCode":"${CODE}"}'

Send it again: the order is not counted twice. List the commissions:

  curl ${url}/api/v1/commissions -H 'Authorization: Bearer ${key}'

Calculate what another order would earn, without recording it:

  curl '${url}/api/v1/events?dryRun=1' -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"externalOrderId":"1009","amountCents":5000,"currency":"USD","ref":"nisa-karim"}'
`
}
