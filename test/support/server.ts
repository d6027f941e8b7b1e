import { createReferralClient } from '@referral/sdk'
import { pino } from 'pino'
import { createApp } from '../../server/src/app.ts'
import type { Config } from '../../server/src/config.ts'
import type { Deps } from '../../server/src/core/context.ts'
import { createDeps } from '../../server/src/core/context.ts'
import type { IdPrefix } from '../../server/src/core/ids.ts'
import { createDashboard } from '../../server/src/dashboard/mount.ts'
import { openLimitStore } from '../../server/src/database/limit-store.ts'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { createRateLimiter, LIMITER_OPTIONS, type RateLimiter } from '../../server/src/http/rate-limit.ts'
import { BodyBudget } from '../../server/src/http/read-body.ts'
import type { Server } from '../../server/src/http/server.ts'
import { testConfig } from '../../server/src/testing/config.ts'
import { checkedFetch } from './checked-fetch.ts'
import { asCall, asLateCall, testDatabase } from './database.ts'
import { createShop } from './tenants.ts'

const START = Date.parse('2026-11-02T12:00:00.000Z')

/** Gives access to the operator API of every test server. */
export const OPERATOR_TOKEN = 'operator-token-of-the-test-server-0001'

export interface TestShop {
  shopId: string
  ownerToken: string
  /** A key with every scope. */
  key: string
  keyId: string
}

export interface Reply {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of every shape; the document has checked them
  body: any
}

export interface RequestOptions {
  body?: unknown
  /** Sent unchanged instead of `body`. */
  raw?: string | Uint8Array | ReadableStream
  headers?: Record<string, string>
  /** Another key than the shop's; null for none. */
  key?: string | null
}

export type TestServer = Awaited<ReturnType<typeof testServer>>

export interface TestServerOptions {
  config?: Partial<Config>
  /** Applies the real limits; otherwise requests are not limited. */
  limited?: boolean
  /** A backup of SQLite that the database starts from. */
  backup?: string
}

/** The whole server on its own database, with a shop, a clock that only tests move, and a checked fetch. */
export async function testServer(options: TestServerOptions = {}) {
  const { url, dir, db, sql, settled, remove } = await testDatabase(options.backup)
  const clock = {
    ms: START,
    advance: (ms: number) => {
      clock.ms += ms
    },
  }
  const logs: string[] = []
  const pinned = new Map<IdPrefix, string[]>()
  const base = createDeps(testConfig(dir, { operatorToken: OPERATOR_TOKEN, ...options.config }), db)
  const deps: Deps = {
    ...base,
    log: pino({ level: 'debug' }, { write: (line: string) => void logs.push(line) }),
    now: () => clock.ms,
    newId: (prefix) => pinned.get(prefix)?.shift() ?? base.newId(prefix),
  }
  const exhausted = new Set<string>()
  const limits = await openLimitStore({ redisUrl: undefined, databaseUrl: url }, LIMITER_OPTIONS)
  const limiter = options.limited
    ? createRateLimiter({ store: limits.store, timeoutMs: 5000 })
    : roomyLimiter(exhausted)
  const bodies = new BodyBudget()
  const app = createApp(deps, { limiter, bodyBudget: bodies })
  const fetch = checkedFetch(async (request) => {
    const send = () => app.fetch(request)
    // Reads do not race.
    const response = await (request.method === 'GET' ? send() : asCall(send))
    await settled()
    return response
  })
  const createShop = (plan: shops.Plan = 'PROFESSIONAL', scopes = ['all']) => newShop(deps, plan, scopes)
  const clientOf = (apiKey: string) => createReferralClient({ apiKey, baseUrl: 'http://test', fetch, maxRetries: 0 })

  /** Clients for the requests of one shop. */
  const asShop = (shop: TestShop) => {
    async function request(
      method: string,
      path: string,
      { body, raw, headers = {}, key = shop.key }: RequestOptions = {},
    ): Promise<Reply> {
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const isStream = payload instanceof ReadableStream
      const init = {
        method,
        headers: { ...(key === null ? {} : { Authorization: `Bearer ${key}` }), ...headers },
        body: payload as BodyInit | undefined,
        ...(isStream && { duplex: 'half' }),
      }
      const send = () => fetch(`http://test${path}`, init)
      const response = await (isStream ? asLateCall(send) : send())
      const isJson = response.headers.get('Content-Type')?.startsWith('application/json')
      return {
        status: response.status,
        headers: response.headers,
        body: isJson ? await response.json() : await response.text(),
      }
    }
    return {
      shop,
      /** The SDK with the shop's key; `clientOf` takes another one. */
      client: clientOf(shop.key),
      request,
      /** A request to the admin API with the owner's token. */
      owner: (method: string, path: string, body?: unknown, options: RequestOptions = {}) =>
        request(method, `/admin/v1${path}`, { key: shop.ownerToken, body, ...options }),
    }
  }

  return {
    app,
    /** Of the API and of the pages. */
    routes: [...app.routes, ...createDashboard({ deps, limiter } as Server).routes].filter(
      ({ path }) => !path.includes('*'),
    ),
    limiter,
    bodies,
    fetch,
    ...asShop(await createShop()),
    asShop,
    clientOf,
    deps,
    db,
    clock,
    logs,
    /** Callers (`key:<id>`) whose window is used up. */
    exhausted,
    /** The database, as DATABASE_URL. */
    url,
    createShop,
    /** A second connection, to inspect and to damage the database. */
    sql,
    /** The next ids of a kind. */
    pin: (prefix: IdPrefix, ...ids: string[]) => pinned.set(prefix, ids),
    close: async () => {
      await limits.close()
      await remove()
    },
  }
}

async function newShop(deps: Deps, plan: shops.Plan, scopes: string[]): Promise<TestShop> {
  const shop = await createShop(deps, { name: 'Test shop', plan, currency: 'USD', ownerEmail: 'owner@shop.example' })
  const { keyId, secret } = await createApiKey(await shops.operatorContext(deps, shop.shopId), {
    label: 'Test',
    scopes,
  })
  return { ...shop, key: secret, keyId }
}

function roomyLimiter(exhausted: Set<string>): RateLimiter {
  const window = async (subject: string, limit: number) =>
    exhausted.has(subject)
      ? { limit, remaining: 0, reset: 42, exceeded: true }
      : { limit, remaining: limit, reset: 60, exceeded: false }
  return { consume: window, peek: window }
}
