import { expect } from 'vitest'
import { auditLog } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

test('one default program when the first ones are created in parallel', async ({ server }) => {
  const { key } = await server.createShop()
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, i) => server.clientOf(key).programs.create({ name: `P${i}` })),
  )
  expect(all.filter((program) => program.isDefault)).toHaveLength(1)
})

test('affiliates join the default program unless they name another one', async ({ server }) => {
  const { key } = await server.createShop()
  const other = server.clientOf(key)
  const early = await other.affiliates.create({ email: 'early@example.com', name: 'Early' })
  const [first, second] = [await other.programs.create({ name: '1' }), await other.programs.create({ name: '2' })]
  const joined = await other.affiliates.create({ email: 'a@example.com', name: 'A' })
  const chose = await other.affiliates.create({ email: 'b@example.com', name: 'B', campaignId: second.id })
  expect([early.campaignId, joined.campaignId, chose.campaignId]).toEqual([null, first.id, second.id])
})

test('flat amounts of a shop without cents are not multiplied', async ({ server }) => {
  const flat = { commissionType: 'FLAT_PER_ORDER' as const }
  for (const [currency, stored] of [
    ['JPY', [500, 16]],
    ['KWD', [500_000, 16_000]],
  ] as const) {
    const { client, owner } = server.asShop(await server.createShop())
    await expectOk(owner('PATCH', '/settings', { currency }))
    const create = (commissionPercent: number, type: object = flat) =>
      client.programs.create({ name: 'P', ...type, commissionPercent })
    const changed = await client.programs.update((await create(16, {})).id, flat)
    expect([await create(500), changed].map((one) => one.defaultCommissionBps)).toEqual(stored)
    const tooPrecise = create(currency === 'JPY' ? 0.5 : 0.0005)
    expect(await rejection(tooPrecise)).toEqual([400, 'commission_percent_invalid'])
  }
})

test('the audit records each creation and change once', async ({ server, client }) => {
  const audits = auditLog(server)
  const { id } = await client.programs.create({ name: 'Audited' })
  await client.programs.update(id, { commissionPercent: 12, lifetimeCommission: true })
  await client.programs.update(id, { commissionPercent: 12, lifetimeCommission: true, name: 'Audited' })
  await client.programs.update(id, {})
  const written = audits()
  expect(written.map((one) => [one.action, one.subjectId])).toEqual([
    ['program.created', id],
    ['program.updated', id],
  ])
  const fields = (written[1]?.data.fields ?? []) as string[]
  expect(fields.sort()).toEqual(['commissionPercent', 'defaultCommissionBps', 'lifetimeCommission'])
})

const renames = async (client: Client, names: (own: string) => string[]) => {
  const { id, name } = await client.programs.create({ name: 'P' })
  const replies = await Promise.all(names(name).map((one) => client.programs.update(id, { name: one }).safe()))
  return replies.map(({ error }) => error?.code)
}

test('409 for all but one of several concurrent changes', async ({ client }) => {
  const codes = await renames(client, () => ['1', '2', '3', '4', '5', '6'])
  expect(codes).toEqual([undefined, ...Array(5).fill('concurrent_change')])
})

test('409 when a sent field was changed by another request', async ({ client }) => {
  expect(await renames(client, (name) => ['Changed', name])).toEqual([undefined, 'concurrent_change'])
})
