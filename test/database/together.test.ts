// Changes that arrive together have the outcome of some order of single changes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { check } from '../../server/src/operator/check.ts'
import { type Store, storeOf } from '../stores/fixture.ts'
import { canceledPayload, orderPayload, refundPayload } from '../stores/payloads.ts'
import { subscribe } from '../support/inspect.ts'
import { type Reply, testServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'

const CODES = ['NISA16', 'MARA', 'KEVIN', 'PAT']
const N = 32
const all = Array.from({ length: N }, (_, i) => i)

interface Shop extends Store {
  programId: string
}
let parallel: Shop
let sequential: Shop

async function newShop(): Promise<Shop> {
  const store = await storeOf(await testServer())
  await store.server.client.affiliates.update(store.affiliate.id, { email: 'nisa@example.com' })
  const { campaignId } = await expectOk(store.server.request('GET', '/api/v1/affiliates')).then(([first]) => first)
  await store.server.client.programs.update(campaignId, { lifetimeCommission: true })
  for (const code of CODES.slice(1))
    await newAffiliate(store.server, { code, campaignId, name: code, email: `${code}@example.com` })
  subscribe(store.server)
  return { ...store, programId: campaignId }
}
beforeAll(async () => {
  ;[parallel, sequential] = [await newShop(), await newShop()]
})
afterAll(() => Promise.all([parallel, sequential].map(({ server }) => server.close())))

/** Replaces ids, which differ between two servers: those of affiliates by their codes, others by their prefix. */
function withoutIds({ server }: Shop, value: unknown): unknown {
  let text = JSON.stringify(value)
  const affiliates = server.sql.prepare('select id, "codeKey" from affiliates').all() as {
    id: string
    codeKey: string
  }[]
  for (const { id, codeKey } of affiliates) text = text.replaceAll(id, codeKey)
  return JSON.parse(text.replace(/\b([a-z]{3})_[0-9A-Z]{26}\b/g, '$1').replace(/"shop_id":"[^"]*"/g, '"shop_id":""'))
}

const QUERIES = [
  'select "orderId", "affiliateId", "commissionAmountCents", "orderStatus", "attributionReasonCode" from commissions order by "orderId"',
  'select "orderId", facts, decision, "commissionId" is null as unattributed from orders order by "orderId"',
  'select kind, value, "affiliateId" from connections order by kind, value',
  'select "orderId", "affiliateId", "customerEmailKey", "clickId" from journey where type = \'conversion\' order by "orderId"',
  'select "externalRefundId", "goodsCents", "commissionCents" from refunds order by "externalRefundId", "goodsCents"',
  "select action, data, seq from audits where action <> 'coupon.assigned' order by seq",
  'select list, status, sum(rows) as n from "rowCounts" where scope = \'\' group by 1, 2 order by 1, 2',
  'select key from "idempotencyKeys" order by key',
]
const stateOf = (shop: Shop) => QUERIES.map((query) => withoutIds(shop, shop.server.sql.prepare(query).all()))

const outcomeOf = (shop: Shop, { status, headers, body }: Reply) => [
  status,
  headers.get('X-Error-Code'),
  headers.get('X-Order-Already-Recorded'),
  headers.get('Idempotent-Replayed'),
  withoutIds(shop, body),
]

type Call = (shop: Shop) => Promise<Reply>

/**
 * Sends the calls together to one shop, and one at a time to another, in the order of the audit; what was not
 * audited comes last, because it changed nothing. Expects the same responses and rows. Returns the responses.
 */
async function sendTogether(calls: Call[]): Promise<Reply[]> {
  const replies = await Promise.all(calls.map((call) => call(parallel)))
  const seqs = new Map(
    (
      parallel.server.sql.prepare('select "requestId", seq from audits').all() as { requestId: string; seq: number }[]
    ).map(({ requestId, seq }) => [requestId, Number(seq)]),
  )
  const seqOf = (i: number) => seqs.get(replies[i]!.headers.get('X-Request-Id') ?? '') ?? Number.MAX_SAFE_INTEGER
  const order = calls.map((_, i) => i).sort((a, b) => seqOf(a) - seqOf(b) || a - b)
  for (const i of order) {
    const reply = await calls[i]!(sequential)
    expect(outcomeOf(parallel, replies[i]!)).toEqual(outcomeOf(sequential, reply))
  }
  expect(stateOf(parallel)).toEqual(stateOf(sequential))
  const report = await check(parallel.server.deps)
  expect(report).toMatchObject({ ok: true })
  return replies
}

let count = 0
const unique = (prefix: string) => `${prefix}-${++count}`
const order =
  (body: object, idempotencyKey = unique('key')): Call =>
  ({ server }) =>
    convert(server, { externalOrderId: unique('never'), amountCents: 10_000, ...body }, { idempotencyKey })

const affiliatesOf = (replies: Reply[]) => new Set(replies.map(({ body }) => body.attribution.affiliateId))

test('independent orders', async () => {
  const replies = await sendTogether(
    all.map((i) =>
      order({
        externalOrderId: unique('independent'),
        amountCents: 1000 + i,
        couponCode: i % 5 ? CODES[i % 4] : undefined,
        customerEmail: `independent-${i}@example.com`,
        lineItems: i % 3 ? [] : [{ productId: `${i % 2}`, quantity: 1, priceCents: i }],
      }),
    ),
  )
  expect(replies.map(({ status }) => status)).toEqual(all.map(() => 201))
})

test('first orders of one customer with codes of several affiliates: the first one connects the customer', async () => {
  const customerEmail = 'First@Example.com'
  await sendTogether(
    all.map((i) => order({ externalOrderId: unique('first'), couponCode: CODES[i % 4], customerEmail })),
  )
  const later = await sendTogether(all.map(() => order({ externalOrderId: unique('later'), customerEmail })))
  expect(affiliatesOf(later).size).toBe(1)
})

test('first orders of one customer who is known by an id alone', async () => {
  await sendTogether(
    all.map((i) => order({ externalOrderId: unique('id'), couponCode: CODES[i % 4], customerId: 'first' })),
  )
})

test('first orders of customers that share an id or an email address in turn', async () => {
  await sendTogether(
    all.map((i) =>
      order({
        externalOrderId: unique('shared'),
        couponCode: i % 3 ? CODES[i % 4] : undefined,
        customerId: i % 2 ? `shared-${i >> 2}` : undefined,
        customerEmail: i % 2 ? `shared-${(i + 1) >> 2}@example.com` : `shared-${i >> 3}@example.com`,
      }),
    ),
  )
})

test('one order under different keys: recorded once', async () => {
  const externalOrderId = unique('once')
  const replies = await sendTogether(
    all.map((i) => order({ externalOrderId, amountCents: 100 * (i + 1), couponCode: CODES[i % 4] })),
  )
  expect(new Set(replies.map(({ body }) => body.commission.id)).size).toBe(1)
  expect(replies.filter(({ headers }) => !headers.get('X-Order-Already-Recorded'))).toHaveLength(1)
})

test('an order without an affiliate is decided again by each report until one is credited', async () => {
  const externalOrderId = unique('again')
  const replies = await sendTogether(
    all.map((i) => order({ externalOrderId, couponCode: i % 4 ? undefined : CODES[i % 3] })),
  )
  const ids = new Set(replies.map(({ body }) => body.commission.id).filter(Boolean))
  expect(ids.size).toBe(1)
})

test('one key: one order and replays of its response, and 409 with another body', async () => {
  const key = unique('same')
  const body = { externalOrderId: unique('same-key'), couponCode: 'MARA' }
  const replies = await sendTogether(all.map((i) => order(i % 8 === 7 ? { ...body, amountCents: i } : body, key)))
  expect(replies.filter(({ status }) => status === 409)).toHaveLength(4)
  const texts = replies.filter(({ status }) => status === 201).map((reply) => JSON.stringify(reply.body))
  expect(new Set(texts).size).toBe(1)
  expect(replies.filter(({ headers }) => headers.get('Idempotent-Replayed'))).toHaveLength(27)
})

test('one key for several orders: the first one is recorded, and 409 for the others', async () => {
  const key = unique('several')
  // The first change is committed alone, before the others arrive.
  const replies = await sendTogether(
    all.map((i) => order({ externalOrderId: unique('several'), couponCode: 'PAT' }, i === 0 ? undefined : key)),
  )
  expect(replies.filter(({ status }) => status === 409)).toHaveLength(N - 2)
})

test('orders concurrent with changes of their program and affiliates: each order sees a change completely or not at all', async () => {
  await sendTogether(
    all.map((i): Call => {
      if (i === 11)
        return ({ server, programId }) =>
          server.request('PATCH', `/api/v1/programs?id=${programId}`, { body: { commissionPercent: 10 + i } })
      if (i === 13)
        return ({ server, affiliate }) =>
          server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { body: { name: `Nisa ${i}` } })
      return order({
        externalOrderId: unique('concurrent'),
        couponCode: CODES[i % 4],
        customerEmail: `concurrent-${i}@example.com`,
      })
    }),
  )
})

test('orders, cancellations and refunds of a store', async () => {
  const line = { product_id: 632910392, variant_id: 808950810, quantity: 4, price: '25.00' }
  const ids = [1, 2, 3, 4].map(() => parallel.nextId())
  const refund =
    (orderId: number, quantity: number): Call =>
    ({ notify }) =>
      notify(
        'refunds-create',
        refundPayload({ id: orderId + quantity, orderId, items: [{ ...line, quantity, subtotal: 25 * quantity }] }),
      )
  const paid =
    (id: number, code: string): Call =>
    ({ notify }) =>
      notify('orders-paid', orderPayload({ id, lines: [line], codes: [code], email: 'store@example.com' }))
  const canceled =
    (id: number): Call =>
    ({ notify }) =>
      notify('orders-cancelled', canceledPayload({ id }))
  const calls = ids.flatMap((id, n) => {
    const order = paid(id, CODES[n]!)
    return n < 2
      ? [refund(id, 1), order, refund(id, 2), order, refund(id, 1)]
      : [order, canceled(id), order, canceled(id)]
  })
  // The outcome of a notification that arrives before its order is audited with the order.
  const replies = await Promise.all(calls.map((call) => call(parallel)))
  expect(replies.map(({ status }) => status)).toEqual(calls.map(() => 200))
  for (const call of calls) await call(sequential)
  const amounts = ({ server }: Shop) =>
    server.sql
      .prepare(
        `select "orderId", "commissionAmountCents", "orderStatus", (select sum("goodsCents") from refunds where refunds."commissionId" = commissions.id) as refunded
        from commissions where "trackingMethod" = 'STORE_ORDER' order by 1`,
      )
      .all()
  expect(amounts(parallel)).toEqual(amounts(sequential))
  expect(await check(parallel.server.deps)).toMatchObject({ ok: true })
})

test('clicks with one click id: it belongs to its first affiliate, and concurrent orders are credited to it or to nobody', async () => {
  const { server } = parallel
  const affiliates = (await expectOk(server.request('GET', '/api/v1/affiliates'))) as { id: string; slug: string }[]
  const clickId = unique('click')
  const replies = await Promise.all(
    all.map((i) =>
      i % 4 === 0
        ? convert(server, { externalOrderId: unique('clicked'), amountCents: 1000, clickId })
        : server.request('POST', '/api/v1/events', {
            body: { type: 'click', clickId, affiliateId: affiliates[i % affiliates.length]!.id },
          }),
    ),
  )
  const rows = server.sql.prepare('select "affiliateId" from journey where type = \'click\' and "clickId" = ?')
  const owners = new Set((rows.all(clickId) as { affiliateId: string }[]).map((row) => row.affiliateId))
  expect(owners.size).toBe(1)
  const credited = replies.flatMap(({ body }) => body.attribution?.affiliateId ?? [])
  expect(credited.every((id) => owners.has(id))).toBe(true)
  const next = await Promise.all(
    all.map(() => convert(server, { externalOrderId: unique('clicked'), amountCents: 1000, clickId })),
  )
  expect(affiliatesOf(next)).toEqual(owners)
  expect(await check(server.deps)).toMatchObject({ ok: true })
})

test('orders and clicks of one session', async () => {
  const { server } = parallel
  const sessionId = unique('session')
  const replies = await Promise.all(
    all.map((i) =>
      i % 2
        ? convert(server, { externalOrderId: unique('visited'), amountCents: 1000, sessionId })
        : server.request('POST', '/api/v1/events', { body: { type: 'click', sessionId, affiliateCode: CODES[i % 4] } }),
    ),
  )
  expect(replies.map(({ status }) => status)).toEqual(all.map((i) => (i % 2 ? 201 : 202)))
  expect(await check(server.deps)).toMatchObject({ ok: true })
})
