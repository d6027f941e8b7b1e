import { ConflictError, ConnectionError, InvalidResponseError, TimeoutError, UnknownOutcomeError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceUntilSettled } from './support/clock.ts'
import { connectionError, errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

const order = { externalOrderId: '1001', amountCents: 10_000 }
const connectionReset = connectionError('ECONNRESET')
const affiliate = { id: 'aff_1', name: 'Noor', email: 'Noor@example.com', phone: null }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const failure = async (call: { safe(): Promise<{ error?: unknown }> }): Promise<unknown> => {
  const safe = call.safe()
  await advanceUntilSettled(safe)
  return (await safe).error
}

describe('a write whose response is lost', () => {
  test.each([
    ['a connection reset', connectionReset, ConnectionError],
    ['a timeout', 'hang' as const, TimeoutError],
    ['a gateway timeout', new Response('<h1>504</h1>', { status: 504 }), InvalidResponseError],
  ])('%s is an UnknownOutcomeError', async (_, step, cause) => {
    const { client, requests } = scriptedClient([step])
    const error = await failure(client.events.conversion(order))
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect((error as Error).cause).toBeInstanceOf(cause)
    const idempotencyKey = requests[0]!.headers.get('Idempotency-Key')
    expect((error as Error).message).toMatch(/reconcile\(\).*the same content or/)
    expect((error as Error).message).toContain(idempotencyKey)
    const operation = { method: 'POST', path: '/api/v1/events', operation: 'POST /api/v1/events' }
    expect(error).toMatchObject({ idempotencyKey, ...operation })
    expect((error as Error).cause).toMatchObject(operation)
  })

  test('reconcile() sends the same body with the same key and returns what the call would have returned', async () => {
    const reply = jsonResponse(201, { attribution: {}, commission: { id: 'com_1' } }, { 'Idempotent-Replayed': 'true' })
    const { client, requests } = scriptedClient([connectionReset, connectionReset, connectionReset, reply])
    const error = (await failure(client.events.conversion(order))) as UnknownOutcomeError
    expect(error.canReconcile).toBe(true)
    expect(await error.reconcile()).toMatchObject({ commission: { id: 'com_1' } })
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
    expect(new Set(requests.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  })

  test('reconcile() throws an UnknownOutcomeError while the server is still unavailable', async () => {
    const { client } = scriptedClient([connectionReset])
    const error = (await failure(client.coupons.assign({ affiliateId: 'aff_1' }))) as UnknownOutcomeError
    const again = error.reconcile().catch((caught: unknown) => caught)
    await advanceUntilSettled(again)
    expect(await again).toBeInstanceOf(UnknownOutcomeError)
  })

  test('stays an UnknownOutcomeError when a retry is rejected for another reason', async () => {
    for (const later of [
      errorResponse(503, 'storage_unavailable'),
      errorResponse(429, 'rate_limited'),
      errorResponse(403, 'key_revoked'),
    ]) {
      const { client } = scriptedClient([connectionReset, later])
      expect(
        await failure(client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-11-01' })),
      ).toBeInstanceOf(UnknownOutcomeError)
    }
  })

  test('a refused connection is a ConnectionError, because nothing was sent', async () => {
    const { client } = scriptedClient([connectionError('ECONNREFUSED')])
    const error = await failure(client.events.conversion(order))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('a 5xx of a gateway is an UnknownOutcomeError, even with an error message', async () => {
    for (const status of [500, 502, 503, 504]) {
      const { client } = scriptedClient([Response.json({ error: 'upstream reset' }, { status })])
      expect(await failure(client.events.conversion(order))).toBeInstanceOf(UnknownOutcomeError)
    }
  })

  test('a non-repeatable write is retried after a 503 of the API, not after one of a gateway', async () => {
    const body = { label: 'A', scopes: ['affiliates:read' as const] }
    const gateway = scriptedClient([new Response('no upstream', { status: 503 })])
    await expect(gateway.client.POST('/admin/v1/keys', { body })).rejects.toThrow(UnknownOutcomeError)
    expect(gateway.requests).toHaveLength(1)
    const api = scriptedClient([
      errorResponse(503, 'storage_unavailable', { 'Retry-After': '1' }),
      jsonResponse(201, success),
    ])
    const call = api.client.POST('/admin/v1/keys', { body })
    await advanceUntilSettled(call)
    expect((await call).response.status).toBe(201)
  })

  test('a non-repeatable write is not sent again after a 503 with outcome_unknown', async () => {
    const { client, requests } = scriptedClient([
      errorResponse(503, 'outcome_unknown', { 'Retry-After': '1' }),
      jsonResponse(201, success),
    ])
    const error = await client
      .POST('/admin/v1/keys', { body: { label: 'A', scopes: ['affiliates:read'] } })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect(error).toMatchObject({ canReconcile: false, cause: { status: 503, code: 'outcome_unknown' } })
    expect(requests).toHaveLength(1)
  })

  test('a keyed write is sent again with the same key after a 503 with outcome_unknown', async () => {
    const unknown = errorResponse(503, 'outcome_unknown', { 'Retry-After': '1' })
    const reply = jsonResponse(201, { attribution: {}, commission: { id: 'com_1' } }, { 'Idempotent-Replayed': 'true' })
    const { client, requests } = scriptedClient([unknown, reply])
    const call = client.events.conversion(order).withResponse()
    await advanceUntilSettled(call)
    expect(await call).toMatchObject({ idempotentReplayed: true, attempts: 2 })
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
    const lasting = await failure(scriptedClient([unknown]).client.events.conversion(order))
    expect(lasting).toBeInstanceOf(UnknownOutcomeError)
    expect(lasting).toMatchObject({ canReconcile: true })
  })

  test('409 on an update that is sent again after outcome_unknown succeeds when the fields have the values', async () => {
    const { client } = scriptedClient([
      errorResponse(503, 'outcome_unknown', { 'Retry-After': '1' }),
      errorResponse(409, 'concurrent_change'),
      jsonResponse(200, { data: affiliate }),
    ])
    const call = client.affiliates.update('aff_1', { name: 'Noor' }).withResponse()
    await advanceUntilSettled(call)
    expect(await call).toMatchObject({ data: affiliate, recovered: true })
  })

  test('an invalid certificate is a ConnectionError, because nothing was sent', async () => {
    const { client } = scriptedClient([connectionError('CERT_HAS_EXPIRED')])
    expect(await failure(client.events.conversion(order))).toBeInstanceOf(ConnectionError)
  })

  test('a read is never an UnknownOutcomeError', async () => {
    expect(await failure(scriptedClient([connectionReset]).client.analytics.get())).toBeInstanceOf(ConnectionError)
    expect(await failure(scriptedClient(['hang']).client.analytics.get())).toBeInstanceOf(TimeoutError)
  })
})

describe('recovery of a lost response', () => {
  test('409 on a retried payment succeeds when the batch is PAID', async () => {
    const batch = { id: 'bat_1', status: 'PAID' }
    const { client, requests } = scriptedClient([
      connectionReset,
      errorResponse(409, 'payout_already_paid'),
      jsonResponse(200, { ...success, data: [batch] }),
    ])
    const call = client.payouts.pay('bat_1').withResponse()
    await advanceUntilSettled(call)
    const { data, recovered } = await call
    expect(data).toMatchObject({ ok: true, id: 'bat_1' })
    expect(recovered).toBe(true)
    expect(requests[2]!.url).toBe('https://api.example/api/v1/payouts?id=bat_1')
  })

  test('409 on a retried payment for another reason is thrown', async () => {
    const { client } = scriptedClient([connectionReset, errorResponse(409, 'payout_total_mismatch')])
    expect(await failure(client.payouts.pay('bat_1'))).toBeInstanceOf(ConflictError)
  })

  test('409 on a retried update succeeds when the fields have the values that were sent', async () => {
    const { client, requests } = scriptedClient([
      connectionReset,
      errorResponse(409, 'concurrent_change'),
      jsonResponse(200, { data: affiliate }),
    ])
    const call = client.affiliates.update('aff_1', { name: 'Noor', email: ' Noor@example.com ', phone: null })
    await advanceUntilSettled(call)
    expect(await call).toEqual(affiliate)
    expect(requests[2]).toMatchObject({ method: 'PATCH', body: {} })
  })

  test('409 on a retried update is thrown when the fields have other values', async () => {
    const { client } = scriptedClient([
      connectionReset,
      errorResponse(409, 'concurrent_change'),
      jsonResponse(200, { data: affiliate }),
    ])
    expect(await failure(client.affiliates.update('aff_1', { name: 'Nora' }))).toBeInstanceOf(ConflictError)
  })

  test('the outcome stays unknown when the state cannot be read, and reconcile() sends the update', async () => {
    const forbidden = errorResponse(403, 'key_revoked')
    const { client, requests } = scriptedClient([
      connectionReset,
      errorResponse(409, 'concurrent_change'),
      forbidden,
      jsonResponse(200, { data: affiliate }),
    ])
    const error = await failure(client.affiliates.update('aff_1', { name: 'Noor' }))
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect(await (error as UnknownOutcomeError).reconcile()).toEqual(affiliate)
    expect(requests.at(-1)!.body).toEqual({ name: 'Noor' })
  })

  test('404 on a retried removal succeeds; on the first attempt it is thrown', async () => {
    const missing = errorResponse(404, 'webhook_not_found')
    const { client } = scriptedClient([connectionReset, missing])
    const call = client.webhooks.delete('whs_1')
    await advanceUntilSettled(call)
    expect(await call).toMatchObject({ ok: true, id: 'whs_1' })
    expect(await failure(scriptedClient([missing]).client.webhooks.delete('whs_1'))).toMatchObject({ status: 404 })
  })
})

describe('a response that did not come from the API', () => {
  test.each([
    ['a redirect', new Response(null, { status: 302, headers: { Location: 'https://login.example' } })],
    ['a 404 of a proxy', new Response('<h1>Not here</h1>', { status: 404 })],
    ['a 413 of a proxy', new Response('too large', { status: 413 })],
  ])('%s is an InvalidResponseError and is not retried', async (_, response) => {
    const { client, requests } = scriptedClient([response])
    const error = await failure(client.affiliates.create({ email: 'a@b.example', name: 'A' }))
    expect(error).toBeInstanceOf(InvalidResponseError)
    expect(error).toMatchObject({ status: response.status })
    expect(requests).toHaveLength(1)
  })

  const broken = [
    ['an HTML page', new Response('<html>Sign in</html>', { headers: { 'Content-Type': 'text/html' } })],
    ['an empty body', new Response('')],
    ['no content', new Response(null, { status: 204 })],
    ['a JSON text', Response.json('OK')],
    ['JSON that was cut off', new Response('{"data":{"id":"aff_1"')],
  ] as const

  test.each(broken)('%s with a 2xx status is retried like a lost connection', async (_, response) => {
    const done = jsonResponse(200, { ...success, data: affiliate })
    const calls: ((client: ReturnType<typeof scriptedClient>['client']) => { safe(): Promise<{ error?: unknown }> })[] =
      [
        (client) => client.affiliates.create({ email: 'a@b.example', name: 'A' }),
        (client) => client.affiliates.update('aff_1', { name: 'Noor' }),
        (client) => client.analytics.get(),
      ]
    for (const call of calls) {
      const { client, requests } = scriptedClient([response, response, done])
      expect(await failure(call(client))).toBeUndefined()
      expect(requests).toHaveLength(3)
      expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
    }
  })

  test.each(broken)('%s with every 2xx status is an UnknownOutcomeError of a write', async (_, response) => {
    const { client, requests } = scriptedClient([response])
    const error = await failure(client.affiliates.create({ email: 'a@b.example', name: 'A' }))
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect((error as Error).cause).toBeInstanceOf(InvalidResponseError)
    expect(requests).toHaveLength(3)
    expect(await failure(client.analytics.get())).toBeInstanceOf(InvalidResponseError)
    const once = scriptedClient([response])
    const created = once.client.POST('/admin/v1/keys', { body: { label: 'A', scopes: ['affiliates:read'] } })
    await expect(created).rejects.toThrow(UnknownOutcomeError)
    expect(once.requests).toHaveLength(1)
  })

  test('JSON without the documented properties is an UnknownOutcomeError of a write, and reconciles', async () => {
    const response = Response.json({ status: 'ok' })
    const { client, requests } = scriptedClient([response, jsonResponse(201, { data: affiliate })])
    const error = await failure(client.affiliates.create({ email: 'a@b.example', name: 'A' }))
    expect((error as Error).cause).toBeInstanceOf(InvalidResponseError)
    expect(await (error as UnknownOutcomeError).reconcile()).toEqual(affiliate)
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
    expect(await failure(scriptedClient([response]).client.analytics.get())).toBeInstanceOf(InvalidResponseError)
  })

  test('a body that ends unexpectedly is a lost response', async () => {
    const truncated = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"data":'))
            controller.error(new Error('terminated'))
          },
        }),
      )
    expect(await failure(scriptedClient([truncated]).client.analytics.get())).toBeInstanceOf(ConnectionError)
    expect(await failure(scriptedClient([truncated]).client.events.conversion(order))).toBeInstanceOf(
      UnknownOutcomeError,
    )
  })
})
