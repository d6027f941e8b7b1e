import { ConflictError, ConnectionError, InvalidResponseError, TimeoutError, UnknownOutcomeError } from '@referral/sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { settleAfter } from './support/clock.ts'
import { broken, json, refusal, scripted } from './support/scripted.ts'

const order = { externalOrderId: '1001', amountCents: 10_000 }
const reset = broken('ECONNRESET')
const affiliate = { id: 'aff_1', name: 'Noor', email: 'Noor@example.com', phone: null }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const failure = async (call: { safe(): Promise<{ error?: unknown }> }): Promise<unknown> => {
  const safe = call.safe()
  await settleAfter(safe)
  return (await safe).error
}

describe('a write whose answer never came', () => {
  test.each([
    ['a reset', reset, ConnectionError],
    ['silence', 'hang' as const, TimeoutError],
    ['a gateway that gave up', new Response('<h1>504</h1>', { status: 504 }), InvalidResponseError],
  ])('%s is an UnknownOutcomeError', async (_, step, cause) => {
    const { client, requests } = scripted([step])
    const error = await failure(client.events.conversion(order))
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect((error as Error).cause).toBeInstanceOf(cause)
    expect(error).toMatchObject({ idempotencyKey: requests[0]!.headers.get('Idempotency-Key') })
  })

  test('reconcile() sends the same body under the same key and gives what the call would have given', async () => {
    const reply = json(201, { attribution: {}, commission: { id: 'com_1' } }, { 'Idempotent-Replayed': 'true' })
    const { client, requests } = scripted([reset, reset, reset, reply])
    const error = (await failure(client.events.conversion(order))) as UnknownOutcomeError
    expect(error.canReconcile).toBe(true)
    expect(await error.reconcile()).toMatchObject({ commission: { id: 'com_1' } })
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
    expect(new Set(requests.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  })

  test('reconcile() while the service is still away is an UnknownOutcomeError again', async () => {
    const { client } = scripted([reset])
    const error = (await failure(client.coupons.assign({ affiliateId: 'aff_1' }))) as UnknownOutcomeError
    const again = error.reconcile().catch((caught: unknown) => caught)
    await settleAfter(again)
    expect(await again).toBeInstanceOf(UnknownOutcomeError)
  })

  test('an uncertain attempt is not forgotten when a later one is refused for another reason', async () => {
    for (const later of [
      refusal(503, 'storage_unavailable'),
      refusal(429, 'rate_limited'),
      refusal(403, 'key_revoked'),
    ]) {
      const { client } = scripted([reset, later])
      expect(
        await failure(client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-11-01' })),
      ).toBeInstanceOf(UnknownOutcomeError)
    }
  })

  test('a refused connection is a ConnectionError: nothing was sent', async () => {
    const { client } = scripted([broken('ECONNREFUSED')])
    expect(await failure(client.events.conversion(order))).toBeInstanceOf(ConnectionError)
  })

  test('a gateway in between knows nothing, whatever its status and words', async () => {
    for (const status of [500, 502, 503, 504]) {
      const { client } = scripted([Response.json({ error: 'upstream reset' }, { status })])
      expect(await failure(client.events.conversion(order))).toBeInstanceOf(UnknownOutcomeError)
    }
  })

  test('a 503 of a gateway is not sent again where it could do it twice; the own one is', async () => {
    const body = { label: 'A', scopes: ['affiliates:read' as const] }
    const foreign = scripted([new Response('no upstream', { status: 503 })])
    await expect(foreign.client.POST('/admin/v1/keys', { body })).rejects.toThrow(UnknownOutcomeError)
    expect(foreign.requests).toHaveLength(1)
    const own = scripted([refusal(503, 'storage_unavailable', { 'Retry-After': '1' }), json(201, { data: {} })])
    const call = own.client.POST('/admin/v1/keys', { body })
    await settleAfter(call)
    expect((await call).response.status).toBe(201)
  })

  test('a bad certificate is a ConnectionError: nothing was sent', async () => {
    const { client } = scripted([broken('CERT_HAS_EXPIRED')])
    expect(await failure(client.events.conversion(order))).toBeInstanceOf(ConnectionError)
  })

  test('a read is never uncertain', async () => {
    expect(await failure(scripted([reset]).client.analytics.get())).toBeInstanceOf(ConnectionError)
    expect(await failure(scripted(['hang']).client.analytics.get())).toBeInstanceOf(TimeoutError)
  })
})

describe('our own echo', () => {
  test('409 on a repeated payment is a success when the batch is paid', async () => {
    const batch = { id: 'bat_1', status: 'PAID' }
    const { client, requests } = scripted([reset, refusal(409, 'payout_already_paid'), json(200, { data: [batch] })])
    const call = client.payouts.pay('bat_1').withResponse()
    await settleAfter(call)
    const { data, ownEcho } = await call
    expect(data).toMatchObject({ ok: true, id: 'bat_1' })
    expect(ownEcho).toBe(true)
    expect(requests[2]!.url).toBe('https://api.example/api/v1/payouts?id=bat_1')
  })

  test('409 on a repeated payment for any other reason is raised', async () => {
    const { client } = scripted([reset, refusal(409, 'payout_total_mismatch')])
    expect(await failure(client.payouts.pay('bat_1'))).toBeInstanceOf(ConflictError)
  })

  test('409 on a repeated change is a success when the fields have the values that were sent', async () => {
    const { client, requests } = scripted([reset, refusal(409, 'concurrent_change'), json(200, { data: affiliate })])
    const call = client.affiliates.update('aff_1', { name: 'Noor', email: ' Noor@example.com ', phone: null })
    await settleAfter(call)
    expect(await call).toEqual(affiliate)
    expect(requests[2]).toMatchObject({ method: 'PATCH', body: {} })
  })

  test('409 on a repeated change is raised when somebody else made another one', async () => {
    const { client } = scripted([reset, refusal(409, 'concurrent_change'), json(200, { data: affiliate })])
    expect(await failure(client.affiliates.update('aff_1', { name: 'Nora' }))).toBeInstanceOf(ConflictError)
  })

  test('a state that cannot be read leaves the change unknown, and reconcile() sends the change itself', async () => {
    const gone = refusal(403, 'key_revoked')
    const { client, requests } = scripted([
      reset,
      refusal(409, 'concurrent_change'),
      gone,
      json(200, { data: affiliate }),
    ])
    const error = await failure(client.affiliates.update('aff_1', { name: 'Noor' }))
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect(await (error as UnknownOutcomeError).reconcile()).toEqual(affiliate)
    expect(requests.at(-1)!.body).toEqual({ name: 'Noor' })
  })

  test('404 on a repeated removal is a success; on a first one it is raised', async () => {
    const missing = refusal(404, 'webhook_not_found')
    const { client } = scripted([reset, missing])
    const call = client.webhooks.delete('whs_1')
    await settleAfter(call)
    expect(await call).toMatchObject({ ok: true, id: 'whs_1' })
    expect(await failure(scripted([missing]).client.webhooks.delete('whs_1'))).toMatchObject({ status: 404 })
  })
})

describe('an answer that is not of the API', () => {
  test.each([
    ['an HTML page', new Response('<html>Sign in</html>', { headers: { 'Content-Type': 'text/html' } })],
    ['an empty body', new Response('')],
    ['a JSON text', Response.json('OK')],
    ['a redirect', new Response(null, { status: 302, headers: { Location: 'https://login.example' } })],
    ['a 404 of a proxy', new Response('<h1>Not here</h1>', { status: 404 })],
    ['a 413 of a proxy', new Response('too large', { status: 413 })],
  ])('%s is an InvalidResponseError, not sent again', async (_, answer) => {
    const { client, requests } = scripted([answer])
    const error = await failure(client.affiliates.create({ email: 'a@b.example', name: 'A' }))
    expect(error).toBeInstanceOf(InvalidResponseError)
    expect(error).toMatchObject({ status: answer.status })
    expect(requests).toHaveLength(1)
  })

  test('a body that breaks off is a lost answer', async () => {
    const cut = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"data":'))
            controller.error(new Error('terminated'))
          },
        }),
      )
    expect(await failure(scripted([cut]).client.analytics.get())).toBeInstanceOf(ConnectionError)
    expect(await failure(scripted([cut]).client.events.conversion(order))).toBeInstanceOf(UnknownOutcomeError)
  })
})
