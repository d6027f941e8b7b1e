// SQLite only: it tests the client, not storage.
import { createReferralClient, NotFoundError } from '@referral/sdk'
import { type TestServer, testServer } from '@referral/server/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

let server: TestServer
let client: ReturnType<typeof createReferralClient>
beforeAll(async () => {
  server = await testServer({ scenario: 'orders' })
  client = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch: server.fetch })
})
afterAll(() => server.close())

describe('get', () => {
  test('returns the item that the list contains', async () => {
    await client.affiliates.create({ email: 'another@example.com', name: 'Another' })
    const affiliate = (await client.affiliates.list()).data[1]!
    expect(await client.affiliates.get(affiliate.id)).toEqual(affiliate)
    const program = (await client.programs.list()).data[0]!
    expect(await client.programs.get(program.id)).toEqual(program)
    const commission = (await client.commissions.list()).data[1]!
    expect(await client.commissions.get(commission.id)).toEqual(commission)
    const [order] = (await client.orders.list({ credited: true })).data
    expect(await client.orders.get(order!.orderId)).toEqual(order)
    expect(await client.orders.list({ credited: false }).toArray()).toEqual([])
    expect(await client.orders.explain(order!.externalOrderId)).toMatchObject({ orderId: order!.orderId })
    const batch = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' })
    expect(await client.payouts.get(batch.id)).toEqual(batch)
    expect((await client.payouts.get(batch.id, { include: 'lines' })).lines).toHaveLength(1)
  })

  test.each([
    ['affiliates', 'affiliate_not_found'],
    ['programs', 'program_not_found'],
    ['commissions', 'commission_not_found'],
    ['orders', 'order_not_found'],
    ['payouts', 'payout_not_found'],
  ] as const)('404 from get of %s when the shop has no such id', async (resource, code) => {
    const { error } = await client[resource].get('xyz_unknown').safe()
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ status: 404, code, requestId: expect.any(String) })
  })

  test('409 from get and explain of an order whose id several orders have', async () => {
    for (const externalOrderId of ['twin-1', 'twin-2'])
      await client.events.conversion({ externalOrderId, orderName: '#twin', amountCents: 100 })
    for (const call of [client.orders.get('twin'), client.orders.explain('twin')])
      expect((await call.safe()).error).toMatchObject({ status: 409, code: 'order_ambiguous' })
    const names = await client.orders.list({ externalOrderId: 'twin', limit: 1 }).toArray()
    expect(names.map(({ orderId }) => orderId).sort()).toEqual(['api:twin-1', 'api:twin-2'])
  })

  test('an archived affiliate is not found, and the total of the list is 0', async () => {
    const { id } = await client.affiliates.create({ email: 'gone@example.com', name: 'Gone' })
    await client.affiliates.archive(id)
    await expect(client.affiliates.get(id)).rejects.toThrow(NotFoundError)
    expect((await client.affiliates.list({ id })).pagination).toMatchObject({ total: 0, totalPages: 0 })
  })

  test('the id is combined with the other filters of the list', async () => {
    const [commission] = (await client.commissions.list()).data
    const { id, orderStatus, affiliateId } = commission!
    expect((await client.commissions.list({ id, status: orderStatus as 'PAYABLE', affiliateId })).data).toHaveLength(1)
    expect((await client.commissions.list({ id, status: 'REJECTED' })).pagination.total).toBe(0)
    const affiliate = await client.affiliates.get(affiliateId)
    expect((await client.affiliates.list({ id: affiliateId, status: 'REJECTED' })).data).toEqual([])
    expect((await client.affiliates.list({ id: affiliateId, campaignId: affiliate.campaignId! })).data).toHaveLength(1)
    expect((await client.affiliates.list({ id: affiliateId, q: 'nobody' })).data).toEqual([])
  })
})

describe('an order that is reported again', () => {
  const order = { externalOrderId: 'again', amountCents: 10_000, couponCode: 'NISA16' }

  test('is alreadyRecorded; another amount is a warning and differs', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined)
    expect(await client.events.conversion(order)).toMatchObject({ alreadyRecorded: false, differs: false })
    const sameMoney = await client.events.conversion({ ...order, orderName: '#1' })
    expect(sameMoney).toMatchObject({ alreadyRecorded: true, differs: false })
    expect(warn).not.toHaveBeenCalled()
    for (const changed of [{ amountCents: 9_999 }, { discountCents: 1 }, { currency: 'EUR' }]) {
      const { data } = await client.events.conversion({ ...order, ...changed }).withResponse()
      expect(data).toMatchObject({ alreadyRecorded: true, differs: true, commission: sameMoney.commission })
    }
    expect(warn).toHaveBeenCalledTimes(3)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('Order again'))
    warn.mockRestore()
  })

  test('line items with the same total do not differ', async () => {
    const lines = { externalOrderId: 'again', couponCode: 'NISA16', lineItems: [{ quantity: 2, priceCents: 5_000 }] }
    expect(await client.events.conversion(lines)).toMatchObject({ alreadyRecorded: true, differs: false })
  })
})
