import { request as httpRequest } from 'node:http'
import { serve } from '@hono/node-server'
import { describe, expect } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

const order = { externalOrderId: 'bad', amountCents: 10_000, couponCode: 'NISA16' }

/** A rejected request gets a one-sentence error without internal details, and changes nothing. */
async function rejected(server: TestServer, call: () => Promise<Reply>) {
  const before = snapshot(server)
  const reply = await call()
  const { status, code, field } = rejectionOf(reply)
  expect(status, JSON.stringify(reply.body)).toBe(400)
  expect(reply.body.error).toMatch(/^[^\n{}]{5,300}\.$/)
  expect(snapshot(server)).toBe(before)
  return { code, field }
}

describe('400 names the field', () => {
  test.for([
    [{ amountCents: '100' }, 'amountCents'],
    [{ amountCents: -1 }, 'amountCents'],
    [{ amountCents: 1.5 }, 'amountCents'],
    [{ amountCents: 2_147_483_648 }, 'amountCents'],
    [{ discountCents: 2 ** 53 }, 'discountCents'],
    [{ currency: 'usd' }, 'currency'],
    [{ type: 'sale' }, 'type'],
    [{ type: 7 }, 'type'],
    [{ externalOrderId: '  ' }, 'externalOrderId'],
    [{ externalOrderId: 17 }, 'externalOrderId'],
    [{ externalOrderId: 'x'.repeat(256) }, 'externalOrderId'],
    [{ lineItems: {} }, 'lineItems'],
    [{ lineItems: Array(10_000).fill({}) }, 'lineItems'],
    [{ lineItems: [{}, { priceCents: 1.5 }] }, 'lineItems[1].priceCents'],
    [{ lineItems: [{ quantity: 0 }] }, 'lineItems[0].quantity'],
    [{ shipping: { country: 1 } }, 'shipping.country'],
    [{ occurredAt: '2026-02-30' }, 'occurredAt'],
    [{ occurredAt: '2026-10-01T10:00:00' }, 'occurredAt'],
  ])('an order with %j names the field %s', async ([change, field], { server }) => {
    const rejection = await rejected(server, () => convert(server, { ...order, ...change }))
    expect(rejection).toEqual({ code: 'invalid_body', field })
  })

  test('a text with U+0000 of an order', async ({ server }) => {
    const rejection = await rejected(server, () => convert(server, { ...order, note: 'a\u0000b' }))
    expect(rejection).toEqual({ code: 'invalid_body' })
  })

  test('an unknown property of an affiliate, even a misleading one', async ({ server }) => {
    const post = (raw: string) => () => server.request('POST', '/api/v1/affiliates', { raw })
    for (const [field, value] of [
      ['rank', '1'],
      ['__proto__', '{"status":"APPROVED"}'],
      ['constructor', '1'],
    ]) {
      const rejection = await rejected(server, post(`{"email":"a@b.co","name":"A","${field}":${value}}`))
      expect(rejection).toEqual({ code: 'unknown_property', field })
    }
  })

  test('a missing name', async ({ server }) => {
    const body = { email: 'a@b.co' }
    const rejection = await rejected(server, () => server.request('POST', '/api/v1/affiliates', { body }))
    expect(rejection).toEqual({ code: 'invalid_body', field: 'name' })
  })

  test.for([
    ['limit=ten', 'limit'],
    ['limit=1.5', 'limit'],
    ['page=0', 'page'],
    ['page=1&page=2', 'page'],
    ['q=%00', 'q'],
  ])('a list with ?%s names the field %s', async ([query, field], { server }) => {
    const rejection = await rejected(server, () => server.request('GET', `/api/v1/affiliates?${query}`))
    expect(rejection).toEqual({ code: 'invalid_parameter', field })
  })

  test.for([
    ['PATCH', 'payouts?id=pay_x&action=pay&expectedTotalcents=1', 'expectedTotalcents'],
    ['POST', 'events?dryrun=1', 'dryrun'],
    ['POST', 'refunds?dry_run=1', 'dry_run'],
    ['POST', 'cancellations?colour=red&dryRum=1', 'dryRum'],
    ['DELETE', 'affiliates?id=aff_x&-ID=aff_y', undefined],
    ['POST', 'payouts?dryRun=1', 'dryRun'],
    ['POST', 'payouts?dryRun[]=1', 'dryRun'],
    ['POST', 'refunds?dryRun[0]=1', 'dryRun'],
    ['PATCH', 'payouts?id=pay_x&action=pay&dryrun=1', 'dryRun'],
    ['DELETE', 'refunds?externalOrderId=1&externalRefundId=2&dryRun=1', 'dryRun'],
  ])('%s %s with a misspelled or misplaced parameter names it', async ([method, address, field], { server }) => {
    const rejection = await rejected(server, () => server.request(method, `/api/v1/${address}`, { body: order }))
    expect(rejection).toEqual({ code: 'invalid_parameter', field })
  })

  test.for(['events', 'webhooks', 'refunds'])('POST %s with dryRun in its body names it', async (path, { server }) => {
    const body = { dryRun: true, ...order, externalRefundId: '1', url: 'https://93.184.215.14/' }
    const rejection = await rejected(server, () => server.request('POST', `/api/v1/${path}`, { body }))
    expect(rejection).toEqual({ code: 'unknown_property', field: 'dryRun' })
  })

  test('200 for other unknown parameters, and for a misspelled one of a read', async ({ server }) => {
    expect((await server.request('GET', '/api/v1/affiliates?unknown=1&Limit=x')).status).toBe(200)
    expect((await server.request('POST', '/api/v1/events?dryRun=1&unknown=1', { body: order })).status).toBe(200)
  })
})

describe('400 for a body that is not a JSON object', () => {
  const post = (server: TestServer, raw: string | Uint8Array) => () =>
    server.request('POST', '/api/v1/affiliates', { raw })
  test.for([
    ['cut off', '{"email":', 'invalid_json'],
    ['a trailing comma', '{"email":"a@b.co",}', 'invalid_json'],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'invalid_json'],
    ['a property twice', '{"email":"a@b.co","name":"A","n\\u0061me":"B"}', 'invalid_body'],
    ['a list', '[]', 'invalid_body'],
    ['null', 'null', 'invalid_body'],
    ['text', '"x"', 'invalid_body'],
    ['half a surrogate', '{"email":"a@b.co","name":"\\ud800"}', 'invalid_body'],
    ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000), 'invalid_body'],
    ['65,000 values', `{"name":[${'1,'.repeat(65_000)}1]}`, 'invalid_body'],
    ['many small lists', `[${'[],'.repeat(200_000)}[]]`, 'invalid_body'],
    ['90,000 properties', `{"items":[{},{${Array.from({ length: 90_000 }, (_, i) => `"p${i}":1`)}}]}`, 'invalid_body'],
    ['2 MB', JSON.stringify({ note: 'x'.repeat(2_000_000) }), 'body_too_large'],
  ] as const)('%s', async ([_name, raw, code], { server }) => {
    expect(await rejected(server, post(server, raw))).toEqual({ code })
  })

  test('an empty body', async ({ server }) => {
    expect(await rejected(server, post(server, ''))).toEqual({ code: 'invalid_body', field: 'email' })
  })

  test('201 for an order of 1,000 lines with every property of a store', async ({ server }) => {
    const fields = Array.from({ length: 60 }, (_, i) => [`field_${i}`, null])
    const line = { priceCents: 100, ...Object.fromEntries(fields) }
    const body = { externalOrderId: 'all-fields', lineItems: Array.from({ length: 1000 }, () => line) }
    const headers = { 'Idempotency-Key': 'all-fields' }
    expect((await server.request('POST', '/api/v1/events', { body, headers })).status).toBe(201)
  })

  test('200 for brackets, commas and lone surrogates in strings, and for surrogate pairs', async ({ server }) => {
    const brackets = '[{,'.repeat(30)
    const raw = `{"name":"${brackets} \\" \\\\ud800 \\ud83d\\ude00"}`
    const reply = await server.request('POST', '/api/v1/programs', { raw })
    expect([reply.status, reply.body.data?.name]).toEqual([201, `${brackets} " \\ud800 😀`])
  })
})

test('400 for the dry run of a click, which would have been stored', async ({ server }) => {
  const click = { type: 'click', ref: 'nisa-karim' }
  const rejection = await rejected(server, () => server.request('POST', '/api/v1/events?dryRun=1', { body: click }))
  expect(rejection).toEqual({ code: 'invalid_parameter', field: 'dryRun' })
})

test('201 for product ids of another format, which match nothing', async ({ server }) => {
  const lineItems = [{ productId: 'gid://shopify/Product/1', variantId: null, quantity: 1, priceCents: 100 }]
  const reply = await convert(server, { externalOrderId: 'gid', lineItems })
  expect([reply.status, reply.body.attribution.reasonCode]).toEqual([201, 'NO_MATCH'])
})

test('the content type does not matter, the bytes do', async ({ server }) => {
  const reply = await server.request('POST', '/api/v1/programs', {
    body: { name: 'Plain' },
    headers: { 'Content-Type': 'text/plain' },
  })
  expect(reply.status).toBe(201)
})

test('400 for a chunked body over 1 MiB, over a real socket, and the connection stays usable', async ({ server }) => {
  const listener = serve({ fetch: server.app.fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((done) => listener.once('listening', done))
  const { port } = listener.address() as { port: number }
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/api/v1/programs',
        headers: { Authorization: `Bearer ${server.shop.key}` },
      },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode))
      },
    )
    request.on('error', reject)
    for (let i = 0; i < 20; i++) request.write('x'.repeat(64 * 1024))
    request.end()
  })
  expect(status).toBe(400)
  const next = await fetch(`http://127.0.0.1:${port}/api/v1/docs`)
  expect(next.status).toBe(200)
  await new Promise((done) => listener.close(done))
})
