import { expect } from 'vitest'
import { auditLog, countOf, outbox, rowsOf, subscribe } from '../support/inspect.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

let events: ReturnType<typeof outbox>
let audits: ReturnType<typeof auditLog>
test.beforeAll(async ({ server }) => {
  await withAffiliate(server, { code: 'NISA' })
  subscribe(server)
  events = outbox(server)
  audits = auditLog(server)
})

test('201, one event and one audit record when an order is recorded', async ({ server, client }) => {
  const sent = {
    externalOrderId: 'first',
    amountCents: 10_000,
    couponCode: 'NISA',
    customerEmail: 'canary@example.com',
  }
  const { attribution, commission } = await client.events.conversion({ ...sent, orderName: '#1' })
  const row = (await client.commissions.list({ externalOrderId: 'first' })).data[0]
  expect(events()).toEqual([
    {
      event: 'commission.created',
      timestamp: new Date(server.clock.ms).toISOString(),
      shop_id: server.shop.shopId,
      data: { ...row, attribution },
    },
  ])
  const written = audits()
  expect(written).toEqual([
    {
      action: 'commission.created',
      subjectId: commission.id,
      actor: `key:${server.shop.keyId}`,
      shopId: server.shop.shopId,
      data: { orderId: 'api:first', amountCents: 1600, status: 'APPROVED' },
    },
  ])
})

test('an order that is already recorded writes nothing', async ({ server }) => {
  const sent = { externalOrderId: 'twice', amountCents: 10_000, couponCode: 'NISA' }
  await convert(server, sent)
  const counts = () =>
    (['commissions', 'orders', 'journey', 'customers'] as const).map((table) => countOf(server, table))
  const before = counts()
  events()
  audits()
  for (const change of [{}, { amountCents: 1 }, { couponCode: 'MARA', currency: 'EUR' }])
    expect((await convert(server, { ...sent, ...change })).status).toBe(201)
  expect([counts(), events(), audits()]).toEqual([before, [], []])
})

test('in parallel under many keys: one commission, one event, one audit record', async ({ server }) => {
  events()
  audits()
  const sent = { externalOrderId: 'parallel', amountCents: 10_000, couponCode: 'NISA' }
  const replies = await Promise.all(Array.from({ length: 12 }, () => convert(server, sent)))
  const isNew = (reply: { headers: Headers }) => reply.headers.get('X-Order-Already-Recorded') === null
  expect([replies.filter(isNew).length, events().length, audits().length]).toEqual([1, 1, 1])
})

test('an order without attribution has an audit record, and an event once it is credited', async ({ server }) => {
  const sent = { externalOrderId: 'later', amountCents: 10_000, customerEmail: 'canary@example.com' }
  events()
  audits()
  await convert(server, sent)
  expect(events()).toEqual([])
  expect(audits()).toMatchObject([{ action: 'order.unattributed', data: { reasonCode: 'NO_MATCH' } }])
  const { body } = await convert(server, { ...sent, couponCode: 'NISA' })
  expect(events().map((one) => [one.event, one.data.id])).toEqual([['commission.created', body.commission.id]])
  expect(audits()).toMatchObject([{ action: 'commission.created', subjectId: body.commission.id }])
})

test('no audit record contains personal data', async ({ server }) => {
  expect(
    JSON.stringify(rowsOf(server, 'audits').map(({ action, subjectId, data }) => [action, subjectId, data])),
  ).not.toMatch(/canary|@|Nisa Karim|Mara/)
})
