import { expect } from 'vitest'
import { countOf, rowOf, rowsOf } from '../support/inspect.ts'
import type { Reply } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

/** Calls of one turn all read before any of them writes: the barrier is the event loop. */
const N = 16

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

const parallel = (call: (i: number) => Promise<Reply>) => Promise.all(Array.from({ length: N }, (_, i) => call(i)))
const codes = (replies: Reply[]) => replies.map((reply) => reply.headers.get('X-Error-Code')).filter(Boolean)

function oneWinner(replies: Reply[], code: string): Reply {
  const winners = replies.filter((reply) => reply.status < 300)
  expect(winners).toHaveLength(1)
  expect(codes(replies)).toEqual(Array(N - 1).fill(code))
  return winners[0]!
}

test('the same email address: one affiliate, 409 for the rest', async ({ server }) => {
  const replies = await parallel((i) =>
    server.request('POST', '/api/v1/affiliates', {
      body: { email: i % 2 ? 'Race@example.com' : 'race@example.com', name: `R${i}` },
    }),
  )
  const winner = oneWinner(replies, 'email_taken')
  expect(countOf(server, 'affiliates', { emailKey: 'race@example.com' })).toBe(1)
  expect(countOf(server, 'audits', { action: 'affiliate.created', subjectId: winner.body.data.id })).toBe(1)
})

test('the same name: each affiliate gets its own slug and code', async ({ server }) => {
  const replies = await parallel((i) =>
    server.request('POST', '/api/v1/affiliates', { body: { email: `same${i}@example.com`, name: 'Same Name' } }),
  )
  expect(new Set(replies.map((reply) => reply.body.data.slug)).size).toBe(N)
  expect(new Set(replies.map((reply) => reply.body.data.discountCode)).size).toBe(N)
})

test('the same code for several affiliates: one gets it', async ({ server }) => {
  const affiliates: { id: string }[] = []
  for (let i = 0; i < N; i++) affiliates.push(await newAffiliate(server))
  const replies = await parallel((i) =>
    server.request('POST', '/api/v1/coupons', {
      body: { affiliateId: affiliates[i]?.id, code: i % 2 ? 'RACE1' : 'race1' },
    }),
  )
  oneWinner(replies, 'discount_code_taken')
})

test('concurrent PATCH of one row: one change is kept, with one audit record', async ({ server }) => {
  const { id } = await newAffiliate(server)
  const replies = await parallel((i) =>
    server.request('PATCH', `/api/v1/affiliates?id=${id}`, { body: { phone: String(i) } }),
  )
  const winner = oneWinner(replies, 'concurrent_change')
  expect(rowOf(server, 'affiliates', { id }).phone).toBe(winner.body.data.phone)
  expect(rowsOf(server, 'audits', { subjectId: id }).filter(({ data }) => data.includes('phone'))).toHaveLength(1)
})

test('archive against archive, and archive against PATCH: one wins', async ({ server }) => {
  const { id } = await newAffiliate(server)
  const replies = await parallel((i) =>
    i % 2
      ? server.request('DELETE', `/api/v1/affiliates?id=${id}`)
      : server.request('PATCH', `/api/v1/affiliates?id=${id}`, { body: { phone: 'x' } }),
  )
  oneWinner(replies, 'concurrent_change')
})

test('the code of an affiliate, assigned to it again while it is archived: 200, 404 or 409, never 500', async ({
  server,
}) => {
  for (let i = 0; i < 8; i++) {
    const affiliate = await newAffiliate(server)
    const assign = () =>
      server.request('POST', '/api/v1/coupons', { body: { affiliateId: affiliate.id, code: affiliate.discountCode } })
    const [, reply] = await Promise.all([server.request('DELETE', `/api/v1/affiliates?id=${affiliate.id}`), assign()])
    expect([200, 404, 409]).toContain(reply.status)
  }
})

test('a program: one of several changes wins', async ({ server }) => {
  const { id } = await expectOk(server.request('POST', '/api/v1/programs', { body: { name: 'Raced' } }))
  oneWinner(
    await parallel((i) =>
      server.request('PATCH', `/api/v1/programs?id=${id}`, { body: { commissionPercent: i + 20 } }),
    ),
    'concurrent_change',
  )
})

test('the first programs of a shop: exactly one is the default', async ({ server }) => {
  const { key, shopId } = await server.createShop()
  const replies = await parallel((i) => server.request('POST', '/api/v1/programs', { key, body: { name: `P${i}` } }))
  expect(replies.filter((reply) => reply.body.data.isDefault)).toHaveLength(1)
  expect(rowOf(server, 'shops', { id: shopId }).defaultProgramId).toMatch(/^prg_/)
})

test('the same order from several places: one commission, the sum is right', async ({ server, client }) => {
  const replies = await parallel((i) =>
    convert(
      server,
      { externalOrderId: 'race', amountCents: 10_000, couponCode: 'NISA16' },
      { idempotencyKey: `race-${i}` },
    ),
  )
  expect(replies.every((reply) => reply.status === 201)).toBe(true)
  const { data } = await client.commissions.list({ externalOrderId: 'race' })
  expect(data.map((row) => row.commissionAmountCents)).toEqual([1600])
})
