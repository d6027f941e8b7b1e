import { randomBytes } from 'node:crypto'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { openDeps } from '../support/open-deps.ts'
import { freePort, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createShop } from '../support/tenants.ts'

/** A new shop and keys with every scope. */
export interface EmptyShop {
  key: string
  /** Not for the run, which may use up the requests of a key. */
  readerKey: string
  ownerToken: string
}

export type ThisServer = Awaited<ReturnType<typeof startThisServer>>

/** A server process for a run of the suite. Without `databaseUrl`, its database is a file in its own folder. */
export async function startThisServer(databaseUrl?: string) {
  const folder = temporaryFolder()
  const receiverPort = await freePort()
  const env = {
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    REFERRAL_DATA_DIR: folder.path,
    REFERRAL_DEMO: '0',
    LOG_LEVEL: 'error',
    REFERRAL_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    REFERRAL_WEBHOOK_ALLOW: `127.0.0.1:${receiverPort}`,
  }
  const server = await startServer(env)
  const { deps, close } = await openDeps(env)

  async function emptyShopOf(plan: shops.Plan): Promise<EmptyShop> {
    const shop = { name: 'Hats', plan, currency: 'USD', ownerEmail: 'owner@localhost' }
    const { shopId, ownerToken } = await createShop(deps, shop)
    const keyOf = async (label: string) =>
      (await createApiKey(await shops.operatorContext(deps, shopId), { label, scopes: ['all'] })).secret
    return { key: await keyOf('Test'), readerKey: await keyOf('Reader'), ownerToken }
  }

  // biome-ignore lint/suspicious/noExplicitAny: the tests read several resources
  const request = async (key: string, method: string, path: string, body?: object): Promise<any> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
    return response.json()
  }

  return {
    url: server.url,
    /** Where the server may deliver to. */
    receiverPort,
    request,
    emptyShopOf,
    /** A shop with a program, as a merchant has one. */
    shopOf: async (plan: shops.Plan): Promise<EmptyShop> => {
      const shop = await emptyShopOf(plan)
      await request(shop.key, 'POST', '/programs', { name: 'Friends' })
      return shop
    },
    /** What a merchant would notice after a run. */
    noticed: async ({ readerKey: key }: EmptyShop) => {
      const [webhooks, affiliates, programs] = await Promise.all(
        ['/webhooks', '/affiliates', '/programs?limit=100'].map((path) => request(key, 'GET', path)),
      )
      const open = await Promise.all(
        ['APPROVED', 'PENDING'].map((status) => request(key, 'GET', `/commissions?limit=100&status=${status}`)),
      )
      const last = await request(key, 'GET', `/programs?limit=100&page=${programs.pagination.totalPages}`)
      const defaults = last.data.filter(({ isDefault }: { isDefault: boolean }) => isDefault)
      return {
        webhooks: webhooks.data,
        affiliates: affiliates.pagination.total,
        // Nobody is paid what a refund of a paid order takes back.
        payable: open
          .flatMap(({ data }) => data)
          .filter((one: { commissionAmountCents: number }) => one.commissionAmountCents > 0),
        defaults: defaults.map(({ name }: { name: string }) => name),
      }
    },
    close: async () => {
      await server.stop()
      await close()
      folder.remove()
    },
  }
}

/** What is noticed of a shop whose run has left nothing. */
export const NOTHING = { webhooks: [], affiliates: 0, payable: [], defaults: ['Friends'] }
