import { expect } from 'vitest'
import { linesOf, report, resultOf, send, setPayee } from '../payouts/payments.ts'
import { outbox, rowsOf, subscribe, updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'

const PERIOD = { periodStart: '2026-01-01', periodEnd: '2027-01-01' }
const order = async (server: TestServer, externalOrderId: string): Promise<string> => {
  const { body } = await convert(server, { externalOrderId, amountCents: 10_000, couponCode: 'NISA16' })
  return body.commission.id
}
const subscribeExtended = (server: TestServer, events: string[] = []) => {
  const id = subscribe(server, events)
  updateRows(server, 'subscriptions', { extendedEvents: 1 }, { id })
  return id
}
const moderate = (server: TestServer, id: string, action: string, body?: object) =>
  expectOk(server.owner('POST', `/commissions/${id}/${action}`, body))
const createBatch = (server: TestServer) => expectOk(server.request('POST', '/api/v1/payouts', { body: PERIOD }))
const payBatch = (server: TestServer, id: string) =>
  expectOk(server.request('PATCH', `/api/v1/payouts?id=${id}&action=pay`))

/** Every step of a commission and of a batch. Returns the events of each, checked against the document. */
async function everything(server: TestServer) {
  await withAffiliate(server, { program: { autoApproveOrder: false } })
  const eventsOf = outbox(server)
  const steps: Record<string, { event: string; data: Record<string, unknown> }[]> = {}
  const step = async <T>(name: string, work: Promise<T>): Promise<T> => {
    const result = await work
    steps[name] = eventsOf()
    return result
  }
  const id = await step('order', order(server, 'a'))
  await step('approve', moderate(server, id, 'approve'))
  const partly = await order(server, 'b')
  await step('refund', moderate(server, partly, 'refund', { externalRefundId: 'r1', amountCents: 100 }))
  await step('refund again', moderate(server, partly, 'refund', { externalRefundId: 'r1', amountCents: 100 }))
  await step('reject', moderate(server, partly, 'reject'))
  const canceled = await order(server, 'c')
  eventsOf()
  await step('cancel', moderate(server, canceled, 'cancel'))
  const first = await step('batch', createBatch(server))
  await step('cancel batch', expectOk(server.owner('POST', `/payouts/${first.id}/cancel`)))
  const second = await createBatch(server)
  eventsOf()
  await step('empty batch', moderate(server, id, 'cancel'))
  const last = await order(server, 'd')
  await moderate(server, last, 'approve')
  const third = await createBatch(server)
  eventsOf()
  await step('pay', payBatch(server, third.id))
  await step('reverse', moderate(server, last, 'reverse'))
  return { steps, ids: { id, partly, last, first: first.id, second: second.id, third: third.id } }
}

test('each change sends its extended events, with the resource and its previous status', async ({ server }) => {
  subscribeExtended(server)
  const { steps, ids } = await everything(server)
  const short = Object.fromEntries(
    Object.entries(steps).map(([name, events]) => [
      name,
      events.map(({ event, data }) => [event, data.id, data.previousStatus, data.orderStatus ?? data.status]),
    ]),
  )
  expect(short).toEqual({
    order: [['commission.created', ids.id, undefined, 'PENDING']],
    approve: [['commission.approved', ids.id, 'PENDING', 'APPROVED']],
    refund: [
      ['commission.created', ids.partly, undefined, 'PENDING'],
      ['commission.refunded', ids.partly, 'PENDING', 'PENDING'],
    ],
    'refund again': [],
    reject: [['commission.rejected', ids.partly, 'PENDING', 'REJECTED']],
    cancel: [],
    batch: [['payout.created', ids.first, null, 'OPEN']],
    'cancel batch': [['payout.failed', ids.first, 'OPEN', 'FAILED']],
    'empty batch': [['payout.failed', ids.second, 'OPEN', 'FAILED']],
    pay: [
      ['payout.paid', ids.third, 'OPEN', 'PAID'],
      ['commission.paid', ids.last, 'PAYABLE', 'PAID'],
    ],
    reverse: [['commission.reversed', ids.last, 'PAID', 'REVERSED']],
  })
  expect(steps.refund?.[1]?.data.refund).toMatchObject({ externalRefundId: 'r1', amountCents: 100 })
})

test('an order that is approved at once sends both events, in order', async ({ server }) => {
  subscribeExtended(server)
  await withAffiliate(server)
  const eventsOf = outbox(server)
  await order(server, 'a')
  expect(eventsOf().map(({ event, data }) => [event, data.previousStatus])).toEqual([
    ['commission.created', undefined],
    ['commission.approved', null],
  ])
  const [created, approved] = rowsOf(server, 'deliveries').slice(-2)
  expect(approved?.follows).toBe(created?.id)
})

test('without the flag the names stay silent, and nothing is recorded', async ({ server }) => {
  subscribe(server, ['commission.approved', 'commission.paid', 'commission.reversed', 'payout.failed'])
  subscribe(server)
  const { steps } = await everything(server)
  const sent = Object.values(steps).flatMap((events) => events.map(({ event }) => event))
  expect(new Set(sent)).toEqual(new Set(['commission.created']))
  const names = new Set(rowsOf(server, 'webhookEvents', { shopId: server.shop.shopId }).map(({ event }) => event))
  expect(names).toEqual(new Set(['affiliate.approved', 'affiliate.status_changed', 'commission.created']))
})

test('a subscription with the flag receives what its filter names; others do not', async ({ server }) => {
  const all = subscribeExtended(server)
  const some = subscribeExtended(server, ['commission.approved'])
  const plain = subscribe(server)
  await withAffiliate(server)
  await order(server, 'a')
  const eventById = new Map(rowsOf(server, 'webhookEvents').map(({ id, event }) => [id, event]))
  const received = (subscriptionId: string) =>
    rowsOf(server, 'deliveries', { subscriptionId })
      .map(({ eventId }) => eventById.get(eventId))
      .filter((event) => event?.startsWith('commission.'))
      .sort()
  expect(received(all)).toEqual(['commission.approved', 'commission.created'])
  expect(received(some)).toEqual(['commission.approved'])
  expect(received(plain)).toEqual(['commission.created'])
})

test('paying a batch sends an event for each of its commissions, and none waits for another', async ({ server }) => {
  await withAffiliate(server)
  for (let n = 0; n < 9; n++) await Promise.all(Array.from({ length: 50 }, (_, i) => order(server, `${n}-${i}`)))
  const batch = await createBatch(server)
  const id = subscribeExtended(server)
  await payBatch(server, batch.id)
  const rows = rowsOf(server, 'deliveries', { subscriptionId: id })
  expect(rows).toHaveLength(451)
  expect(rows.filter(({ follows }) => follows !== null)).toEqual([])
  const paid = rowsOf(server, 'webhookEvents', { event: 'commission.paid', shopId: server.shop.shopId })
  expect(new Set(paid.map(({ body }) => JSON.parse(body).data.id)).size).toBe(450)
})

test('reports of payments send the events of their commissions and of the batch, once', async ({ server }) => {
  subscribeExtended(server)
  const { affiliate } = await withAffiliate(server)
  const { affiliate: other } = await withAffiliate(server, { code: 'LENA12' })
  for (const { id } of [affiliate, other]) await setPayee(server, id)
  const ids = [await order(server, 'a'), await order(server, 'b')]
  const { body } = await convert(server, { externalOrderId: 'c', amountCents: 10_000, couponCode: 'LENA12' })
  const { id: batchId } = await createBatch(server)
  await send(server, 'october', batchId)
  const eventsOf = outbox(server)
  const short = () =>
    eventsOf().map(({ event, data }) => [event, data.id, data.previousStatus, data.orderStatus ?? data.status])
  const { data } = await linesOf(server, batchId)
  const lineOf = (affiliateId: string) => data.find((line) => line.affiliateId === affiliateId)
  const [settled, returned] = [resultOf(lineOf(affiliate.id), 'SETTLED'), resultOf(lineOf(other.id), 'RETURNED')]
  for (const expected of [ids.toSorted().map((id) => ['commission.paid', id, 'PAYABLE', 'PAID']), []]) {
    await report(server, [settled])
    expect(short().sort()).toEqual(expected)
  }
  // The last payment: what was returned was paid, and its adjustment is no order.
  const last = [
    ['commission.paid', body.commission.id, 'PAYABLE', 'PAID'],
    ['payout.paid', batchId, 'OPEN', 'PAID'],
  ]
  for (const expected of [last, []]) {
    await report(server, [returned])
    expect(short().sort()).toEqual(expected)
  }
})
