import { describe, expect } from 'vitest'
import { newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let mara: { id: string }
test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
  mara = await newAffiliate(server, { name: 'Mara Lind', code: 'MARA' })
})

describe('combined filters find the same rows, whichever is evaluated first', () => {
  test('status and program of affiliates', async ({ client }) => {
    const { id } = mara
    const program = await client.programs.create({ name: 'Small' })
    await client.affiliates.update(id, { campaignId: program.id })
    const idsOf = async (filter: Parameters<Client['affiliates']['list']>[0]) =>
      (await client.affiliates.list(filter)).data.map((one) => one.id)
    expect(await idsOf({ status: 'APPROVED', campaignId: program.id })).toEqual([id])
    await client.affiliates.update(id, { status: 'REJECTED' })
    expect(await idsOf({ status: 'APPROVED', campaignId: program.id })).toEqual([])
    expect(await idsOf({ status: 'REJECTED', campaignId: program.id })).toEqual([id])
  })

  test('status, program and affiliate of commissions', async ({ client }) => {
    const order = (n: number, couponCode: string) => ({ externalOrderId: `o-${n}`, amountCents: 100, couponCode })
    await client.events.conversion(order(1, 'NISA16'))
    await client.events.conversion(order(2, 'NISA16'))
    const [first] = (await client.commissions.list({})).data
    const filter = { affiliateId: first!.affiliateId, programId: first!.programId!, status: 'APPROVED' } as const
    for (const without of ['affiliateId', 'programId', 'status'] as const) {
      const { [without]: _, ...rest } = filter
      const { data: found, pagination } = await client.commissions.list(rest)
      expect([found.map(({ orderId }) => orderId), pagination.total]).toEqual([['api:o-2', 'api:o-1'], 2])
    }
    expect((await client.commissions.list({ ...filter, status: 'PAID' })).data).toEqual([])
    expect((await client.commissions.list({ ...filter, affiliateId: mara.id })).data).toEqual([])
  })
})
