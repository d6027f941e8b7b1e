// SQLite only: it tests the client, not storage.
import { createReferralClient, UnknownOutcomeError } from '@referral/sdk'
import { type AdminClient, createAdminClient } from '@referral/sdk/admin'
import { type TestServer, testServer } from '@referral/server/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { document } from '../support/document.ts'
import { connectionError, errorResponse, jsonResponse, success } from './support/scripted-client.ts'

/** A client of the owner API whose server follows a script. */
const scripted = (steps: (Response | Error)[]) => {
  const requests: string[] = []
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`)
    const step = steps[Math.min(requests.length, steps.length) - 1]!
    if (step instanceof Error) throw step
    return step.clone()
  }
  return { admin: createAdminClient({ apiKey: 'ro_test', baseUrl: 'https://api.example', fetch }), requests }
}

test('webhooks.update changes the given fields of a subscription', async () => {
  const { admin, requests } = scripted([jsonResponse(200, { data: { id: 'whs_1', events: ['test'] } })])
  expect(await admin.webhooks.update('whs_1', { events: ['test'] })).toMatchObject({ id: 'whs_1' })
  expect(requests).toEqual(['PATCH /admin/v1/webhooks/whs_1 {"events":["test"]}'])
})

test('an update whose response was lost is recovered from the state', async () => {
  const settings = { taxWithholdingBps: 100 }
  const { admin } = scripted([
    connectionError('ECONNRESET'),
    errorResponse(409, 'concurrent_change'),
    jsonResponse(200, { data: settings }),
  ])
  const { recovered } = await admin.settings.update(settings).withResponse()
  expect(recovered).toBe(true)
})

test('the creation of a key is not repeated when its outcome is unknown', async () => {
  const { admin, requests } = scripted([connectionError('ECONNRESET')])
  const error = await admin.keys.create({ label: 'A', scopes: ['affiliates:read'] }).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(UnknownOutcomeError)
  expect(requests).toHaveLength(1)
})

test.each([
  ['approve', 'approve'],
  ['reject', 'reject'],
  ['cancel', 'cancel'],
  ['reverse', 'reverse'],
  ['reopen', 'reopen'],
] as const)('commissions.%s calls its operation', async (method, path) => {
  const { admin, requests } = scripted([jsonResponse(200, { data: { id: 'com_1' } })])
  expect(await admin.commissions[method]('com_1')).toEqual({ id: 'com_1' })
  expect(requests).toEqual([`POST /admin/v1/commissions/com_1/${path} `])
})

/** Operations without a method, with the reason. */
const WITHOUT_METHOD = {
  createSession: 'signs in a browser',
  deleteSession: 'signs out a browser',
  recordStripeEvent: 'Stripe sends it, and `referral stripe replay` sends it again',
}

test('there is a method for every documented operation of owners and stores', async () => {
  const documented = Object.entries<Record<string, { operationId?: string }>>(document.paths)
    .filter(([path]) => /^\/(admin|integrations)\//.test(path))
    .flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { operationId }]) =>
        operationId ? [{ id: operationId, route: `${method.toUpperCase()} ${path}` }] : [],
      ),
    )
  const sent: string[] = []
  const fetch = async ({ method, url }: Request): Promise<Response> => {
    sent.push(`${method} ${new URL(url).pathname}`)
    return jsonResponse(200, success)
  }
  const admin = createAdminClient({ apiKey: 'ro_test', baseUrl: 'https://api.example', fetch })
  type Method = (...given: unknown[]) => Promise<unknown>
  for (const methods of Object.values(admin).filter((value) => typeof value === 'object'))
    for (const method of Object.values<Method>(methods)) {
      // The first argument is an id or a body; the last one the options of a notification.
      await method('an-id', { shopId: 'an-id', secret: 'a secret' }).catch(() => undefined)
    }
  const isCovered = ({ route }: { route: string }) => sent.includes(route.replaceAll(/\{\w+\}/g, 'an-id'))
  expect(documented.filter((one) => !isCovered(one)).map(({ id }) => id)).toEqual(Object.keys(WITHOUT_METHOD))
})

test('keys.rotate sends the overlap', async () => {
  const { admin, requests } = scripted([jsonResponse(200, { data: { id: 'key_1', secret: 'rk_2' } })])
  expect(await admin.keys.rotate('key_1', { overlapSeconds: 60 })).toMatchObject({ secret: 'rk_2' })
  expect(requests).toEqual(['POST /admin/v1/keys/key_1/rotate {"overlapSeconds":60}'])
})

test('a key that the lost attempt revoked counts as revoked', async () => {
  const { admin } = scripted([connectionError('ECONNRESET'), errorResponse(409, 'key_already_revoked')])
  const { data, recovered } = await admin.keys.revoke('key_1').withResponse()
  expect([data.ok, recovered]).toEqual([true, true])
})

describe('with a server', () => {
  let server: TestServer
  let admin: AdminClient
  beforeAll(async () => {
    server = await testServer({ scenario: 'orders' })
    admin = createAdminClient({ apiKey: server.ownerToken, baseUrl: server.baseUrl, fetch: server.fetch })
  })
  afterAll(() => server.close())

  test('a rotated key works together with the old one until the overlap ends', async () => {
    const { id, secret: old } = await admin.keys.create({ label: 'Rotated', scopes: ['commissions:read'] })
    const { secret } = await admin.keys.rotate(id, { overlapSeconds: 60 })
    const listWith = (apiKey: string) =>
      createReferralClient({ apiKey, baseUrl: server.baseUrl, fetch: server.fetch }).commissions.list().safe()
    expect((await listWith(secret)).error).toBeUndefined()
    expect((await listWith(old)).error).toBeUndefined()
    server.clock.advance(61_000)
    expect((await listWith(old)).error?.code).toBe('key_unknown')
    expect((await listWith(secret)).error).toBeUndefined()
  })

  test('audit.export returns the whole chain as lines', async () => {
    const lines = (await admin.audit.export()).trim().split('\n')
    const { total } = (await admin.audit.list()).pagination
    expect(lines.length).toBeGreaterThanOrEqual(total)
    expect(JSON.parse(lines.at(-1)!)).toHaveProperty('end.hash')
  })

  test("a store's notifications are signed: the order is recorded once, refunded and canceled", async () => {
    const store = { shopId: server.shopId, secret: 'sécret of the store', domain: 'hats.myshopify.com' }
    await admin.settings.update({ storeWebhookSecret: store.secret, storeDomain: store.domain })
    const order = {
      id: 1,
      financial_status: 'paid' as const,
      total_line_items_price: '100.00',
      note: 'Ünïcode',
      discount_codes: [{ code: 'NISA16' }],
      line_items: [{ product_id: 7001, variant_id: 9001, quantity: 1, price: '100.00' }],
    }
    const { id } = await admin.stores.orderPaid(order, store)
    expect(await admin.stores.orderPaid(order, store)).toMatchObject({ ok: true, id })
    const { commission } = await admin.orders.explain('1')
    expect(commission).toMatchObject({ id, commissionAmountCents: 1_600 })
    const line = { quantity: 1, subtotal: 50, line_item: { product_id: 7001, variant_id: 9001 } }
    expect(await admin.stores.refundCreated({ id: 2, order_id: 1, refund_line_items: [line] }, store)).toMatchObject({
      ok: true,
    })
    expect(await admin.stores.orderCanceled({ id: 1, cancelled_at: '2026-11-02T09:30:00Z' }, store)).toMatchObject({
      ok: true,
    })
    const { error } = await admin.stores.orderPaid(order, { ...store, secret: 'another' }).safe()
    expect(error).toMatchObject({ name: 'UnauthorizedError', code: 'store_signature_invalid' })
  })
})
