import { expect } from 'vitest'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { hold } from './hold.ts'
import { addAffiliate, addCommission, commissionsOf, dollars, OCTOBER, versionsOf } from './rows.ts'

const N = 16

let affiliates: string[]
test.beforeEach(async ({ server, client }) => {
  // The first call of a key records its use; the races count transactions.
  await client.programs.list()
  affiliates = Array.from({ length: N }, () => addAffiliate(server))
  for (const [i, affiliateId] of affiliates.entries())
    addCommission(server, { affiliateId, commissionAmountCents: 2 ** i })
})

const create = (server: TestServer, body: object = {}) =>
  server.request('POST', '/api/v1/payouts', { body: { ...OCTOBER, ...body } })
const pay = (server: TestServer, id: string) => server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`)
const parallel = (call: (i: number) => Promise<Reply>) => Promise.all(Array.from({ length: N }, (_, i) => call(i)))

/** N calls that have all read before the first of them writes. */
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
const audits = async ({ owner }: TestServer, action: string) =>
  (await expectOk(owner('GET', `/audit?action=${action}`))).length

/** Every batch contains the sum of its own rows, and no row was changed twice. */
async function expectExact({ client }: TestServer, replies: Reply[]) {
  const rows = await commissionsOf(client)
  const batches = replies.filter((reply) => reply.status === 200 && reply.body.data).map((reply) => reply.body.data)
  for (const { id, totals } of batches) {
    const own = rows.filter((row) => row.payoutBatchId === id)
    expect(totals.netPayableCents).toBe(own.reduce((sum, row) => sum + row.commissionAmountCents, 0))
    expect(totals.commissions).toBe(own.length)
  }
  const stored = (await client.payouts.list({ limit: 100 })).data.map(({ id }) => id).sort()
  expect(batches.map((batch) => batch.id).sort()).toEqual(stored)
  expect(new Set(rows.map((row) => row.payoutBatchId ?? stored[0]))).toEqual(new Set(stored))
}

test('the same batch: one is created, 409 payout_claimed_concurrently for the rest', async ({ server }) => {
  const replies = await race(server, () => create(server))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
  expect(codes(replies)).toEqual(Array(N - 1).fill('payout_claimed_concurrently'))
  await expectExact(server, replies)
  expect(new Set(versionsOf(server))).toEqual(new Set([2]))
  expect(await audits(server, 'payout.created')).toBe(1)
  expect((await create(server)).headers.get('X-Error-Code')).toBe('no_eligible_commissions')
})

/** A request that has arrived, but for its body. */
function arrive(server: TestServer, body: object = {}): () => Promise<Reply> {
  const gate = Promise.withResolvers<void>()
  const start = async (controller: ReadableStreamDefaultController) => {
    await gate.promise
    controller.enqueue(new TextEncoder().encode(JSON.stringify({ ...OCTOBER, ...body })))
    controller.close()
  }
  const reply = server.request('POST', '/api/v1/payouts', { raw: new ReadableStream({ start }) })
  return () => {
    gate.resolve()
    return reply
  }
}

test('409 when a batch took the commissions after the request arrived, 404 when there were none on arrival', async ({
  server,
}) => {
  const none = { affiliateIds: [addAffiliate(server)] }
  const bodies = [{}, { currency: 'USD' }, { affiliateIds: affiliates.slice(1, 2) }, { currency: 'EUR' }, none]
  const finishes = bodies.map((body) => arrive(server, body))
  await expectOk(create(server))
  const late = arrive(server)
  expect(codes(await Promise.all([...finishes, late].map((finish) => finish())))).toEqual([
    ...Array(3).fill('payout_claimed_concurrently'),
    ...Array(3).fill('no_eligible_commissions'),
  ])
})

test('overlapping batches: each contains the remaining commissions', async ({ server }) => {
  const replies = await race(server, (i) => create(server, { affiliateIds: affiliates.slice(i) }))
  const made = replies.filter((reply) => reply.status === 200)
  expect(codes(replies)).toEqual(Array(N - made.length).fill('payout_claimed_concurrently'))
  await expectExact(server, made)
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
  await expectExact(server, replies)
})

test('a remainder below the minimum is not claimed: 409 payout_below_threshold_after_claim', async ({
  server,
  client,
  owner,
}) => {
  await expectOk(owner('PATCH', '/settings', { minimumPayoutCents: 2 ** (N - 1) }))
  const [first, second] = await overtaken(
    server,
    () => create(server, { affiliateIds: affiliates.slice(-1) }),
    () => create(server),
  )
  expect(first.status).toBe(200)
  expect(second.headers.get('X-Error-Code')).toBe('payout_below_threshold_after_claim')
  for (const cents of [2 ** (N - 1) - 1, 2 ** (N - 1)]) expect(second.body.error).toContain(dollars(cents))
  const free = (await commissionsOf(client)).filter((row) => row.payoutBatchId === null)
  expect(free.map((row) => row.orderStatus)).toEqual(Array(N - 1).fill('APPROVED'))
  expect(versionsOf(server).filter((version) => version === 1)).toHaveLength(N - 1)
})

test('a minimum that changes before the batch is written applies to it', async ({ server, owner }) => {
  const setMinimum = (minimumPayoutCents: number) => () => owner('PATCH', '/settings', { minimumPayoutCents })
  const [, rejected] = await overtaken(server, setMinimum(2 ** N), () => create(server))
  expect(rejected.headers.get('X-Error-Code')).toBe('payout_below_threshold')
  const [, created] = await overtaken(server, setMinimum(10), () => create(server))
  expect([created.status, created.body.data.minimumPayoutCents]).toEqual([200, 10])
})

test('pay against pay: one wins', async ({ server, client }) => {
  const { id } = (await create(server)).body.data
  const replies = await race(server, () => pay(server, id))
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
  expect(codes(replies)).toEqual(Array(N - 1).fill('concurrent_change'))
  expect((await commissionsOf(client)).every((row) => row.orderStatus === 'PAID')).toBe(true)
  expect(new Set(versionsOf(server))).toEqual(new Set([3]))
  expect(await audits(server, 'payout.paid')).toBe(1)
  expect((await pay(server, id)).headers.get('X-Error-Code')).toBe('payout_already_paid')
})

test('create against pay: the paid batch keeps its rows and total, the other contains the rest', async ({
  server,
  client,
}) => {
  const first = (await create(server, { affiliateIds: affiliates.slice(0, 4) })).body.data
  const replies = await Promise.all([create(server), pay(server, first.id), create(server), pay(server, first.id)])
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, 200, 409, 409])
  const paid = (await client.commissions.list({ status: 'PAID' })).data
  expect(paid.every((row) => row.payoutBatchId === first.id)).toBe(true)
  expect(paid.reduce((sum, row) => sum + row.commissionAmountCents, 0)).toBe(first.totals.netPayableCents)
  await expectExact(server, [{ status: 200, headers: new Headers(), body: { data: first } }, ...replies])
})

test('orders reported during creation are in a batch and its total, or in none', async ({ server, client }) => {
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
  await expectExact(server, batches)
  expect((await commissionsOf(client)).filter((row) => row.payoutBatchId === null)).toEqual([])
})
