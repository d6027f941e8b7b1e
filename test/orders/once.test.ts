import { describe, expect } from 'vitest'
import { auditLog, countOf, outbox, rowsOf, subscribe } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import { convert, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

let nisa: { id: string }
let events: ReturnType<typeof outbox>
let audits: ReturnType<typeof auditLog>
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  await newAffiliate(server, { code: 'MARA', name: 'Mara' })
  subscribe(server)
  events = outbox(server)
  audits = auditLog(server)
})

const already = (reply: { headers: Headers }) => reply.headers.get('X-Order-Already-Recorded')

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

describe('an order that is already recorded', () => {
  test('201 with the recorded decision, even with other fields, and nothing is written', async ({ server, client }) => {
    const sent = { externalOrderId: 'twice', amountCents: 10_000, couponCode: 'NISA' }
    const first = await convert(server, sent)
    expect([first.status, already(first)]).toEqual([201, null])
    const rows = (await client.commissions.list({ externalOrderId: 'twice' })).data
    const counts = () =>
      (['commissions', 'orders', 'journey', 'customers'] as const).map((table) => countOf(server, table))
    const before = counts()
    events()
    audits()
    server.clock.advance(1000)
    for (const body of [sent, { ...sent, amountCents: 1 }, { ...sent, couponCode: 'MARA', currency: 'EUR' }]) {
      const again = await convert(server, body)
      expect([again.status, already(again), again.body]).toEqual([201, 'true', first.body])
    }
    expect((await client.commissions.list({ externalOrderId: 'twice' })).data).toEqual(rows)
    expect([counts(), events(), audits()]).toEqual([before, [], []])
  })

  test('keeps its decision when program and affiliate have changed', async ({ server, client }) => {
    const sent = { externalOrderId: 'kept', amountCents: 10_000, couponCode: 'NISA' }
    const first = await convert(server, sent)
    await client.affiliates.update(nisa.id, { status: 'REJECTED' })
    expect((await convert(server, sent)).body).toEqual(first.body)
    await client.affiliates.update(nisa.id, { status: 'APPROVED' })
  })

  test('is replayed with its own key as the first response', async ({ server }) => {
    const sent = { externalOrderId: 'keyed', amountCents: 10_000, couponCode: 'NISA' }
    await convert(server, sent, { idempotencyKey: 'once-a' })
    await convert(server, sent, { idempotencyKey: 'once-b' })
    const [a, b] = [
      await convert(server, sent, { idempotencyKey: 'once-a' }),
      await convert(server, sent, { idempotencyKey: 'once-b' }),
    ]
    expect([a, b].map((reply) => reply.headers.get('Idempotent-Replayed'))).toEqual(['true', 'true'])
    expect([already(a), already(b)]).toEqual([null, 'true'])
  })

  test('differs by letter case and by shop, not by leading or trailing spaces', async ({ server }) => {
    const { key } = await server.createShop()
    await withAffiliate(server, { key, code: 'NISA', email: 'there@example.com' })
    const ids = new Set<string>()
    for (const externalOrderId of ['same', 'SAME']) {
      const reply = await convert(server, { externalOrderId, amountCents: 100, couponCode: 'NISA' })
      expect(already(reply)).toBeNull()
      ids.add(reply.body.commission.id)
    }
    expect(already(await convert(server, { externalOrderId: ' same ', amountCents: 100, couponCode: 'NISA' }))).toBe(
      'true',
    )
    const there = await convert(server, { externalOrderId: 'same', amountCents: 100, couponCode: 'NISA' }, { key })
    expect([already(there), ids.add(there.body.commission.id).size]).toEqual([null, 3])
  })

  test('in parallel under many keys: one commission, one event, one audit record', async ({ server }) => {
    events()
    audits()
    const sent = { externalOrderId: 'parallel', amountCents: 10_000, couponCode: 'NISA' }
    const replies = await Promise.all(Array.from({ length: 12 }, () => convert(server, sent)))
    expect(replies.map((reply) => reply.status)).toEqual(Array(12).fill(201))
    expect(new Set(replies.map((reply) => JSON.stringify(reply.body))).size).toBe(1)
    expect(replies.filter((reply) => already(reply) === null)).toHaveLength(1)
    expect([events().length, audits().length]).toEqual([1, 1])
  })
})

describe('an order without attribution', () => {
  test('is kept without a commission or an event, and credited by a later report', async ({ server }) => {
    const sent = { externalOrderId: 'later', amountCents: 10_000, customerEmail: 'canary@example.com' }
    events()
    audits()
    const first = await convert(server, sent)
    expect([first.body.commission.id, already(first), events()]).toEqual([null, null, []])
    expect(audits()).toMatchObject([{ action: 'order.unattributed', data: { reasonCode: 'NO_MATCH' } }])

    server.clock.advance(1000)
    const second = await convert(server, { ...sent, couponCode: 'NISA' })
    expect([second.status, already(second), second.body.commission.amountCents]).toEqual([201, null, 1600])
    expect(events().map((one) => [one.event, one.data.id])).toEqual([['commission.created', second.body.commission.id]])
    expect(audits()).toMatchObject([{ action: 'commission.created', subjectId: second.body.commission.id }])
    const third = await convert(server, { ...sent, couponCode: 'MARA' })
    expect([already(third), third.body]).toEqual(['true', second.body])
  })

  test('is in the journey of the customer once, with the latest decision', async ({ server, client }) => {
    const entries = () => client.journey.get({ sessionId: 's-path' }).then(({ journey }) => journey)
    const sent = { externalOrderId: 'path', amountCents: 10_000, sessionId: 's-path' }
    await convert(server, sent)
    expect(await entries()).toMatchObject([{ affiliateId: null, commissionId: null }])
    const { body } = await convert(server, { ...sent, couponCode: 'NISA' })
    expect(await entries()).toMatchObject([{ affiliateId: nisa.id, commissionId: body.commission.id }])
  })
})

test('no audit record contains personal data', async ({ server }) => {
  expect(
    JSON.stringify(rowsOf(server, 'audits').map(({ action, subjectId, data }) => [action, subjectId, data])),
  ).not.toMatch(/canary|@|Nisa Karim|Mara/)
})

test('409 for the same key with another order, and nothing is written', async ({ server, client }) => {
  const first = { externalOrderId: 'k-1', amountCents: 100 }
  await client.events.conversion(first, { idempotencyKey: 'reused' })
  const before = countOf(server, 'orders')
  const other = client.events.conversion({ ...first, externalOrderId: 'k-2' }, { idempotencyKey: 'reused' })
  expect(await rejection(other)).toEqual([409, 'idempotency_key_reused'])
  expect(countOf(server, 'orders')).toBe(before)
})
