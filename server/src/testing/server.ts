import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../app.ts'
import { createDeps, type Deps } from '../core/context.ts'
import { openDatabase } from '../database/open.ts'
import { createApiKey } from '../domains/accounts/keys.ts'
import * as shops from '../domains/accounts/shops.ts'
import { createDispatcher } from '../domains/webhooks/delivery/dispatcher.ts'
import type { Resolve } from '../domains/webhooks/delivery/public-url.ts'
import type { Transport } from '../domains/webhooks/delivery/transport.ts'
import { disable } from '../domains/webhooks/webhooks.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { testConfig } from './config.ts'
import { type FaultKind, type FaultOptions, withFaults } from './faults.ts'
import { FOLDER, migratedFile } from './migrated-file.ts'

export type { FaultKind, FaultOptions }

export interface TestServerOptions {
  /** Default `empty`. */
  scenario?: Scenario
  /** The initial time. Default 2026-11-02T12:00:00.000Z. */
  now?: Date | string
  /** Requests per key and minute of the test clock. Default: unlimited. */
  requestsPerMinute?: number
}

/** A real server in this process, without a socket or network. `close` deletes its database. */
export interface TestServer {
  baseUrl: string
  /** A key with every scope. */
  apiKey: string
  /** The owner's credential for `/admin/v1`. */
  ownerToken: string
  shopId: string
  /** The scenario's data. */
  seeds: Seeds
  /** Pass it to the client as `fetch`. */
  fetch: (input: Request | string | URL, init?: RequestInit) => Promise<Response>
  /** Time is frozen until `advance` is called. */
  clock: { now: () => Date; advance: (milliseconds: number) => void }
  /** Makes one of the next requests fail. */
  fail: (kind: FaultKind, options?: FaultOptions) => void
  /** Waits for pending webhooks and returns all so far, in the order they were sent. */
  deliveries: () => Promise<CapturedDelivery[]>
  close: () => Promise<void>
}

const BASE_URL = 'http://referrals.test'

/** Starts a server with its own database. Close it at the end of the test. */
export const testServer = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const dataDir = mkdtempSync(join(FOLDER, 'referral-'))
  const file = join(dataDir, 'referral.db')
  writeFileSync(file, await migratedFile(), { mode: 0o600 })
  const db = await openDatabase(`file:${file}`)
  let ms = new Date(options.now ?? '2026-11-02T12:00:00.000Z').getTime()
  // Skips DNS, as if every receiver had a public address.
  const resolve: Resolve = async () => ['9.9.9.9']
  const deps: Deps & { resolve: Resolve } = { ...createDeps(testConfig(dataDir), db), now: () => ms, resolve }
  const app = createApp(deps, { limiter: limiterOf(() => ms, options.requestsPerMinute) })
  const { fetch, fail } = withFaults(async (request) => app.fetch(request))
  const { captured, idle, stop } = await captureDeliveries(deps)
  const { apiKey, ...shop } = await makeShop(deps)
  const seeds = await makeScenario(options.scenario ?? 'empty', poster(fetch, apiKey))
  await idle()
  captured.length = 0
  return {
    baseUrl: BASE_URL,
    apiKey,
    ...shop,
    seeds,
    fetch,
    fail,
    clock: {
      now: () => new Date(ms),
      advance: (milliseconds) => {
        ms += milliseconds
      },
    },
    deliveries: async () => {
      await idle()
      return [...captured]
    },
    close: async () => {
      await stop()
      await db.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Counts in windows of the test clock, so that advancing it starts a new window. */
const limiterOf = (now: () => number, limit = Number.MAX_SAFE_INTEGER): RateLimiter => {
  const used = new Map<string, number>()
  const look = (subject: string, more: number) => {
    const reset = 60 - Math.floor((now() % 60_000) / 1000)
    const window = `${subject} ${Math.floor(now() / 60_000)}`
    const count = (used.get(window) ?? 0) + more
    used.set(window, count)
    return { limit, remaining: Math.max(0, limit - count), reset, exceeded: count > limit }
  }
  return { consume: async (subject) => look(subject, 1), peek: async (subject) => look(subject, 0) }
}

const makeShop = async (deps: Deps) => {
  const input = { name: 'Test shop', plan: 'PROFESSIONAL', currency: 'USD', ownerEmail: 'owner@shop.example' } as const
  const { shop, owner } = await shops.create(deps, input)
  const ctx = await shops.operatorContext(deps, shop.id)
  const { secret } = await createApiKey(ctx, { label: 'Test', scopes: ['all'] })
  return { shopId: shop.id, ownerToken: owner.token, apiKey: secret }
}

const poster =
  (fetch: TestServer['fetch'], apiKey: string): Post =>
  async (method, path, body) => {
    const headers = { Authorization: `Bearer ${apiKey}`, 'Idempotency-Key': crypto.randomUUID() }
    const response = await fetch(`${BASE_URL}${path}`, { method, headers, body: JSON.stringify(body) })
    const reply = (await response.json()) as { data?: { id: string }; error?: string }
    if (!response.ok) throw new Error(`${method} ${path}: ${reply.error}`)
    return reply.data ?? { id: '' }
  }

/** A webhook delivery as received. */
export interface CapturedDelivery {
  url: string
  headers: Record<string, string>
  /** The exact text that was signed. */
  body: string
  /** The event's name. */
  event: string
}

/** Captures webhooks instead of sending them, with a 200 response from the receiver. */
const captureDeliveries = async (deps: Deps) => {
  const captured: CapturedDelivery[] = []
  const transport: Transport = {
    post: async ({ origin, path }, headers, body) => {
      captured.push({ url: `${origin}${path}`, headers, body, event: headers['X-Service-Event'] ?? '' })
      return { code: 'ok', httpStatus: 200, isComplete: true }
    },
    close: async () => {},
  }
  const dispatcher = createDispatcher({ ...deps, transport, disable: (subscription) => disable(deps, subscription) })
  deps.wakeDispatcher = dispatcher.wake
  await dispatcher.start()
  const waiting = deps.db.read.selectFrom('deliveries').select('id').where('status', '=', 'PENDING').limit(1)
  const idle = async (): Promise<void> => {
    dispatcher.wake()
    while ((await waiting.execute()).length > 0) await sleep(2)
  }
  return { captured, idle, stop: dispatcher.stop }
}

/** Sends a request to the API and returns the `data` of the response, or the response. */
type Post = (method: string, path: string, body: object) => Promise<Made>

interface Made {
  id: string
}

/** A scenario's data. */
export interface Seeds {
  programId?: string
  affiliateId?: string
  /** The affiliate's discount code. */
  code?: string
  /** The affiliate's slug, for `ref`. */
  ref?: string
  /** `externalOrderId` of each order. */
  orders: string[]
}

/** The initial data. Each scenario includes the ones before it. */
export type Scenario =
  /** A shop on the Professional plan, and a key with every scope. */
  | 'empty'
  /** A published program that pays 16% and auto-approves orders, and an approved affiliate with the code NISA16. */
  | 'affiliate'
  /** Three orders of 100.00 with the code in October 2026, all approved and not paid out yet. */
  | 'orders'

const CODE = 'NISA16'

const makeAffiliate = async (post: Post, seeds: Seeds): Promise<void> => {
  const program = await post('POST', '/api/v1/programs', {
    name: 'Friends',
    commissionPercent: 16,
    autoApproveOrder: true,
    status: 'PUBLISH',
  })
  const body = { email: 'nisa@example.com', firstName: 'Nisa', lastName: 'Karim', campaignId: program.id }
  const affiliate = await post('POST', '/api/v1/affiliates', body)
  await post('POST', '/api/v1/coupons', { affiliateId: affiliate.id, code: CODE })
  await post('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { status: 'APPROVED' })
  Object.assign(seeds, { programId: program.id, affiliateId: affiliate.id, code: CODE, ref: 'nisa-karim' })
}

const makeOrders = async (post: Post, seeds: Seeds): Promise<void> => {
  for (const day of ['05', '15', '25']) {
    const externalOrderId = `order-${day}`
    const occurredAt = `2026-10-${day}T12:00:00.000Z`
    await post('POST', '/api/v1/events', { externalOrderId, amountCents: 10_000, couponCode: CODE, occurredAt })
    seeds.orders.push(externalOrderId)
  }
}

/** Creates a scenario's data in an empty shop. */
const makeScenario = async (scenario: Scenario, post: Post): Promise<Seeds> => {
  const seeds: Seeds = { orders: [] }
  if (scenario !== 'empty') await makeAffiliate(post, seeds)
  if (scenario === 'orders') await makeOrders(post, seeds)
  return seeds
}
