import { describe, expect } from 'vitest'
import { auditLog, countOf } from '../support/inspect.ts'
import { rejection, rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

const post = (server: TestServer, body: object) => server.request('POST', '/api/v1/programs', { body })

test('201 with the documented defaults, and the first program is the default', async ({ server, client }) => {
  const { data, response } = await client.programs.create({ name: 'Friends' }).withResponse()
  const now = new Date(server.clock.ms).toISOString()
  expect([response.status, data]).toEqual([
    201,
    {
      id: expect.stringMatching(/^prg_[0-9A-Z]{26}$/),
      name: 'Friends',
      description: null,
      commissionType: 'PERCENT_OF_SALE',
      commissionPercent: 16,
      defaultCommissionBps: 1600,
      cookieDurationDays: 30,
      autoApproveAffiliate: false,
      autoApproveOrder: false,
      status: 'DRAFT',
      lifetimeCommission: false,
      discountEnabled: false,
      discountType: null,
      discountValue: null,
      isDefault: true,
      affiliateCount: 0,
      createdAt: now,
      updatedAt: now,
    },
  ])
})

test('201 with every field, and a later program is not the default', async ({ client }) => {
  const sent = {
    name: 'Later',
    description: 'For later.',
    commissionType: 'FLAT_PER_ITEM',
    cookieDurationDays: 0,
    autoApproveAffiliate: true,
    autoApproveOrder: true,
    status: 'PUBLISH',
  } as const
  const program = await client.programs.create({ ...sent, commissionPercent: 2.5 })
  expect(program).toMatchObject({ ...sent, commissionPercent: 0, defaultCommissionBps: 250, isDefault: false })
  expect((await client.programs.list()).data[0]).toEqual(program)
})

test.for([
  [{}, 'name'],
  [{ name: null }, 'name'],
  [{ name: ' ' }, 'name'],
  [{ name: 'x'.repeat(201) }, 'name'],
  [{ name: 'N', commissionType: 'PERCENT' }, 'commissionType'],
  [{ name: 'N', commissionPercent: '16' }, 'commissionPercent'],
  [{ name: 'N', commissionPercent: null }, 'commissionPercent'],
  [{ name: 'N', cookieDurationDays: -1 }, 'cookieDurationDays'],
  [{ name: 'N', cookieDurationDays: 1.5 }, 'cookieDurationDays'],
  [{ name: 'N', autoApproveOrder: 1 }, 'autoApproveOrder'],
  [{ name: 'N', status: 'PUBLISHED' }, 'status'],
])('400 for the body %j names the field %s', async ([body, field], { server }) => {
  const before = countOf(server, 'programs')
  const reply = await post(server, body)
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  expect(countOf(server, 'programs')).toBe(before)
})

test.for(['lifetimeCommission', 'discountEnabled', 'discountType', 'discountValue', 'defaultCommissionBps'])(
  '400 when %s is sent on create',
  async (name, { server }) => {
    const reply = await post(server, { name: 'N', [name]: true })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'unknown_property', field: name })
  },
)

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

describe('list', () => {
  test('200 newest first, stable within a millisecond, page by page', async ({ server }) => {
    const { key } = await server.createShop()
    const other = server.clientOf(key)
    const ids: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) ids.unshift((await other.programs.create({ name })).id)
    const pages = await Promise.all([1, 2, 3, 4].map((page) => other.programs.list({ page, limit: 2 })))
    expect(pages.map(({ data }) => data.map((one) => one.id))).toEqual([
      ids.slice(0, 2),
      ids.slice(2, 4),
      ids.slice(4),
      [],
    ])
    expect(pages[3]?.pagination).toEqual({ page: 4, limit: 2, total: 5, totalPages: 3 })
  })

  test('200 filtered by status', async ({ server }) => {
    const { key } = await server.createShop()
    const other = server.clientOf(key)
    const statuses = ['DRAFT', 'PRIVATE', 'PUBLISH'] as const
    for (const status of statuses) await other.programs.create({ name: status, status })
    for (const status of statuses) {
      const { data, pagination } = await other.programs.list({ status })
      expect([data.map((one) => one.name), pagination.total]).toEqual([[status], 1])
    }
  })

  test('affiliateCount counts the affiliates that are not archived, whatever their status', async ({ server }) => {
    const { key } = await server.createShop()
    const other = server.clientOf(key)
    const first = await other.programs.create({ name: 'First' })
    const second = await other.programs.create({ name: 'Second' })
    const counts = async () => (await other.programs.list()).data.map((one) => one.affiliateCount).reverse()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c'])
      ids.push((await other.affiliates.create({ email: `${name}@example.com`, name })).id)
    expect(await counts()).toEqual([3, 0])
    await other.affiliates.update(ids[0]!, { status: 'REJECTED' })
    await other.affiliates.update(ids[1]!, { campaignId: second.id })
    expect(await counts()).toEqual([2, 1])
    await other.affiliates.archive(ids[2]!)
    expect(await counts()).toEqual([1, 1])
    expect((await other.programs.update(first.id, { name: 'Renamed' })).affiliateCount).toBe(1)
  })
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

test('404 to change a program that does not exist or belongs to another shop', async ({ server, client }) => {
  const { key } = await server.createShop()
  const foreign = await server.clientOf(key).programs.create({ name: 'Foreign' })
  for (const id of ['prg_none', foreign.id])
    expect(await rejection(client.programs.update(id, { name: 'Mine' }))).toEqual([404, 'program_not_found'])
  expect((await server.clientOf(key).programs.list()).data).toEqual([foreign])
})
