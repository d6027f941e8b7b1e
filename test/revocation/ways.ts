import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../../server/src/core/context.ts'
import { createApiSwitch } from '../../server/src/core/installation.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import type { ApiKeyRow } from '../../server/src/database/tables.ts'
import * as keys from '../../server/src/domains/accounts/keys.ts'
import * as sessions from '../../server/src/domains/accounts/sessions.ts'
import * as settings from '../../server/src/domains/accounts/settings.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { updateFromOutside } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { createUser, revokeUser } from '../support/tenants.ts'

/** A credential for one request, and how to revoke it as another process would. */
export interface Credential {
  headers: Record<string, string>
  revoke: () => Promise<void>
  /** Restores what other requests need. */
  restore?: () => Promise<void>
}

/** A way to invalidate a credential, and the error that its holder gets afterwards. */
export interface Way {
  rejection: [status: number, code: string]
  make: (other: OtherProcess) => Promise<Credential>
}

/** The use cases with a separate database connection, as in another process. */
export interface OtherProcess {
  deps: Deps
  server: TestServer
  close: () => Promise<void>
}

export async function otherProcess(server: TestServer): Promise<OtherProcess> {
  const db = await openDatabase(server.url)
  return { server, deps: { ...server.deps, db }, close: () => db.close() }
}

const bearer = (secret: string) => ({ Authorization: `Bearer ${secret}` })
const now = ({ server }: OtherProcess) => new Date(server.clock.ms).toISOString()

const setKey = ({ deps }: OtherProcess, id: string, changes: Partial<ApiKeyRow>) =>
  updateFromOutside(deps.db, 'apiKeys', changes, { id })

/** A new key, and a revocation that is given its id. */
const keyWay = (
  rejection: Way['rejection'],
  revoke: (other: OtherProcess, keyId: string) => Promise<unknown>,
  restore?: (other: OtherProcess) => Promise<unknown>,
  prepare?: (other: OtherProcess, keyId: string) => Promise<unknown>,
): Way => ({
  rejection,
  make: async (other) => {
    const ctx = await shops.operatorContext(other.deps, other.server.shop.shopId)
    const { keyId, secret } = await keys.createApiKey(ctx, { label: 'To be revoked', scopes: ['all'] })
    await prepare?.(other, keyId)
    return {
      headers: bearer(secret),
      revoke: async () => void (await revoke(other, keyId)),
      restore: async () => {
        await restore?.(other)
        // The number of active keys of a shop is limited.
        await setKey(other, keyId, { revokedAt: now(other) })
      },
    }
  },
})

const operator = ({ deps, server }: OtherProcess) => shops.operatorContext(deps, server.shop.shopId)
const setShop = (wanted: shops.ShopChanges) => async (other: OtherProcess) =>
  void (await shops.update(other.deps, other.server.shop.shopId, wanted))
const suspend = async ({ deps, server }: OtherProcess) => void (await shops.suspend(deps, server.shop.shopId))
const resume = async ({ deps, server }: OtherProcess) => void (await shops.resume(deps, server.shop.shopId))

/** The request carries the old secret of a key that was rotated with an overlap. */
const duringOverlap = (
  rejection: Way['rejection'],
  revoke: (other: OtherProcess, keyId: string) => Promise<unknown>,
): Way =>
  keyWay(rejection, revoke, undefined, async (other, id) =>
    keys.rotate(await operator(other), id, { overlapSeconds: 3600 }),
  )

/** Ways to revoke API keys. */
export const keyWays: Record<string, Way> = {
  'the key was revoked': keyWay([403, 'key_revoked'], async (other, id) => keys.revoke(await operator(other), id)),
  'the key was rotated': keyWay([403, 'key_unknown'], async (other, id) => keys.rotate(await operator(other), id)),
  'the overlap of a rotated key ended': duringOverlap([403, 'key_unknown'], (other, id) =>
    setKey(other, id, { previousSecretUntil: now(other) }),
  ),
  'a rotated key was revoked during its overlap': duringOverlap([403, 'key_revoked'], async (other, id) =>
    keys.revoke(await operator(other), id),
  ),
  'the key expired': keyWay([403, 'key_expired'], (other, id) => setKey(other, id, { expiresAt: now(other) })),
  'the key lost its scopes': keyWay([403, 'scope_missing'], (other, id) => setKey(other, id, { scopes: '[]' })),
  'the plan was lowered': keyWay(
    [403, 'plan_required'],
    setShop({ plan: 'GROWTH' }),
    setShop({ plan: 'PROFESSIONAL' }),
  ),
  'the shop was suspended': keyWay([403, 'shop_suspended'], suspend, resume),
  'the shop was switched off': keyWay(
    [503, 'api_disabled'],
    setShop({ apiEnabled: false }),
    setShop({ apiEnabled: true }),
  ),
  'the API was switched off': keyWay(
    [503, 'api_disabled'],
    ({ deps }) => createApiSwitch(deps).set(false),
    async ({ deps, server }) => {
      await createApiSwitch(deps).set(true)
      // Callers without a key notice within a second; before that, the API may still look disabled.
      while ((await server.request('GET', '/api/v1/programs')).status !== 200) await sleep(20)
    },
  ),
}

let made = 0

/** A new owner with their own token. */
export async function newOwner({ deps, server }: OtherProcess) {
  const named = { shop: server.shop.shopId, email: `owner-${++made}@shop.example` }
  const { userId, ownerToken } = await createUser(deps, { ...named, role: 'OWNER' })
  return { named, userId, ownerToken }
}

const lowerRole = ({ deps }: OtherProcess, userId: string) =>
  updateFromOutside(deps.db, 'users', { role: 'STAFF' }, { id: userId })

/** Ways to revoke owner tokens. */
export const tokenWays: Record<string, Way> = {
  'the shop of the user was suspended': {
    rejection: [403, 'shop_suspended'],
    make: async (other) => {
      const { ownerToken } = await newOwner(other)
      return { headers: bearer(ownerToken), revoke: () => suspend(other), restore: () => resume(other) }
    },
  },
  'the user was revoked': {
    rejection: [403, 'owner_token_unknown'],
    make: async (other) => {
      const { named, ownerToken } = await newOwner(other)
      return { headers: bearer(ownerToken), revoke: async () => void (await revokeUser(other.deps, named)) }
    },
  },
  'the role was lowered': {
    rejection: [403, 'role_missing'],
    make: async (other) => {
      const { userId, ownerToken } = await newOwner(other)
      return { headers: bearer(ownerToken), revoke: async () => void (await lowerRole(other, userId)) }
    },
  },
}

const CLIENT = { browser: 'Chrome on Linux', network: 'This machine' }

interface OpenSession {
  owner: Awaited<ReturnType<typeof newOwner>>
  session: Awaited<ReturnType<typeof sessions.signIn>>
}

const sessionWay = (rejection: Way['rejection'], revoke: (other: OtherProcess, open: OpenSession) => unknown): Way => ({
  rejection,
  make: async (other) => {
    const owner = await newOwner(other)
    const session = await sessions.signIn({ ...other.deps, requestId: 'req_test', client: CLIENT }, owner.ownerToken)
    const headers = {
      Cookie: `referral_session=${session.secret}`,
      'X-CSRF-Token': sessions.csrfTokenOf(other.deps, session.session),
    }
    return { headers, revoke: async () => void (await revoke(other, { owner, session })) }
  },
})

/** Ways to end sessions. */
export const sessionWays: Record<string, Way> = {
  'the session was signed out': sessionWay([401, 'session_expired'], ({ deps }, { session }) =>
    sessions.signOut({
      ...deps,
      ...session,
      actor: 'user:x',
      requestId: 'req_test',
      isHttps: false,
      recheck: async () => session.shop,
    }),
  ),
  'the session expired': sessionWay([401, 'session_expired'], (other, { session: { session } }) =>
    updateFromOutside(other.deps.db, 'sessions', { expiresAt: now(other) }, { tokenHash: session.tokenHash }),
  ),
  'the user of the session was revoked': sessionWay([401, 'session_expired'], ({ deps }, { owner }) =>
    revokeUser(deps, owner.named),
  ),
  'the role of the session was lowered': sessionWay([403, 'role_missing'], (other, { owner }) =>
    lowerRole(other, owner.userId),
  ),
}

const SECRET = 'hush-hush-hush-hush'
export const STRIPE_SECRET = 'whsec_hush-hush-hush-hush'

export const signed = (body: string, secret = SECRET) => ({
  'X-Shopify-Hmac-Sha256': createHmac('sha256', secret).update(body).digest('base64'),
})

type Settings = Parameters<typeof settings.update>[1]

const setSettings = async (other: OtherProcess, sent: Settings): Promise<void> =>
  void (await settings.update(await operator(other), sent))

const storeWay = (
  rejection: Way['rejection'],
  revoke: (other: OtherProcess) => Promise<void>,
  restore?: (other: OtherProcess) => Promise<void>,
): Way => ({
  rejection,
  make: async (other) => {
    await setSettings(other, { storeWebhookSecret: SECRET, stripeWebhookSecret: STRIPE_SECRET })
    return { headers: {}, revoke: () => revoke(other), ...(restore && { restore: () => restore(other) }) }
  },
})

const newSecret = (storeWebhookSecret: string | null) =>
  storeWay([401, 'store_signature_invalid'], (other) => setSettings(other, { storeWebhookSecret }))

const newStripeSecret = (stripeWebhookSecret: string | null) =>
  storeWay([400, 'stripe_signature_invalid'], (other) => setSettings(other, { stripeWebhookSecret }))

const shopWays: Record<string, Way> = {
  'the plan was lowered': storeWay(
    [403, 'plan_required'],
    setShop({ plan: 'GROWTH' }),
    setShop({ plan: 'PROFESSIONAL' }),
  ),
  'the shop was suspended': storeWay([503, 'store_notifications_suspended'], suspend, resume),
}

/** Ways to invalidate the secret that a store signs with, and its other requirements. */
export const storeWays: Record<string, Way> = {
  'the secret was replaced': newSecret('another-store-secret'),
  'the secret was removed': newSecret(null),
  ...shopWays,
  'the shop was bound to another store': storeWay(
    [401, 'store_domain_mismatch'],
    (other) => setSettings(other, { storeDomain: 'other.example.com' }),
    (other) => setSettings(other, { storeDomain: null }),
  ),
}

/** The same for Stripe's events. */
export const stripeWays: Record<string, Way> = {
  'the secret was replaced': newStripeSecret('whsec_another-stripe-secret'),
  'the secret was removed': newStripeSecret(null),
  ...shopWays,
}

/** What a page without a credential depends on. */
export const siteWays: Record<string, Way> = Object.fromEntries(
  (
    [
      ['the domain was removed', [404, 'tracking_off'], (other) => setSettings(other, { siteDomains: [] })],
      [
        'the domain was replaced',
        [403, 'origin_refused'],
        (other) => setSettings(other, { siteDomains: ['x.example'] }),
      ],
      [
        'the API was switched off',
        [503, 'api_disabled'],
        setShop({ apiEnabled: false }),
        setShop({ apiEnabled: true }),
      ],
      ['the plan was lowered', [403, 'plan_required'], setShop({ plan: 'GROWTH' }), setShop({ plan: 'PROFESSIONAL' })],
      ['the shop was suspended', [403, 'shop_suspended'], suspend, resume],
    ] satisfies [string, Way['rejection'], Revoke, Revoke?][]
  ).map(([name, rejection, revoke, restore]) => [
    name,
    {
      rejection,
      make: async (other) => {
        await setSettings(other, { siteDomains: ['shop.example'] })
        return { headers: {}, revoke: () => revoke(other), ...(restore && { restore: () => restore(other) }) }
      },
    },
  ]),
)

type Revoke = (other: OtherProcess) => Promise<void>
