import { describe, expect } from 'vitest'
import { rejection, rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { type Client, test } from '../support/test.ts'

const create = (client: Client) => client.programs.create({ name: 'P' })
const patch = (server: TestServer, id: string, body: object) =>
  server.request('PATCH', `/api/v1/programs?id=${id}`, { body })

test('200 with the sent fields changed and all others unchanged', async ({ server, client }) => {
  const before = await create(client)
  server.clock.advance(1000)
  const sent = {
    name: 'Q',
    description: 'Text',
    cookieDurationDays: 3650,
    autoApproveAffiliate: true,
    autoApproveOrder: true,
    lifetimeCommission: true,
    discountEnabled: true,
    discountType: 'PERCENT',
    discountValue: 10,
  } as const
  const after = await client.programs.update(before.id, sent)
  expect(after).toEqual({ ...before, ...sent, updatedAt: new Date(server.clock.ms).toISOString() })
  expect((await client.programs.list({ limit: 1 })).data).toEqual([after])
  const cleared = await client.programs.update(before.id, {
    description: null,
    discountValue: null,
    discountType: null,
  })
  expect([cleared.description, cleared.discountValue, cleared.discountType]).toEqual([null, null, null])
})

test('200 from any status to any status', async ({ client }) => {
  const { id } = await create(client)
  for (const status of ['PRIVATE', 'PUBLISH', 'DRAFT', 'PUBLISH', 'PRIVATE', 'DRAFT'] as const)
    expect((await client.programs.update(id, { status })).status).toBe(status)
})

test.for([
  [{ name: null }, 'name'],
  [{ name: '\t' }, 'name'],
  [{ commissionType: null }, 'commissionType'],
  [{ commissionPercent: null }, 'commissionPercent'],
  [{ cookieDurationDays: null }, 'cookieDurationDays'],
  [{ status: null }, 'status'],
  [{ lifetimeCommission: null }, 'lifetimeCommission'],
  [{ discountEnabled: 'yes' }, 'discountEnabled'],
  [{ discountType: 'FREE' }, 'discountType'],
  [{ discountValue: '10' }, 'discountValue'],
])('400 for the body %j names the field %s', async ([body, field], { server, client }) => {
  const before = await create(client)
  const reply = await patch(server, before.id, body)
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  expect((await client.programs.list({ limit: 1 })).data).toEqual([before])
})

test.for(['defaultCommissionBps', 'isDefault', 'affiliateCount', 'id', 'createdAt'])(
  '400 when %s is sent',
  async (name, { server, client }) => {
    const { id } = await create(client)
    const reply = await patch(server, id, { [name]: 1 })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'unknown_property'])
  },
)

describe('discountValue', () => {
  test.for([
    ['PERCENT', 0, 0],
    ['PERCENT', 12.5, 12.5],
    ['PERCENT', 100, 100],
    ['FIXED', 0, 0],
    ['FIXED', 150.5, 150.5],
    ['FIXED', 21474836.47, 21474836.47],
  ] as const)(
    '200 for a discount of type %s with the value %d',
    async ([discountType, discountValue, kept], { client }) => {
      const { id } = await create(client)
      const program = await client.programs.update(id, { discountType, discountValue })
      expect([program.discountType, program.discountValue]).toEqual([discountType, kept])
    },
  )

  test.for([
    ['PERCENT', -0.01],
    ['PERCENT', 12.345],
    ['PERCENT', 100.004],
    ['FIXED', 9.999],
    ['PERCENT', 101],
    ['FIXED', -1],
    ['FIXED', 21474836.48],
    ['FIXED', 1e300],
  ] as const)('400 for a discount of type %s with the value %d', async ([discountType, discountValue], { client }) => {
    const { id } = await create(client)
    const update = client.programs.update(id, { discountType, discountValue })
    expect(await rejection(update)).toEqual([400, 'discount_value_invalid'])
  })

  test('400 for a value that the stored type does not allow, and for a type that the stored value does not', async ({
    client,
  }) => {
    const { id } = await create(client)
    await client.programs.update(id, { discountType: 'PERCENT', discountValue: 50 })
    expect(await rejection(client.programs.update(id, { discountValue: 150 }))).toEqual([400, 'discount_value_invalid'])
    await client.programs.update(id, { discountType: 'FIXED' })
    await client.programs.update(id, { discountValue: 150 })
    const update = client.programs.update(id, { discountType: 'PERCENT' })
    expect(await rejection(update)).toEqual([400, 'discount_value_invalid'])
    const both = await client.programs.update(id, { discountType: 'PERCENT', discountValue: 15 })
    expect([both.discountType, both.discountValue]).toEqual(['PERCENT', 15])
  })
})

test('409 for all but one of several concurrent changes', async ({ server, client }) => {
  const { id } = await create(client)
  const replies = await Promise.all(Array.from({ length: 6 }, (_, i) => patch(server, id, { name: `P${i}` })))
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409, 409, 409, 409])
  expect(replies.find((reply) => reply.status === 409)?.headers.get('X-Error-Code')).toBe('concurrent_change')
})

test('409 when a sent field was changed by another request', async ({ server, client }) => {
  const { id, name } = await create(client)
  const [changed, same] = await Promise.all([patch(server, id, { name: 'Changed' }), patch(server, id, { name })])
  expect([changed.status, same.status]).toEqual([200, 409])
})

test('recorded commissions keep their rate and program', async ({ client }) => {
  const program = await client.programs.create({ name: 'Rate', autoApproveOrder: true })
  const person = { email: 'rate@example.com', name: 'Rate', campaignId: program.id }
  const { id, slug } = await client.affiliates.create(person)
  await client.affiliates.update(id, { status: 'APPROVED' })
  await client.events.conversion({ externalOrderId: 'rate', amountCents: 10_000, ref: slug })
  const before = (await client.commissions.list()).data
  await client.programs.update(program.id, { commissionType: 'FLAT_PER_ORDER', commissionPercent: 1 })
  await client.affiliates.update(id, { campaignId: null })
  expect((await client.commissions.list()).data).toEqual(before)
  expect(before[0]).toMatchObject({ programId: program.id, commissionRateBps: 1600, commissionAmountCents: 1600 })
})

test('400 for a blank name before 404 for an unknown id', async ({ client }) => {
  expect(await rejection(client.programs.update('prg_none', { name: ' ' }))).toEqual([400, 'invalid_body'])
})
