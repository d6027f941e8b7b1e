import { expect } from 'vitest'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { hold } from './hold.ts'
import { addAffiliate, addCommission, commissionsOf, OCTOBER } from './rows.ts'

const N = 16

let affiliates: string[]
test.beforeAll(async ({ client }) => {
  // The first call of a key notes its use; the races count transactions.
  await client.programs.list()
})
test.beforeEach(({ server }) => {
  for (const table of ['commissions', 'affiliates', 'payoutBatches', 'audits'])
    server.sql.exec(`delete from "${table}"`)
  affiliates = Array.from({ length: N }, () => addAffiliate(server))
  for (const [i, affiliateId] of affiliates.entries())
    addCommission(server, { affiliateId, commissionAmountCents: 2 ** i })
})

const create = (server: TestServer, body: object = {}) =>
  server.request('POST', '/api/v1/payouts', { body: { ...OCTOBER, ...body } })
const pay = (server: TestServer, id: string) => server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`)
const parallel = (call: (i: number) => Promise<Reply>) => Promise.all(Array.from({ length: N }, (_, i) => call(i)))

/** N calls that all have read before the first of them writes. */
async function race(server: TestServer, call: (i: number) => Promise<Reply>): Promise<Reply[]> {
  const { arrived, release } = hold(server, N)
  const replies = parallel(call)
  await arrived
  release()
  return replies
}

/** `late` has read before `first` writes, and writes after it. */
async function overtaken(
  server: TestServer,
  first: () => Promise<Reply>,
  late: () => Promise<Reply>,
): Promise<[Reply, Reply]> {
  const { arrived, release } = hold(server)
  const second = late()
  await arrived
  const winner = await first()
  release()
  return [winner, await second]
}
const codes = (replies: Reply[]) => replies.map((reply) => reply.headers.get('X-Error-Code')).filter(Boolean)
const audits = (server: TestServer, action: string) =>
  server.sql.prepare('select count(*) from audits where action = ?').pluck().get(action)

/** Every batch holds the sum of its own rows, and no row was changed twice. */
function expectExact(server: TestServer, replies: Reply[]) {
  const rows = commissionsOf(server)
  const batches = replies.filter((reply) => reply.status === 200 && reply.body.data).map((reply) => reply.body.data)
  for (const { id, totals } of batches) {
    const own = rows.filter((row) => row.payoutBatchId === id)
    expect(totals.netPayableCents).toBe(own.reduce((sum, row) => sum + row.commissionAmountCents, 0))
    expect(totals.commissions).toBe(own.length)
  }
  const stored = server.sql.prepare('select id from "payoutBatches" order by id').pluck().all()
  expect(batches.map((batch) => batch.id).sort()).toEqual(stored)
  expect(new Set(rows.map((row) => row.payoutBatchId ?? stored[0]))).toEqual(new Set(stored))
}

test('the same batch: one is created, 409 payout_claimed_concurrently for the rest', async ({ server }) => {
  const replies = await race(server, () => create(server))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
  expect(codes(replies)).toEqual(Array(N - 1).fill('payout_claimed_concurrently'))
  expectExact(server, replies)
  expect(commissionsOf(server).every((row) => row.version === 2)).toBe(true)
  expect(audits(server, 'payout.created')).toBe(1)
  expect((await create(server)).headers.get('X-Error-Code')).toBe('no_eligible_commissions')
})

test('overlapping batches: each contains the remaining commissions', async ({ server }) => {
  const replies = await race(server, (i) => create(server, { affiliateIds: affiliates.slice(i) }))
  const made = replies.filter((reply) => reply.status === 200)
  expect(codes(replies)).toEqual(Array(N - made.length).fill('payout_claimed_concurrently'))
  expectExact(server, made)
  const total = made.reduce((sum, reply) => sum + reply.body.data.totals.netPayableCents, 0)
  expect(total).toBe(2 ** N - 1)
})

test('a batch that lost a race contains the remaining commissions', async ({ server }) => {
  const replies = await overtaken(
    server,
    () => create(server, { affiliateIds: affiliates.slice(3) }),
    () => create(server),
  )
  expect(replies.map((reply) => reply.body.data.totals.netPayableCents)).toEqual([2 ** N - 8, 7])
  expectExact(server, replies)
})

test('a remainder below the minimum is not claimed: 409 payout_below_threshold_after_claim', async ({ server }) => {
  const set = (cents: number | null) => server.sql.prepare('update shops set "minimumPayoutCents" = ?').run(cents)
  set(2 ** (N - 1))
  const [first, second] = await overtaken(
    server,
    () => create(server, { affiliateIds: affiliates.slice(-1) }),
    () => create(server),
  )
  set(null)
  expect(first.status).toBe(200)
  expect([second.headers.get('X-Error-Code'), second.body.error]).toEqual([
    'payout_below_threshold_after_claim',
    `Another payout batch claimed some of these commissions. The remaining ${2 ** (N - 1) - 1} cents are below the minimum payout of ${2 ** (N - 1)} cents.`,
  ])
  const free = commissionsOf(server, '"payoutBatchId" is null')
  expect(free).toHaveLength(N - 1)
  expect(free.every((row) => row.orderStatus === 'APPROVED' && row.version === 1)).toBe(true)
})

test('pay against pay: one wins', async ({ server }) => {
  const { id } = (await create(server)).body.data
  const replies = await race(server, () => pay(server, id))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
  expect(codes(replies)).toEqual(Array(N - 1).fill('concurrent_change'))
  expect(commissionsOf(server).every((row) => row.orderStatus === 'PAID' && row.version === 3)).toBe(true)
  expect(audits(server, 'payout.paid')).toBe(1)
  expect((await pay(server, id)).headers.get('X-Error-Code')).toBe('payout_already_paid')
})

test('create against pay: the paid batch keeps its rows and total, the other contains the rest', async ({ server }) => {
  const first = (await create(server, { affiliateIds: affiliates.slice(0, 4) })).body.data
  const replies = await Promise.all([create(server), pay(server, first.id), create(server), pay(server, first.id)])
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, 200, 409, 409])
  const paid = commissionsOf(server, `"orderStatus" = 'PAID'`)
  expect(paid.every((row) => row.payoutBatchId === first.id)).toBe(true)
  expect(paid.reduce((sum, row) => sum + row.commissionAmountCents, 0)).toBe(first.totals.netPayableCents)
  expectExact(server, [{ status: 200, headers: new Headers(), body: { data: first } }, ...replies])
})

test('orders reported during creation are in a batch and its total, or in none', async ({ server }) => {
  const { affiliate } = await withAffiliate(server)
  const order = (i: number) =>
    convert(server, {
      externalOrderId: `concurrent-${i}`,
      amountCents: 100 * (i + 1),
      couponCode: affiliate.discountCode,
      occurredAt: '2026-10-20',
    })
  const replies = await parallel((i) => (i % 3 ? order(i) : create(server)))
  const batches = [...replies.filter((_, i) => i % 3 === 0), await create(server)]
  expectExact(server, batches)
  expect(commissionsOf(server, '"payoutBatchId" is null')).toEqual([])
})
