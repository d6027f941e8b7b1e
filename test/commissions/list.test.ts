import { describe, expect } from 'vitest'
import { rejectionOf } from '../support/rejection.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let nisa: { id: string; campaignId: string }
let omar: { id: string; campaignId: string }
test.beforeAll(async ({ server, client }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  const { id } = await client.programs.create({ name: 'Other' })
  omar = await newAffiliate(server, { code: 'MAR', campaignId: id })
  const at = (time: string) => `2026-10-${time}`
  for (const [externalOrderId, couponCode, occurredAt] of [
    ['a', 'NISA', at('01T00:00:00.000Z')],
    ['b', 'NISA', at('02T00:00:00.000Z')],
    ['c', 'MAR', at('02T00:00:00.001Z')],
    ['d', 'NISA', at('02T23:59:59.999Z')],
    ['e', 'NISA', at('02T23:59:59.999Z')],
    ['f', 'MAR', at('31T23:59:59.999+02:00')],
    ['api:b', 'NISA', at('15T12:00:00.000Z')],
  ] as const)
    await client.events.conversion({
      externalOrderId,
      couponCode,
      occurredAt,
      amountCents: 10_000,
      discountCents: 1000,
    })
})

const found = async (client: Client, query: Parameters<Client['commissions']['list']>[0]) =>
  (await client.commissions.list(query)).data.map((row) => row.externalOrderId)

test('200 newest happenedAt first, with every field', async ({ server, client }) => {
  const { data, pagination } = await client.commissions.list()
  expect(data.map((row) => row.externalOrderId)).toEqual(['f', 'api:b', 'e', 'd', 'c', 'b', 'a'])
  expect(pagination).toEqual({ page: 1, limit: 20, total: 7, totalPages: 1 })
  const now = new Date(server.clock.ms).toISOString()
  expect(data.at(-1)).toEqual({
    id: expect.stringMatching(/^com_[0-9A-Z]{26}$/),
    affiliateId: nisa.id,
    programId: nisa.campaignId,
    externalOrderId: 'a',
    orderId: 'api:a',
    orderName: null,
    currency: 'USD',
    orderCurrency: 'USD',
    commissionType: 'PERCENT_OF_SALE',
    commissionBaseCents: 9000,
    remainingBaseCents: 9000,
    commissionRateBps: 1600,
    commissionAmountCents: 1440,
    taxWithheldCents: 0,
    orderSubtotalCents: 10_000,
    orderDiscountCents: 1000,
    orderShippingCents: 0,
    orderTaxCents: 0,
    trackingMethod: 'API',
    attributionMethod: 'COUPON',
    attributionReasonCode: 'COUPON_MATCH',
    restrictionReasonCode: null,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    happenedAt: '2026-10-01T00:00:00.000Z',
    termsVersion: 1,
    termsRule: null,
    availableAt: '2026-10-01T00:00:00.000Z',
    paidAt: null,
    createdAt: now,
    updatedAt: now,
  })
})

test('200 page by page, each row once, even with equal timestamps', async ({ client }) => {
  const pages = await Promise.all([1, 2, 3, 4, 5].map((page) => found(client, { page, limit: 2 })))
  expect(pages).toEqual([['f', 'api:b'], ['e', 'd'], ['c', 'b'], ['a'], []])
})

describe('from and to', () => {
  test.for([
    [{ from: '2026-10-02' }, ['f', 'api:b', 'e', 'd', 'c', 'b']],
    [{ from: '2026-10-02T00:00:00.001Z' }, ['f', 'api:b', 'e', 'd', 'c']],
    [{ to: '2026-10-02' }, ['b', 'a']],
    [{ to: '2026-10-02T00:00:00.001Z' }, ['c', 'b', 'a']],
    [{ to: '2026-10-02T23:59:59.998Z' }, ['c', 'b', 'a']],
    [{ to: '2026-10-02T23:59:59.999Z' }, ['e', 'd', 'c', 'b', 'a']],
    [{ from: '2026-10-02', to: '2026-10-02' }, ['b']],
    [{ from: '2026-10-02T02:00:00+02:00', to: '2026-10-01T22:00:00.001-02:00' }, ['c', 'b']],
    [{ from: '2026-10-31T21:59:59.999Z' }, ['f']],
    [{ from: '2026-10-31T22:00:00Z' }, []],
    [{ from: '2026-10-02T00:00Z', to: '2026-10-02T00:00:00.0009Z' }, ['b']],
  ])('the query %j finds the orders %j', async ([query, expected], { client }) => {
    expect(await found(client, query)).toEqual(expected)
  })

  test.for([
    ['from=2026-10-02T00:00:00', 'from'],
    ['to=2026-10-02T00:00', 'to'],
    ['from=2026-02-30', 'from'],
    ['to=2026-10-02T24:00:00Z', 'to'],
    ['from=02.10.2026', 'from'],
    ['from=', 'from'],
    ['to=1790000000', 'to'],
  ])('400 for the query %s', async ([query, name], { server }) => {
    const reply = await server.request('GET', `/api/v1/commissions?${query}`)
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_parameter', field: name })
  })
})

describe('externalOrderId', () => {
  test.for([
    ['a', ['a']],
    ['api:a', ['a']],
    ['b', ['b']],
    ['api:b', ['b']],
    ['api:api:b', ['api:b']],
    ['A', []],
    ['api:', []],
  ])('the order id %j finds the orders %j, the stored id first', async ([externalOrderId, expected], { client }) => {
    expect(await found(client, { externalOrderId })).toEqual(expected)
  })
})

test('affiliateId, programId and status filter, alone and together', async ({ client }) => {
  expect(await found(client, { affiliateId: omar.id })).toEqual(['f', 'c'])
  expect(await found(client, { programId: nisa.campaignId })).toEqual(['api:b', 'e', 'd', 'b', 'a'])
  expect(await found(client, { status: 'PENDING' })).toEqual(['f', 'c'])
  expect(await found(client, { status: 'APPROVED', affiliateId: omar.id })).toEqual([])
  expect(await found(client, { affiliateId: nisa.id, from: '2026-10-03' })).toEqual(['api:b'])
  expect(await found(client, { affiliateId: nisa.id, externalOrderId: 'c' })).toEqual([])
  expect(await found(client, { affiliateId: 'aff_none' })).toEqual([])
  expect(await found(client, { programId: 'prg_none' })).toEqual([])
})

test('payoutBatchId finds the commissions of a batch', async ({ client, owner }) => {
  const { id } = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-02' })
  expect(await found(client, { payoutBatchId: id })).toEqual(['b', 'a'])
  await expectOk(owner('POST', `/payouts/${id}/cancel`))
  expect(await found(client, { payoutBatchId: id })).toEqual([])
})

test.for(['status=approved', 'limit=0', 'page=0', 'affiliateId=', `externalOrderId=${'x'.repeat(261)}`])(
  '400 for %s',
  async (query, { server }) => {
    const reply = await server.request('GET', `/api/v1/commissions?${query}`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_parameter'])
  },
)

test('405 for every write method', async ({ server }) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const reply = await server.request(method, '/api/v1/commissions', { body: {} })
    expect([reply.status, reply.headers.get('Allow')], method).toEqual([405, 'GET, HEAD'])
  }
})

test('the commissions of an archived affiliate are listed', async ({ server, client }) => {
  const gone = await newAffiliate(server, { code: 'GNE' })
  await client.events.conversion({ externalOrderId: 'gone', couponCode: 'GNE', amountCents: 100 })
  const before = (await client.commissions.list({ affiliateId: gone.id })).data
  await client.affiliates.archive(gone.id)
  expect((await client.commissions.list({ affiliateId: gone.id })).data).toEqual(before)
  expect(before).toHaveLength(1)
})
