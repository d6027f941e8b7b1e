import { execFile } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type ServerType, serve } from '@hono/node-server'
import { createReferralClient, type ReferralClient } from '@referral/sdk'
import { type TestServer, type TestServerOptions, testServer } from '@referral/server/testing'
import { afterEach, expect, test } from 'vitest'
import { payLastMonth } from '../../examples/pay-last-month.ts'

const script = fileURLToPath(new URL('../../examples/pay-last-month.ts', import.meta.url))
let server: TestServer
let client: ReferralClient
let listener: ServerType | undefined
afterEach(async () => {
  listener?.close()
  listener = undefined
  await server.close()
})

async function start(options: TestServerOptions = { scenario: 'orders' }) {
  server = await testServer(options)
  client = createReferralClient({
    apiKey: server.apiKey,
    baseUrl: server.baseUrl,
    fetch: server.fetch,
    // Retries would only slow the test down.
    maxRetries: 0,
  })
}

const pay = (maxCents = 100_000) => payLastMonth(client, maxCents, server.clock.now())
const batches = () => client.payouts.list().toArray()

test('pays last month once', async () => {
  await start()
  const first = await pay()
  const [batch] = await batches()
  expect(first).toBe(`2026-10: 4800 cents USD, paid as ${batch?.id}`)
  expect(batch).toMatchObject({
    status: 'PAID',
    periodStart: '2026-10-01T00:00:00.000Z',
    periodEnd: '2026-10-31T23:59:59.999Z',
  })
  expect(await pay()).toBe('2026-10: nothing to pay')
  expect(await batches()).toHaveLength(1)
})

test('a run after a crash continues with the open batch', async () => {
  await start()
  server.fail('unreachable', { method: 'PATCH' })
  await expect(pay()).rejects.toThrow()
  expect(await batches()).toMatchObject([{ status: 'OPEN' }])
  expect(await pay()).toMatch(/^2026-10: 4800 cents/)
  expect(await batches()).toMatchObject([{ status: 'PAID' }])
})

test.each(['POST', 'PATCH'])('a lost response to %s leads to no second payment', async (method) => {
  await start()
  // The first POST is the preview; only the one that creates the batch may fail.
  const fetch = async (request: Request) => {
    const writes = request.method === method && !(await request.clone().text()).includes('dryRun')
    if (writes) server.fail('reset', { method })
    return server.fetch(request)
  }
  const breaking = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch, maxRetries: 0 })
  await payLastMonth(breaking, 100_000, server.clock.now()).catch(() => undefined)
  await pay()
  expect(await batches()).toMatchObject([{ status: 'PAID', totals: { netPayableCents: 4800 } }])
})

test('pays nothing and creates no batch above the maximum', async () => {
  await start()
  await expect(pay(4799)).rejects.toThrow('4800 cents USD exceeds the maximum of 4799')
  expect(await batches()).toEqual([])
})

test('an order that arrives between preview and batch is not paid unchecked', async () => {
  await start()
  const fetch = async (request: Request) => {
    const text = await request.clone().text()
    const response = await server.fetch(request)
    if (text.includes('dryRun'))
      await client.events.conversion({
        externalOrderId: 'late',
        amountCents: 10_000,
        couponCode: 'NISA16',
        occurredAt: '2026-10-30T12:00:00.000Z',
      })
    return response
  }
  const watched = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch, maxRetries: 0 })
  await expect(payLastMonth(watched, 5000, server.clock.now())).rejects.toMatchObject({ code: 'payout_total_mismatch' })
  await expect(pay(5000)).rejects.toThrow('6400 cents')
  expect(await batches()).toMatchObject([{ status: 'OPEN' }])
})

test('pays December in January', async () => {
  await start({ scenario: 'empty', now: '2027-01-02T06:00:00.000Z' })
  expect(await pay()).toBe('2026-12: nothing to pay')
})

test('runs twice from the command line', async () => {
  const now = new Date()
  await start({ scenario: 'affiliate', now })
  const occurredAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0)).toISOString()
  await client.events.conversion({ externalOrderId: '1', amountCents: 10_000, couponCode: 'NISA16', occurredAt })
  const { port } = await new Promise<AddressInfo>((ready) => {
    listener = serve({ fetch: (request) => server.fetch(request), hostname: '127.0.0.1', port: 0 }, ready)
  })
  const env = { REFERRAL_BASE_URL: `http://127.0.0.1:${port}`, REFERRAL_API_KEY: server.apiKey }
  const run = () =>
    new Promise<string>((done, fail) => {
      execFile(process.execPath, [script, '5000'], { env: { PATH: process.env.PATH, ...env } }, (error, stdout) =>
        error ? fail(error) : done(stdout),
      )
    })
  expect(await run()).toMatch(/: 1600 cents USD, paid as \w+\n$/)
  expect(await run()).toMatch(/: nothing to pay\n$/)
})
