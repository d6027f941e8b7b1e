import { expect } from 'vitest'
import { visitorOf, wordsOf } from '../dashboard/visitor.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { ok, type Store, storeOf } from './fixture.ts'

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

const AT = '2026-09-20T12:00:00Z'

/** A report of an order: by the store, with an id and a name, or by the API. */
interface Report {
  store?: { id: number; name: string }
  api?: { externalOrderId: string; orderName?: string }
  at?: string
}

async function report({ store: order, api, at = AT }: Report): Promise<void> {
  if (api) {
    const conversion = { ...api, amountCents: 9000, couponCode: 'NISA16', occurredAt: at }
    await expectOk(convert(store.server, conversion))
    return
  }
  const line = { id: 1, product_id: 1, quantity: 1, price: '90.00' }
  const paid = { currency: 'USD', financial_status: 'paid', subtotal_price: '90.00', processed_at: at }
  const body = { ...order, ...paid, discount_codes: [{ code: 'NISA16' }], line_items: [line] }
  await ok(store.notify('orders-paid', JSON.stringify(body)))
}

const storedId = ({ store: order, api }: Report) => (api ? `api:${api.externalOrderId}` : `shopify:${order!.id}`)
const commissionOf = async (one: Report) =>
  (await store.server.client.commissions.list({ externalOrderId: storedId(one) })).data[0]!

const PENDING = { orderStatus: 'PENDING', commissionAmountCents: 1440, restrictionReasonCode: 'POSSIBLE_DUPLICATE' }
const APPROVED = { orderStatus: 'APPROVED', commissionAmountCents: 1440, restrictionReasonCode: null }

const LATER = '2026-10-20T12:00:00Z'
const AFTER_30_DAYS = '2026-10-20T12:00:01Z'

const pairs: [string, (n: number) => [Report, Report], object][] = [
  ['the same id', (n) => [{ api: { externalOrderId: `${n}` } }, { store: { id: n, name: '' } }], PENDING],
  [
    'the same name',
    (n) => [{ api: { externalOrderId: `cart-${n}`, orderName: `#${n}` } }, { store: { id: 9000 + n, name: `#${n}` } }],
    PENDING,
  ],
  [
    'the name as id',
    (n) => [{ api: { externalOrderId: `#${n}` } }, { store: { id: 9000 + n, name: `${n}` } }],
    PENDING,
  ],
  [
    'the number as id',
    (n) => [{ api: { externalOrderId: `${n}` } }, { store: { id: 9000 + n, name: `#${n}` } }],
    PENDING,
  ],
  ['30 days apart', (n) => [{ api: { externalOrderId: `${n}` } }, { store: { id: n, name: '' }, at: LATER }], PENDING],
  [
    'further apart',
    (n) => [{ api: { externalOrderId: `${n}` } }, { store: { id: n, name: '' }, at: AFTER_30_DAYS }],
    APPROVED,
  ],
  ['nothing the same', (n) => [{ api: { externalOrderId: `${n}` } }, { store: { id: 9000 + n, name: '' } }], APPROVED],
  [
    'one source',
    (n) => [{ store: { id: 9000 + n, name: `#${n}` } }, { store: { id: 8000 + n, name: `#${n}` } }],
    APPROVED,
  ],
]

test.for(pairs)('an order that two sources report, with %s, is paid once', async ([name, pair, expected]) => {
  const n = 10 * pairs.findIndex(([other]) => other === name)
  for (const [first, second] of [pair(100 + n), pair(101 + n).toReversed() as [Report, Report]]) {
    await report(first)
    await report(second)
    expect([await commissionOf(first), await commissionOf(second)]).toMatchObject([APPROVED, expected])
  }
})

test('reports at once are paid once', async () => {
  const ids = Array.from({ length: 10 }, (_, n) => 500 + n)
  const both = (id: number): Report[] => [{ api: { externalOrderId: `${id}` } }, { store: { id, name: `#${id}` } }]
  await Promise.all(ids.flatMap(both).map(report))
  for (const id of ids) {
    const statuses = await Promise.all(both(id).map(async (one) => (await commissionOf(one)).orderStatus))
    expect(statuses.toSorted()).toEqual(['APPROVED', 'PENDING'])
  }
})

test('approving by a filter leaves possible duplicates out', async ({ owner }) => {
  const [first, second] = [{ api: { externalOrderId: '550' } }, { store: { id: 550, name: '#1550' } }]
  await report(first)
  await report(second)
  await expectOk(owner('POST', '/commissions/moderate', { action: 'approve', filter: {} }))
  expect(await commissionOf(second)).toMatchObject(PENDING)
  const { id } = await commissionOf(second)
  await expectOk(owner('POST', '/commissions/moderate', { action: 'approve', ids: [id] }))
  expect(await commissionOf(second)).toMatchObject(APPROVED)
})

const TWINS: [string, (n: number) => [Report, Report]][] = [
  ...['# 1', '#\u00a01', '#\u200b1', '#\t\u3000 1', ' #1 ', '\u200b1', 'gid://shopify/Order/1'].flatMap(
    (text): [string, (n: number) => [Report, Report]][] => {
      const of = (n: number) => text.replace('1', `${n}`)
      const api = (n: number) => ({ api: { externalOrderId: of(n) } })
      const name = (n: number) => ({ api: { externalOrderId: `cart-${n}`, orderName: of(n) } })
      return [
        [`${text} as id and the id`, (n) => [api(n), { store: { id: n, name: '' } }]],
        [`${text} as id and the name`, (n) => [api(n), { store: { id: 90_000 + n, name: `#${n}` } }]],
        [`${text} as name and the name`, (n) => [name(n), { store: { id: 90_000 + n, name: `${n}` } }]],
        [
          `${text} as the store's name`,
          (n) => [{ api: { externalOrderId: `${n}` } }, { store: { id: 90_000 + n, name: of(n) } }],
        ],
      ]
    },
  ),
]

test('spellings of an id or a name are the same, whichever arrives first', async () => {
  for (const [index, [name, pair]] of TWINS.entries()) {
    for (const [first, second] of [pair(2000 + 2 * index), pair(2001 + 2 * index).toReversed() as [Report, Report]]) {
      await report(first)
      await report(second)
      expect([name, await commissionOf(first), await commissionOf(second)]).toMatchObject([name, APPROVED, PENDING])
    }
  }
})

test('a reopened order is a possible duplicate while an order of another source is credited', async ({ owner }) => {
  const pair = (id: number): [Report, Report] => [{ api: { externalOrderId: `${id}` } }, { store: { id, name: '' } }]
  for (const [first, second] of [pair(700), pair(701).toReversed() as [Report, Report]]) {
    await report(first)
    const one = await commissionOf(first)
    await expectOk(owner('POST', `/commissions/${one.id}/reject`))
    await report(second)
    const two = await commissionOf(second)
    await expectOk(owner('POST', `/commissions/${two.id}/approve`))
    await expectOk(owner('POST', `/commissions/${one.id}/reopen`))
    await expectOk(owner('POST', '/commissions/moderate', { action: 'approve', filter: {} }))
    expect([await commissionOf(first), await commissionOf(second)]).toMatchObject([PENDING, APPROVED])
    const explained = await expectOk(owner('GET', `/orders/${storedId(first)}/explanation`))
    const [, number] = storedId(second).split(':')
    expect(explained).toMatchObject({
      restriction: { code: 'POSSIBLE_DUPLICATE', because: expect.stringContaining(`order ${number}`) },
      replay: { identical: true },
    })

    await expectOk(owner('POST', `/commissions/${two.id}/reject`))
    await expectOk(owner('POST', `/commissions/${one.id}/reject`))
    await expectOk(owner('POST', '/commissions/moderate', { action: 'reopen', ids: [one.id, two.id] }))
    const both = [await commissionOf(first), await commissionOf(second)]
    expect(both.map((each) => each.orderStatus)).toEqual(['PENDING', 'PENDING'])
    expect(both.map((each) => each.restrictionReasonCode).toSorted()).toEqual(['POSSIBLE_DUPLICATE', null])
  }
})

test('the explanation and the overview name the first order until the second is approved', async ({
  server,
  owner,
}) => {
  const [first, second] = [{ api: { externalOrderId: '600' } }, { store: { id: 600, name: '#1600' } }]
  await report(first)
  await report(second)
  const preview = { externalOrderId: '1600', amountCents: 9000, couponCode: 'NISA16', occurredAt: AT }
  const { commission } = await expectOk(server.request('POST', '/api/v1/events?dryRun=1', { body: preview }))
  expect(commission).toMatchObject({ eligible: true, status: 'PENDING', restrictionReasonCode: 'POSSIBLE_DUPLICATE' })

  const explained = await expectOk(owner('GET', '/orders/shopify:600/explanation'))
  const because = expect.stringContaining('order 600, reported by the API')
  expect(explained).toMatchObject({
    outcome: 'CREDITED',
    restriction: { code: 'POSSIBLE_DUPLICATE', because },
    summary: because,
    replay: { identical: true },
  })
  const visitor = visitorOf(server)
  await visitor.signIn()
  const overview = async () => wordsOf((await visitor.open('/admin')).text)
  expect(await overview()).toContain('Order #1600 awaits approval, because it may be the same as order 600')

  const { id } = await commissionOf(second)
  await expectOk(owner('POST', `/commissions/${id}/reject`))
  await expectOk(owner('POST', `/commissions/${id}/reopen`))
  expect(await commissionOf(second)).toMatchObject(PENDING)
  await expectOk(owner('POST', `/commissions/${id}/approve`))
  expect(await commissionOf(second)).toMatchObject(APPROVED)
  expect(await overview()).not.toContain('#1600')
})
