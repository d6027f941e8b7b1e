import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'

let server: TestServer
let mara: { id: string }
beforeAll(async () => {
  server = await testServer()
  await withAffiliate(server)
  mara = await newAffiliate(server, { name: 'Mara Lind', code: 'MARA' })
})
afterAll(() => server.close())

describe('filters that are combined find the same rows whichever of them finds the first', () => {
  test('status and program of affiliates', async () => {
    const { id } = mara
    const program = await server.client.programs.create({ name: 'Small' })
    await server.client.affiliates.update(id, { campaignId: program.id })
    const idsOf = async (filter: Parameters<typeof server.client.affiliates.list>[0]) =>
      (await server.client.affiliates.list(filter)).data.map((one) => one.id)
    expect(await idsOf({ status: 'APPROVED', campaignId: program.id })).toEqual([id])
    await server.client.affiliates.update(id, { status: 'REJECTED' })
    expect(await idsOf({ status: 'APPROVED', campaignId: program.id })).toEqual([])
    expect(await idsOf({ status: 'REJECTED', campaignId: program.id })).toEqual([id])
  })

  test('status, program and affiliate of commissions', async () => {
    const order = (n: number, couponCode: string) => ({ externalOrderId: `o-${n}`, amountCents: 100, couponCode })
    await server.client.events.conversion(order(1, 'NISA16'))
    await server.client.events.conversion(order(2, 'NISA16'))
    const [first] = (await server.client.commissions.list({})).data
    const filter = { affiliateId: first!.affiliateId, programId: first!.programId!, status: 'APPROVED' } as const
    for (const without of ['affiliateId', 'programId', 'status'] as const) {
      const { [without]: _, ...rest } = filter
      const { data: found, pagination } = await server.client.commissions.list(rest)
      expect([found.map(({ orderId }) => orderId), pagination.total]).toEqual([['api:o-2', 'api:o-1'], 2])
    }
    expect((await server.client.commissions.list({ ...filter, status: 'PAID' })).data).toEqual([])
    expect((await server.client.commissions.list({ ...filter, affiliateId: mara.id })).data).toEqual([])
  })
})
