import { expect } from 'vitest'
import { hold } from '../payouts/hold.ts'
import { beforeTransaction } from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { IN_OCTOBER, Till } from './money.ts'

/** Requests that start in one turn of the event loop all read before any of them writes. */
const N = 12

let till: Till

test.beforeEach(async ({ server }) => {
  till = new Till(server, await server.createShop())
  await till.affiliate()
})

const parallel = (call: (i: number) => Promise<Reply>) => Promise.all(Array.from({ length: N }, (_, i) => call(i)))
const winners = (replies: Reply[]) => replies.filter(({ status }) => status < 300)
const losers = (replies: Reply[]) =>
  replies.filter(({ status }) => status >= 300).map((reply) => reply.headers.get('X-Error-Code'))
const total = async () =>
  (await till.rows())
    .filter((row) => row.orderStatus !== 'CANCELED')
    .reduce((sum, row) => sum + row.commissionAmountCents, 0)

test('approve against reject: one wins', async () => {
  await till.affiliate('HAND', { autoApproveOrder: false })
  const id = await till.order({ couponCode: 'HAND' })
  const replies = await parallel((i) => till.act(i % 2 ? 'approve' : 'reject', id))
  expect(winners(replies)).toHaveLength(1)
  expect(losers(replies)).toEqual(Array(N - 1).fill('concurrent_change'))
  expect((await till.row(id)).orderStatus).toBe(winners(replies)[0]?.body.data.orderStatus)
})

test('approve against a bulk approval: each commission is approved once', async () => {
  await till.affiliate('HAND', { autoApproveOrder: false })
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push(await till.order({ couponCode: 'HAND' }))
  const replies = await parallel((i) =>
    i % 2
      ? till.act('approve', ids[i % 4]!)
      : till.admin('POST', '/commissions/moderate', { action: 'approve', filter: {} }),
  )
  const singly = winners(replies).filter(({ body }) => body.data.orderStatus).length
  const together = winners(replies).reduce((sum, { body }) => sum + (body.data.changed ?? 0), 0)
  expect(singly + together).toBe(4)
  expect(await expectOk(till.admin('GET', '/audit?action=commission.approved'))).toHaveLength(4)
})

test.each([
  ['the batch first', 0],
  ['refunds first', 3],
])('refund against the creation of a batch, %s: the totals are exact', async (_, turn) => {
  const ids = [await till.order(), await till.order(), await till.order()]
  const refundAll = Array.from({ length: 9 }, (_, i) => () => till.refund(ids[i % 3]!, `r-${i}`, 1000))
  const createAll = Array.from({ length: 3 }, () => () => till.batch())
  const [first, later] = turn === 0 ? [createAll, refundAll] : [refundAll, createAll]
  // They read before the first ones write, and write after them.
  const { arrived, release } = hold(till.server, later.length)
  const held = later.map((call) => call())
  await arrived
  const done = await Promise.all(first.map((call) => call()))
  release()
  const replies = [...done, ...(await Promise.all(held))]
  const batches = winners(replies).filter(({ body }) => body.data?.totals)
  const refunds = winners(replies).filter(({ body }) => body.refund)
  expect([batches.length, refunds.length]).toEqual([1, turn === 0 ? 0 : 3])
  const taken = refunds.reduce((sum, { body }) => sum + body.refund.commissionCents, 0)
  expect([await total(), batches[0]?.body.data.totals.commissionCents]).toEqual([3 * 1440 + taken, 3 * 1440 + taken])
  await parallel((i) => till.refund(ids[i % 3]!, `s-${i}`, 1000))
  expect((await till.batchOf(batches[0]?.body.data.id)).totals.commissionCents).toBe(await total())
  await till.checkBatches()
})

test('refund against pay: either the batch total is lower, or an adjustment is created', async ({ server }) => {
  for (let round = 0; round < 4; round++) {
    till = new Till(server, await server.createShop())
    await till.affiliate()
    const id = await till.order({ occurredAt: IN_OCTOBER })
    const { id: batchId } = await expectOk(till.batch())
    const [first, second] =
      round % 2 ? [till.pay(batchId), till.refund(id, 'r', 3000)] : [till.refund(id, 'r', 3000), till.pay(batchId)]
    const replies = await Promise.all([first, second])
    expect(winners(replies)).toHaveLength(1)
    expect(losers(replies)).toEqual(['concurrent_change'])
    if ((await till.row(id)).orderStatus === 'PAID') await expectOk(till.refund(id, 'r', 3000))
    else await expectOk(till.pay(batchId))
    const rows = (await till.rows()).filter((row) => row.id === id || row.orderId.startsWith(`adj:${id}:`))
    expect(rows.reduce((sum, row) => sum + row.commissionAmountCents, 0)).toBe(960)
    await till.checkBatches()
  }
})

test.for(['refund', 'cancel'])('a %s that a large batch overtakes waits for it', async (action, { server }) => {
  await till.order({ occurredAt: IN_OCTOBER })
  const { id: payoutBatchId } = await expectOk(till.batch())
  const id = await till.order()
  const moving = { process: '{}', claimedBy: 'another process', claimedUntil: '9999-12-31T00:00:00.000Z' }
  const moved = { process: null, claimedBy: null, claimedUntil: null }
  let transactions = 0
  const end = beforeTransaction(server, () => {
    const isFirst = ++transactions === 1
    const batch = isFirst ? { status: 'PROCESSING' as const, ...moving } : { status: 'OPEN' as const, ...moved }
    updateRows(server, 'payoutBatches', batch, { id: payoutBatchId })
    if (isFirst) updateRows(server, 'commissions', { payoutBatchId, orderStatus: 'PAYABLE', version: 2 }, { id })
  })
  const reply = await (action === 'refund' ? till.refund(id, 'r') : till.act(action, id)).finally(end)
  expect([reply.status, transactions]).toEqual([200, 2])
  expect(await till.row(id)).toMatchObject({
    commissionAmountCents: action === 'refund' ? 0 : 1440,
    payoutBatchId: null,
  })
})

test('refunds of one commission: the remainder is never refunded twice', async () => {
  const id = await till.order()
  const replies = await parallel((i) => till.refund(id, `r-${i}`, 4000))
  expect(winners(replies)).toHaveLength(1)
  expect((await till.row(id)).commissionAmountCents).toBe(800)
  await parallel((i) => till.refund(id, `s-${i}`, 4000))
  expect((await till.row(id)).commissionAmountCents).toBe(160)
  await parallel((i) => till.refund(id, `t-${i}`, 4000))
  expect((await till.row(id)).commissionAmountCents).toBe(160)
})

test('reverse against refund of a paid commission: together at most what was paid', async () => {
  const id = await till.order()
  await expectOk(till.pay((await expectOk(till.batch())).id))
  const replies = await parallel((i) => (i % 2 ? till.act('reverse', id) : till.refund(id, `r-${i}`, 1000)))
  expect(winners(replies)).toHaveLength(1)
  await parallel((i) => (i % 2 ? till.act('reverse', id) : till.refund(id, `s-${i}`, 1000)))
  await till.act('reverse', id)
  expect(await total()).toBe(0)
})

test('cancel against pay of a batch: one wins, and no commission is both paid and released', async () => {
  await till.order()
  const { id } = await expectOk(till.batch())
  const replies = await parallel((i) => (i % 2 ? till.pay(id) : till.cancelBatch(id)))
  expect(winners(replies)).toHaveLength(1)
  const statuses = (await till.rows()).map((row) => row.orderStatus)
  expect(['PAID', 'APPROVED']).toContain(statuses[0])
  await till.checkBatches()
})

test('settings: one of several changes wins', async () => {
  const replies = await parallel((i) => till.admin('PATCH', '/settings', { minimumPayoutCents: i + 1 }))
  expect(winners(replies)).toHaveLength(1)
  expect(losers(replies)).toEqual(Array(N - 1).fill('concurrent_change'))
})

test('a connection: the first affiliate gets it', async () => {
  const other = await till.affiliate('SECND')
  const replies = await parallel(() =>
    till.admin('POST', '/connections', { kind: 'product', value: '1', affiliateId: other.id }),
  )
  expect(winners(replies)).toHaveLength(1)
  expect(losers(replies)).toEqual(Array(N - 1).fill('connection_exists'))
})
