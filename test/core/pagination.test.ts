import { expect } from 'vitest'
import { rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

const order = (server: TestServer, externalOrderId: string, occurredAt: string) =>
  convert(server, { externalOrderId, amountCents: 1000, couponCode: 'NISA16', occurredAt })
const list = async (server: TestServer, query: string) =>
  (await server.request('GET', `/api/v1/commissions?${query}`)).body

test('`after` returns each item once, even with equal timestamps and rows added between pages', async ({ server }) => {
  for (let n = 0; n < 9; n++) await order(server, `o-${n}`, n < 5 ? '2026-10-05T12:00:00Z' : `2026-10-0${n}T12:00:00Z`)
  const all = (await list(server, '')).data.map(({ id }: { id: string }) => id)
  const walked: string[] = []
  for (let after = ''; ; ) {
    const { data, pagination } = await list(server, `limit=2${after && `&after=${after}`}`)
    expect(pagination).toMatchObject({ page: 1, limit: 2, total: 9 + walked.length / 2 })
    if (data.length === 0) break
    walked.push(...data.map(({ id }: { id: string }) => id))
    after = walked.at(-1) ?? ''
    if (walked.length % 2) break
    await order(server, `new-${walked.length}`, '2026-10-30T12:00:00Z')
  }
  expect(walked).toEqual(all)
})

test('filters apply after the cursor', async ({ server }) => {
  const all = (await list(server, 'to=2026-10-20T00:00:00Z')).data
  const next = await list(
    server,
    `to=2026-10-20T00:00:00Z&after=${all[1].id}&limit=2&page=1&status=${all[0].orderStatus}`,
  )
  expect(next.data).toEqual(all.slice(2, 4))
})

test.for(['affiliates', 'customers', 'programs', 'commissions', 'payouts', 'coupons'])(
  '400 for `after` together with a page other than the first: %s',
  async (path, { server }) => {
    const reply = await server.request('GET', `/api/v1/${path}?after=x&page=2`)
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_parameter' })
  },
)

test('the client continues after a cursor, row by row', async ({ server, client }) => {
  const all = (await list(server, '')).data.map(({ id }: { id: string }) => id)
  const rows = await client.commissions.list({ after: all[1], limit: 2 }).toArray()
  expect(rows.map(({ id }) => id)).toEqual(all.slice(2))
})

test.for(['affiliates', 'customers', 'programs', 'commissions', 'payouts', 'coupons'])(
  '400 when %s are listed after an id that the shop does not have',
  async (path, { server }) => {
    const other = await server.createShop()
    await withAffiliate(server, { key: other.key })
    const foreign = await server.request('GET', '/api/v1/affiliates', { key: other.key })
    for (const id of ['aff_none', foreign.body.data[0].id]) {
      const reply = await server.request('GET', `/api/v1/${path}?after=${id}`)
      expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_parameter', field: 'after' })
    }
  },
)

test('the other lists accept `after`, including the id of an archived item', async ({ server }) => {
  const ids: string[] = []
  for (let n = 0; n < 4; n++) {
    const { body } = await server.request('POST', '/api/v1/affiliates', {
      body: { name: `P ${n}`, email: `p${n}@x.de` },
    })
    ids.unshift(body.data.id)
    server.clock.advance(1000)
  }
  await server.request('DELETE', `/api/v1/affiliates?id=${ids[1]}`)
  const affiliates = await server.request('GET', `/api/v1/affiliates?after=${ids[1]}&limit=2`)
  expect(affiliates.body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2))
  const coupons = await server.request('GET', `/api/v1/coupons?after=${ids[2]}&limit=1`)
  expect(coupons.body.data[0].affiliateId).toBe(ids[3])
  const [program] = (await server.request('GET', '/api/v1/programs')).body.data
  const programs = await server.request('GET', `/api/v1/programs?after=${program.id}`)
  expect(programs.body).toMatchObject({ data: [], pagination: { total: 1 } })
  const customers: string[] = []
  for (const customerId of ['c-1', 'c-2', 'c-3']) {
    const { body } = await server.request('POST', '/api/v1/customers', { body: { customerId } })
    customers.unshift(body.data.id)
  }
  const rest = await server.request('GET', `/api/v1/customers?after=${customers[0]}`)
  expect(rest.body.data.map(({ id }: { id: string }) => id)).toEqual(customers.slice(1))
})
