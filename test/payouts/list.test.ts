import { describe, expect } from 'vitest'
import { rejectWrites, removeTable } from '../support/faults.ts'
import { auditLog } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { type Client, test } from '../support/test.ts'
import { addAffiliate, addCommission, OCTOBER } from './rows.ts'

let ids: string[]
let nisa: string
let omar: string
test.beforeAll(async ({ server, client }) => {
  nisa = addAffiliate(server)
  omar = addAffiliate(server, { name: 'Omar Ali', email: 'omar@example.com' })
  ids = []
  for (const cents of [100, 200, 300]) {
    addCommission(server, { affiliateId: nisa, commissionAmountCents: cents, taxWithheldCents: cents / 10 })
    addCommission(server, { affiliateId: omar, commissionAmountCents: cents })
    addCommission(server, { affiliateId: omar, commissionAmountCents: cents })
    ids.unshift((await client.payouts.create(OCTOBER)).id)
    if (cents === 100) server.clock.advance(1)
  }
  await client.payouts.pay(ids[1]!)
})

const found = async (client: Client, query: Parameters<Client['payouts']['list']>[0]) =>
  (await client.payouts.list(query)).data.map((row) => row.id)

test('200 newest first, page by page', async ({ client }) => {
  const { data, pagination } = await client.payouts.list({ limit: 2 })
  expect(data.map((row) => row.id)).toEqual(ids.slice(0, 2))
  expect(pagination).toEqual({ page: 1, limit: 2, total: 3, totalPages: 2 })
  expect(await found(client, { limit: 2, page: 2 })).toEqual(ids.slice(2))
  expect(await found(client, { limit: 2, page: 3 })).toEqual([])
})

test('filters by status and id', async ({ client }) => {
  expect(await found(client, { status: 'OPEN' })).toEqual([ids[0], ids[2]])
  expect(await found(client, { status: 'PAID' })).toEqual([ids[1]])
  expect(await found(client, { status: 'FAILED' })).toEqual([])
  expect(await found(client, { id: ids[2] })).toEqual([ids[2]])
  expect(await found(client, { id: ids[2], status: 'PAID' })).toEqual([])
  expect(await found(client, { id: 'bat_none' })).toEqual([])
})

test('another shop sees no batches', async ({ server }) => {
  const stranger = server.clientOf((await server.createShop()).key)
  for (const id of [undefined, ids[0]]) expect((await stranger.payouts.list({ id, include: 'lines' })).data).toEqual([])
})

describe('include=lines', () => {
  test('200 with one line per affiliate; their sums are the totals', async ({ client }) => {
    const { data } = await client.payouts.list({ include: 'lines' })
    expect(data[0]?.lines).toEqual([
      {
        affiliateId: nisa,
        name: 'Nisa Karim',
        email: `${nisa}@example.com`,
        commissions: 1,
        commissionCents: 300,
        taxWithheldCents: 30,
        netPayableCents: 270,
      },
      {
        affiliateId: omar,
        name: 'Omar Ali',
        email: 'omar@example.com',
        commissions: 2,
        commissionCents: 600,
        taxWithheldCents: 0,
        netPayableCents: 600,
      },
    ])
    for (const { lines = [], totals } of data) {
      expect(lines.reduce((sum, line) => sum + line.netPayableCents, 0)).toBe(totals.netPayableCents)
    }
    expect((await client.payouts.list()).data[0]).not.toHaveProperty('lines')
  })

  test('archived affiliates keep their names', async ({ client }) => {
    await client.affiliates.archive(omar)
    const [batch] = (await client.payouts.list({ id: ids[0], include: 'lines' })).data
    expect(batch?.lines?.map((line) => line.name)).toEqual(['Nisa Karim', 'Omar Ali'])
  })
})

describe('the audit', () => {
  test('the access is recorded before the read, the result after it', async ({ server, client }) => {
    const audited = auditLog(server)
    await client.payouts.list({ id: ids[0], include: 'lines' })
    const actor = `key:${server.shop.keyId}`
    expect(audited()).toMatchObject([
      { action: 'payouts.accessed', subjectId: ids[0], actor, data: { page: 1, limit: 20, include: 'lines' } },
      { action: 'payouts.listed', subjectId: ids[0], actor, data: { batches: 1, total: 1 } },
    ])
  })

  const rejectAudit = (action: string) => (server: TestServer) => rejectWrites(server, 'insert', 'audits', { action })

  test.for<[what: string, damage: (server: TestServer) => () => void, code: string, written: string[]]>([
    ['the access', rejectAudit('payouts.accessed'), 'audit_unavailable', []],
    ['the completion', rejectAudit('payouts.listed'), 'audit_unavailable', ['payouts.accessed']],
    ['the read', (server) => removeTable(server, 'payoutBatches'), 'storage_unavailable', ['payouts.accessed']],
  ])('503 and nothing shown when %s fails', async ([_, damage, code, written], { server, client }) => {
    const audited = auditLog(server)
    const restore = damage(server)
    const reply = await server.request('GET', '/api/v1/payouts')
    restore()
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([503, code])
    expect(Object.keys(reply.body)).toEqual(['error'])
    expect(audited().map((row) => row.action)).toEqual(written)
    expect(await found(client, { limit: 1 })).toEqual([ids[0]])
  })
})

test.for(['status=DONE', 'include=rows', 'limit=0', 'limit=101', 'page=0', 'id='])(
  '400 for %s',
  async (query, { server }) => {
    const audited = auditLog(server)
    const reply = await server.request('GET', `/api/v1/payouts?${query}`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_parameter'])
    expect(audited()).toEqual([])
  },
)
