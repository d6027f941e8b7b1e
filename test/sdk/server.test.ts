// SQLite only: it tests the client, not storage.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConflictError, createReferralClient, InvalidResponseError, UnknownOutcomeError } from '@referral/sdk'
import { type TestServer, type TestServerOptions, testServer } from '@referral/server/testing'
import { unwrap } from '@referral/webhook-verifier'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const order = { externalOrderId: '1001', amountCents: 10_000, couponCode: 'NISA16' }
const october = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }

let server: TestServer
const start = async (options: TestServerOptions = { scenario: 'affiliate' }) => {
  server = await testServer(options)
  return createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch: server.fetch })
}

// Retry delays take no time. The timeout of an attempt and the server's event loop stay.
beforeEach(() => {
  const wait = globalThis.setTimeout
  vi.stubGlobal('setTimeout', (work: () => void, ms: number) => wait(work, ms === 30_000 ? ms : 0))
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await server.close()
})

describe('a connection that breaks after the write was applied', () => {
  test.each(['reset', 'bad_gateway'] as const)('%s of a conversion leaves one commission', async (fault) => {
    const client = await start()
    server.fail(fault, { method: 'POST' })
    const { data, attempts, idempotentReplayed } = await client.events.conversion(order).withResponse()
    expect({ attempts, idempotentReplayed }).toEqual({ attempts: 2, idempotentReplayed: true })
    const [row, ...others] = await client.commissions.list().toArray()
    expect(others).toEqual([])
    expect(row).toMatchObject({ id: data.commission.id, commissionAmountCents: 1_600, orderStatus: 'APPROVED' })
  })

  test('on every attempt is an UnknownOutcomeError that reconciles to one commission', async () => {
    const client = await start()
    server.fail('reset', { method: 'POST', times: 3 })
    const error = await client.events.conversion(order).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    const found = await (error as UnknownOutcomeError<{ commission: { id: string } }>).reconcile()
    expect((await client.commissions.list()).data.map(({ id }) => id)).toEqual([found.commission.id])
  })

  test('of a new affiliate, a coupon and a payout creates each once', async () => {
    const client = await start({ scenario: 'orders' })
    for (const path of ['affiliates', 'coupons', 'payouts'])
      server.fail('reset', { method: 'POST', path: `/api/v1/${path}` })
    const affiliate = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor' })
    await client.coupons.assign({ affiliateId: affiliate.id })
    const batch = await client.payouts.create(october)
    expect((await client.affiliates.list()).pagination.total).toBe(2)
    expect((await client.payouts.list()).data).toEqual([batch])
    expect(batch.totals).toMatchObject({ commissions: 3, netPayableCents: 4_800 })
  })

  test('of a payment is recovered from the 409 of the retry', async () => {
    const client = await start({ scenario: 'orders' })
    const { id } = await client.payouts.create(october)
    server.fail('reset', { method: 'PATCH' })
    const { data, recovered } = await client.payouts.pay(id, { expectedTotalCents: 4_800 }).withResponse()
    expect({ ok: data.ok, recovered }).toEqual({ ok: true, recovered: true })
    await expect(client.payouts.pay(id)).rejects.toThrow(ConflictError)
  })

  test('of a removal is recovered from the 404 of the retry', async () => {
    const client = await start()
    server.fail('reset', { method: 'DELETE' })
    const { data, recovered } = await client.affiliates.archive(server.seeds.affiliateId!).withResponse()
    expect({ ok: data.ok, recovered }).toEqual({ ok: true, recovered: true })
  })

  test('of an update applies it once', async () => {
    const client = await start()
    await client.webhooks.create({ url: 'https://shop.example/hooks' })
    server.fail('reset', { method: 'PATCH' })
    const { status } = await client.affiliates.update(server.seeds.affiliateId!, { status: 'REJECTED' })
    expect(status).toBe('REJECTED')
    expect((await server.deliveries()).map(({ event }) => event)).toEqual([
      'affiliate.rejected',
      'affiliate.status_changed',
    ])
  })
})

test('a socket that is destroyed after the write leaves one commission', async () => {
  vi.unstubAllGlobals()
  await start()
  let breaking = 1
  const http = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, `${value}`])
    const init = { method: request.method!, headers, ...(body.length ? { body } : {}) }
    const upstream = await server.fetch(`${server.baseUrl}${request.url}`, init)
    if (breaking-- > 0) return request.socket.destroy()
    response.writeHead(upstream.status, Object.fromEntries(upstream.headers)).end(await upstream.text())
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const client = createReferralClient({ apiKey: server.apiKey, baseUrl })
  const { attempts, idempotentReplayed } = await client.events.conversion(order).withResponse()
  expect({ attempts, idempotentReplayed }).toEqual({ attempts: 2, idempotentReplayed: true })
  expect((await client.commissions.list()).pagination.total).toBe(1)
  http.closeAllConnections()
  http.close()
})

test('an update without fields returns the current state and changes nothing', async () => {
  const client = await start()
  const before = (await client.affiliates.list()).data[0]!
  server.clock.advance(60_000)
  expect(await client.affiliates.update(before.id, {})).toEqual(before)
  const program = (await client.programs.list()).data[0]!
  expect(await client.programs.update(program.id, {})).toMatchObject({ id: program.id, updatedAt: program.updatedAt })
})

test('an HTML page of a proxy is retried, and an InvalidResponseError of a call without retries', async () => {
  const client = await start()
  server.fail('html')
  await expect(client.affiliates.list(undefined, { maxRetries: 0 })).rejects.toThrow(InvalidResponseError)
  server.fail('html')
  expect((await client.affiliates.list()).data).toHaveLength(1)
})

test('running an import again replays every order', async () => {
  const client = await start()
  const orders = Array.from({ length: 5 }, (_, n) => ({ ...order, externalOrderId: `import-${n}` }))
  const run = async () => {
    const replies = await Promise.all(orders.map((one) => client.events.conversion(one).withResponse()))
    return replies.map(({ idempotentReplayed }) => idempotentReplayed)
  }
  expect(await run()).toEqual(orders.map(() => false))
  expect(await run()).toEqual(orders.map(() => true))
  const changed = await client.events.conversion({ ...orders[0]!, amountCents: 1 }).withResponse()
  expect(changed.response.headers.get('X-Order-Already-Recorded')).toBe('true')
  expect((await client.commissions.list()).pagination.total).toBe(5)
})

test('429 is retried after the window resets', async () => {
  const client = await start({ requestsPerMinute: 3 })
  const paced = createReferralClient({
    apiKey: server.apiKey,
    baseUrl: server.baseUrl,
    fetch: server.fetch,
    onRetry: ({ delayMs }) => server.clock.advance(delayMs),
  })
  for (let n = 0; n < 3; n++) await client.programs.list()
  expect(client.rateLimit?.remaining).toBe(0)
  const { attempts } = await paced.programs.list().withResponse()
  expect(attempts).toBe(2)
})

test('a loop that changes the filtered field sees every row once', async () => {
  const client = await start({ scenario: 'empty' })
  for (let n = 0; n < 25; n++) await client.affiliates.create({ email: `a${n}@example.com`, name: `A ${n}` })
  const seen: string[] = []
  for await (const { id } of client.affiliates.list({ status: 'PENDING', limit: 4 })) {
    seen.push(id)
    await client.affiliates.update(id, { status: 'APPROVED' })
  }
  expect(new Set(seen).size).toBe(25)
  expect((await client.affiliates.list({ status: 'PENDING' })).pagination.total).toBe(0)
})

test('captures deliveries as a receiver gets them', async () => {
  const client = await start()
  const secret = 'a shared secret'
  await client.webhooks.create({ url: 'https://shop.example/hooks', secret })
  await client.events.conversion(order)
  const [delivery] = await server.deliveries()
  const event = await unwrap({ headers: delivery!.headers, body: delivery!.body }, { secret, tolerance: Infinity })
  expect(event).toMatchObject({ event: 'commission.created', data: { externalOrderId: '1001' } })
})
