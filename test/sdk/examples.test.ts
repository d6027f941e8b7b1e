// SQLite only: it tests the client, not storage.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as sdk from '@referral/sdk'
import * as admins from '@referral/sdk/admin'
import * as forExpress from '@referral/sdk/express'
import * as forFastify from '@referral/sdk/fastify'
import * as forHono from '@referral/sdk/hono'
import * as msw from '@referral/sdk/msw'
import * as forNext from '@referral/sdk/next'
import * as telemetry from '@referral/sdk/otel'
import { type TestServer, testServer } from '@referral/server/testing'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { http } from 'msw/http'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type * as surface from '../../sdk/scripts/surface.ts'

// Not a static import: it is another TypeScript project, with another compiler.
const script = new URL('../../sdk/scripts/surface.ts', import.meta.url).href
const { publicFunctions, compileExamples } = (await import(script)) as typeof surface
const functions = publicFunctions()
const frameworks = { express: forExpress, fastify: forFastify, hono: forHono, next: forNext }
const SOURCES = join(import.meta.dirname, '../../sdk/src')

test('no example in the sources is left out', () => {
  const sources = globSync('**/*.ts', { cwd: SOURCES, exclude: ['schema.ts'] })
  const written = sources.flatMap((file) => readFileSync(join(SOURCES, file), 'utf8').match(/^ *\* @example$/gm) ?? [])
  expect(functions.flatMap((one) => one.examples)).toHaveLength(written.length)
})

test('the surface is found', () => {
  const names = functions.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['createCore', 'client.events.conversion', 'admin.keys.rotate']))
  expect(names).toEqual(expect.arrayContaining(['Call.safe', 'PagedCall.toArray', 'UnknownOutcomeError.reconcile']))
  expect(names).toEqual(expect.arrayContaining(['withOpenTelemetry', 'referralHandlers', 'generateSecret']))
  expect(names).toEqual(expect.arrayContaining(Object.keys(frameworks).map((name) => `${name}.referral`)))
})

describe('the documentation of every public function', () => {
  test.each(functions.map((one) => [one.name, one] as const))('%s', (_, { parameters, documented, ...one }) => {
    expect(documented, '@param').toEqual(parameters)
    expect(one.examples, '@example').toHaveLength(1)
    if (one.mayThrow) expect(one.throws, '@throws').not.toEqual([])
  })
})

// What the examples use without declaring it.
const prelude = `
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as sdk from '@referral/sdk'
import { ${Object.keys(sdk).join(', ')} } from '@referral/sdk'
import { createAdminClient, type StoreOptions } from '@referral/sdk/admin'
import { withOpenTelemetry } from '@referral/sdk/otel'
import { referralHandlers } from '@referral/sdk/msw'
import type { FastifyRequest } from '@referral/sdk/fastify'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { http } from 'msw/http'
import { setupServer } from 'msw/node'
declare function load<Name extends keyof Frameworks>(name: Name): Promise<Frameworks[Name]>
interface Frameworks {
${Object.keys(frameworks)
  .map((name) => `  '@referral/sdk/${name}': typeof import('@referral/sdk/${name}')`)
  .join('\n')}
}
declare const client: sdk.ReferralClient
declare const admin: import('@referral/sdk/admin').AdminClient
declare const affiliate: sdk.Affiliate, program: sdk.Program, batch: sdk.PayoutBatch, subscription: sdk.WebhookSubscription
declare const commission: sdk.Commission, pending: sdk.Commission, paid: sdk.Commission, rejected: sdk.Commission
declare const externalOrderId: string, affiliateId: string, programId: string, commissionId: string, cursor: string
declare const key: { id: string }, connection: { id: string }, productRule: { id: string }, delivery: { id: string }
declare const geoRule: { programId: string }, store: StoreOptions, testShop: { id: string }
declare const event: sdk.WebhookEvent, error: unknown, apiKey: string, baseUrl: string
`
const october = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
const order = { externalOrderId: '9', amountCents: 100, couponCode: 'NISA16' }

type Clients = { client: sdk.ReferralClient; admin: admins.AdminClient; server: TestServer }

/** Creates what an example uses, when it uses it. */
const values: Record<string, (clients: Clients) => unknown> = {
  affiliate: async ({ client }) => (await client.affiliates.list()).data[0],
  program: async ({ client }) => (await client.programs.list()).data[0],
  commission: async ({ client }) => (await client.commissions.list()).data[0],
  affiliateId: ({ server }) => server.seeds.affiliateId,
  programId: ({ server }) => server.seeds.programId,
  externalOrderId: ({ server }) => server.seeds.orders[0],
  commissionId: async ({ client }) => (await client.commissions.list()).data[0]!.id,
  batch: ({ client }) => client.payouts.create(october),
  subscription: ({ client }) => client.webhooks.create({ url: 'https://shop.example/hooks' }),
  cursor: async ({ client }) => (await client.webhooks.events({ limit: 1 })).next,
  testShop: ({ admin }) => admin.testShops.create(),
  key: ({ admin }) => admin.keys.create({ label: 'Another', scopes: ['events:write'] }),
  pending: async ({ client, server }) => {
    await client.programs.update(server.seeds.programId!, { autoApproveOrder: false })
    await client.events.conversion(order)
    return (await client.commissions.list({ status: 'PENDING' })).data[0]
  },
  paid: async ({ client }) => {
    await client.payouts.pay((await client.payouts.create(october)).id)
    return (await client.commissions.list({ status: 'PAID' })).data[0]
  },
  rejected: async ({ client, admin }) => admin.commissions.reject((await client.commissions.list()).data[0]!.id),
  connection: ({ admin, server }) =>
    admin.connections.create({ kind: 'product', value: '7001', affiliateId: server.seeds.affiliateId! }),
  productRule: ({ admin, server }) =>
    admin.productRules.create({
      programId: server.seeds.programId!,
      kind: 'product',
      value: '7001',
      commissionPercent: 5,
    }),
  geoRule: ({ admin, server }) => admin.geoRules.set(server.seeds.programId!, { countries: ['US'] }),
  delivery: async ({ client, admin, server }) => {
    await client.webhooks.create({ url: 'https://shop.example/hooks' })
    await client.webhooks.sendTest({ url: 'https://shop.example/hooks' })
    await server.deliveries()
    return (await admin.deliveries.list()).data[0]
  },
  store: async ({ admin }) => {
    await admin.settings.update({ storeWebhookSecret: 'the secret of a store', storeDomain: 'hats.myshopify.com' })
    return {
      shopId: (await admin.session.get()).shop.id,
      secret: 'the secret of a store',
      domain: 'hats.myshopify.com',
    }
  },
  event: () => ({ event: 'test', timestamp: '', shop_id: '', data: { test: true, message: 'It works.' } }),
  error: () => undefined,
  apiKey: ({ server }) => server.apiKey,
  baseUrl: ({ server }) => server.baseUrl,
}

const examples = functions.flatMap(({ name, examples: [example] }) => (example ? [{ name, example }] : []))
const { problems, scripts } = compileExamples(
  prelude,
  examples.map(({ example }) => example),
  import.meta.dirname,
)

test('every example compiles', () => {
  expect(problems).toEqual([])
})

describe('every example runs', () => {
  const AsyncFunction = (async () => {}).constructor as new (...code: string[]) => (...args: unknown[]) => unknown
  const load = (name: string) => frameworks[name.split('/').at(-1) as keyof typeof frameworks]
  const imports = { ...sdk, ...admins, ...telemetry, ...msw, http, setupServer, express, fastify, Hono, load }
  let server: TestServer | undefined
  let isChanged = false
  beforeAll(() => {
    vi.spyOn(console, 'log').mockReturnValue(undefined)
  })
  afterEach(() => vi.unstubAllGlobals())
  afterAll(async () => {
    vi.restoreAllMocks()
    await server?.close()
  })

  /** A server in its initial state: that of the example before, when it only read. */
  const freshServer = async (): Promise<TestServer> => {
    if (server && !isChanged) return server
    await server?.close()
    server = await testServer({ scenario: 'orders' })
    isChanged = false
    return server
  }

  test.each(examples.map(({ name }, i) => [name, scripts[i]!] as const))('%s', async (_, code) => {
    const server = await freshServer()
    const { baseUrl } = server
    vi.stubGlobal('fetch', (request: Request) => {
      isChanged ||= request.method !== 'GET'
      return server.fetch(request)
    })
    const clients: Clients = {
      server,
      client: sdk.createReferralClient({ apiKey: server.apiKey, baseUrl }),
      admin: admins.createAdminClient({ apiKey: server.ownerToken, baseUrl }),
    }
    const env = {
      REFERRAL_API_KEY: server.apiKey,
      REFERRAL_BASE_URL: baseUrl,
      REFERRAL_OWNER_TOKEN: server.ownerToken,
      WEBHOOK_SECRET: 'a shared secret',
    }
    const given: Record<string, unknown> = {
      ...imports,
      client: clients.client,
      admin: clients.admin,
      process: { env },
    }
    for (const [name, create] of Object.entries(values)) {
      const isUsed = new RegExp(`(?<![.\\w'])${name}\\b(?!:)`).test(code)
      const isDeclared = new RegExp(`const (${name}|\\{[^}]*\\b${name}\\b[^}]*\\}) =`).test(code)
      given[name] = isUsed && !isDeclared ? await create(clients) : undefined
    }
    // A block, so that examples can declare these names.
    await new AsyncFunction(...Object.keys(given), `{ ${code} }`)(...Object.values(given))
  })
})
