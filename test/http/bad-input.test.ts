import { request as httpRequest } from 'node:http'
import { serve } from '@hono/node-server'
import { describe, expect } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

const order = { externalOrderId: 'bad', amountCents: 10_000, couponCode: 'NISA16' }

/** A rejected request gets a one-sentence error without internal details, and changes nothing. */
async function refused(server: TestServer, call: () => Promise<Reply>): Promise<string> {
  const before = snapshot(server)
  const { status, body } = await call()
  expect(status, JSON.stringify(body)).toBe(400)
  expect(body.error).toMatch(/^[^\n{}]{5,300}\.$/)
  expect(snapshot(server)).toBe(before)
  return body.error
}

describe('400 names the field', () => {
  test.for([
    ['amountCents', { amountCents: '100' }, 'amountCents must be an integer from 0 to 2147483647 or null.'],
    ['amountCents', { amountCents: -1 }, 'amountCents must be an integer from 0 to 2147483647 or null.'],
    ['amountCents', { amountCents: 1.5 }, 'amountCents must be an integer from 0 to 2147483647 or null.'],
    ['amountCents', { amountCents: 2_147_483_648 }, 'amountCents must be an integer from 0 to 2147483647 or null.'],
    ['discountCents', { discountCents: 2 ** 53 }, 'discountCents must be an integer from 0 to 2147483647 or null.'],
    ['currency', { currency: 'usd' }, 'currency must be three capital letters, like USD.'],
    ['type', { type: 'sale' }, 'type must be one of conversion, click, page_view.'],
    ['type', { type: 7 }, 'type must be one of conversion, click, page_view.'],
    ['externalOrderId', { externalOrderId: '  ' }, 'externalOrderId is required.'],
    ['externalOrderId', { externalOrderId: 17 }, 'externalOrderId must be text of at most 255 characters or null.'],
    [
      'externalOrderId',
      { externalOrderId: 'x'.repeat(256) },
      'externalOrderId must be text of at most 255 characters or null.',
    ],
    ['lineItems', { lineItems: {} }, 'lineItems must be a list of at most 1000 items or null.'],
    ['lineItems', { lineItems: Array(10_000).fill({}) }, 'lineItems must be a list of at most 1000 items or null.'],
    [
      'lineItems[1].priceCents',
      { lineItems: [{}, { priceCents: 1.5 }] },
      'lineItems[1].priceCents must be an integer from 0 to 2147483647 or null.',
    ],
    [
      'lineItems[0].quantity',
      { lineItems: [{ quantity: 0 }] },
      'lineItems[0].quantity must be an integer from 1 to 1000000 or null.',
    ],
    [
      'shipping.country',
      { shipping: { country: 1 } },
      'shipping.country must be text of at most 100 characters or null.',
    ],
    [
      'occurredAt',
      { occurredAt: '2026-02-30' },
      'occurredAt must be an ISO 8601 date (2026-10-31) or a timestamp with an offset (2026-10-31T23:59:59.999Z).',
    ],
    [
      'occurredAt',
      { occurredAt: '2026-10-01T10:00:00' },
      'occurredAt must be an ISO 8601 date (2026-10-31) or a timestamp with an offset (2026-10-31T23:59:59.999Z).',
    ],
    ['a text', { note: 'a\u0000b' }, 'Text must not contain the character U+0000 or a lone surrogate.'],
  ])('%s: %j', async ([_name, change, sentence], { server }) => {
    expect(await refused(server, () => convert(server, { ...order, ...change }))).toBe(sentence)
  })

  test('an unknown property of an affiliate, even a misleading one', async ({ server }) => {
    const raw = (text: string) => server.request('POST', '/api/v1/affiliates', { raw: text })
    expect(await refused(server, () => raw('{"email":"a@b.co","name":"A","rank":1}'))).toBe(
      'rank is not a property of this request.',
    )
    expect(await refused(server, () => raw('{"email":"a@b.co","name":"A","__proto__":{"status":"APPROVED"}}'))).toBe(
      '__proto__ is not a property of this request.',
    )
    expect(await refused(server, () => raw('{"email":"a@b.co","name":"A","constructor":1}'))).toContain('constructor')
  })

  test('a missing name', async ({ server }) => {
    expect(
      await refused(server, () => server.request('POST', '/api/v1/affiliates', { body: { email: 'a@b.co' } })),
    ).toBe('name or firstName is required.')
  })

  test('a query parameter: wrong type, twice, out of range', async ({ server }) => {
    const list = (query: string) => () => server.request('GET', `/api/v1/affiliates?${query}`)
    expect(await refused(server, list('limit=ten'))).toBe('limit must be an integer from 1 to 100.')
    expect(await refused(server, list('limit=1.5'))).toBe('limit must be an integer from 1 to 100.')
    expect(await refused(server, list('page=0'))).toBe('page must be an integer from 1 to 2147483647.')
    expect(await refused(server, list('page=1&page=2'))).toBe('page must be sent only once.')
    expect(await refused(server, list('q=%00'))).toBe('q must not contain the character U+0000.')
    expect((await server.request('GET', '/api/v1/affiliates?unknown=1')).status).toBe(200)
  })
})

describe('400 for a body that is not a JSON object', () => {
  const post = (server: TestServer, raw: string | Uint8Array) => () =>
    server.request('POST', '/api/v1/affiliates', { raw })
  test.for([
    ['cut off', '{"email":', 'The request body is not valid JSON.'],
    ['a trailing comma', '{"email":"a@b.co",}', 'The request body is not valid JSON.'],
    ['a list', '[]', 'The request body must be an object.'],
    ['null', 'null', 'The request body must be an object.'],
    ['text', '"x"', 'The request body must be an object.'],
    ['nothing', '', 'email is required.'],
    [
      'half a surrogate',
      '{"email":"a@b.co","name":"\\ud800"}',
      'Text must not contain the character U+0000 or a lone surrogate.',
    ],
    [
      '100,000 levels',
      '['.repeat(100_000) + ']'.repeat(100_000),
      'The request body must not be nested more than 32 levels deep.',
    ],
  ])('%s', async ([_name, raw, sentence], { server }) => {
    expect(await refused(server, post(server, raw))).toBe(sentence)
  })

  test.for([
    ['65,000 values', `{"name":[${'1,'.repeat(65_000)}1]}`],
    ['many small lists', `[${'[],'.repeat(200_000)}[]]`],
  ])('%s', async ([_name, raw], { server }) => {
    expect(await refused(server, post(server, raw))).toBe('The request body must not contain more than 65000 values.')
  })

  test('90,000 properties', async ({ server }) => {
    const raw = `{"items":[{},{${Array.from({ length: 90_000 }, (_, i) => `"p${i}":1`)}}]}`
    expect(await refused(server, post(server, raw))).toBe(
      'An object in the request body must not have more than 500 properties.',
    )
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

  test('bytes that are not UTF-8', async ({ server }) => {
    expect(await refused(server, post(server, new Uint8Array([0x22, 0xff, 0x22])))).toBe(
      'The request body is not valid JSON.',
    )
  })

  test('2 MB', async ({ server }) => {
    expect(await refused(server, post(server, JSON.stringify({ note: 'x'.repeat(2_000_000) })))).toBe(
      'The request body is larger than 1 MiB.',
    )
  })
})

test('400 for the dry run of a click, which would have been stored', async ({ server }) => {
  const click = { type: 'click', ref: 'nisa-karim' }
  expect(await refused(server, () => server.request('POST', '/api/v1/events?dryRun=1', { body: click }))).toBe(
    'dryRun is not allowed for clicks and page views.',
  )
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
