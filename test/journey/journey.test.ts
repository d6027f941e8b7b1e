import { describe, expect } from 'vitest'
import { rejection, rejectionOf } from '../support/rejection.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let nisa: { id: string; slug: string; campaignId: string }
let clickId: string
let commissionId: string
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server)).affiliate
  const touch = (body: object) => expectOk(server.request('POST', '/api/v1/events', { body }))
  const visitor = { sessionId: 's-1', customerEmail: ' Buyer@Example.com ' }
  // Reported out of order; the journey is sorted by time.
  const order = { externalOrderId: '1', amountCents: 9000, couponCode: 'NISA16', occurredAt: '2026-10-20T12:30:00Z' }
  commissionId = (await expectOk(convert(server, { ...order, ...visitor }))).commission.id
  const landing = { landingPage: 'https://shop.example/hats', utmSource: 'instagram', country: 'SG', device: 'mobile' }
  clickId = (await touch({ type: 'click', ref: nisa.slug, ...visitor, ...landing, occurredAt: '2026-10-20T12:00:00Z' }))
    .id
  await touch({ type: 'page_view', url: 'https://shop.example/hats', ...visitor, occurredAt: '2026-10-20T12:10:00Z' })
  await touch({ type: 'click', ref: 'nobody', sessionId: 's-2', occurredAt: '2026-10-21T12:00:00Z' })
  await touch({ type: 'click', ref: nisa.slug, sessionId: 's-2', occurredAt: '2026-10-22T12:00:00Z' })
})

const types = async (client: Client, query: Parameters<Client['journey']['get']>[0]) =>
  (await client.journey.get(query)).journey.map((entry) => `${entry.type} ${entry.sessionId}`)
const path = ['click s-1', 'page_view s-1', 'conversion s-1']

test('200 clicks, page views and conversions in the order they happened, with every field', async ({ client }) => {
  const { journey, total } = await client.journey.get({ sessionId: 's-1' })
  const none = {
    sessionId: 's-1',
    affiliateId: null,
    programId: null,
    clickId: null,
    ref: null,
    customerId: null,
    customerEmail: journey[0]?.customerEmail,
    url: null,
    landingPage: null,
    referrerUrl: null,
    utmSource: null,
    utmMedium: null,
    utmCampaign: null,
    utmTerm: null,
    utmContent: null,
    country: null,
    device: null,
    externalOrderId: null,
    commissionId: null,
    commissionStatus: null,
    orderCurrency: null,
    refundedCents: null,
    attributed: false,
  }
  const credited = { affiliateId: nisa.id, programId: nisa.campaignId, attributed: true }
  expect(total).toBe(3)
  expect(journey[0]?.customerEmail?.trim()).toBe('Buyer@Example.com')
  expect(journey).toEqual([
    {
      ...none,
      ...credited,
      id: clickId,
      type: 'click',
      occurredAt: '2026-10-20T12:00:00.000Z',
      clickId,
      ref: nisa.slug,
      landingPage: 'https://shop.example/hats',
      utmSource: 'instagram',
      country: 'SG',
      device: 'mobile',
    },
    {
      ...none,
      id: expect.stringMatching(/^jrn_/),
      type: 'page_view',
      occurredAt: '2026-10-20T12:10:00.000Z',
      url: 'https://shop.example/hats',
    },
    {
      ...none,
      ...credited,
      id: expect.stringMatching(/^jrn_/),
      type: 'conversion',
      occurredAt: '2026-10-20T12:30:00.000Z',
      externalOrderId: '1',
      commissionId,
      commissionStatus: expect.stringMatching(/^(APPROVED|PENDING)$/),
      orderCurrency: 'USD',
      refundedCents: 0,
    },
  ])
})

describe('identifiers', () => {
  test('an affiliate, a customer in any letter case', async ({ client }) => {
    expect(await types(client, { affiliateId: nisa.id })).toEqual(['click s-1', 'conversion s-1', 'click s-2'])
    for (const customerEmail of ['buyer@example.com', '  BUYER@EXAMPLE.COM\t']) {
      expect(await types(client, { customerEmail })).toEqual(path)
    }
  })

  test('several identifiers narrow the result', async ({ client }) => {
    expect(await types(client, { sessionId: 's-2', affiliateId: nisa.id })).toEqual(['click s-2'])
    expect(await types(client, { sessionId: 's-2', customerEmail: 'buyer@example.com' })).toEqual([])
    expect(await types(client, { sessionId: 's-1', affiliateId: nisa.id, customerEmail: 'buyer@example.com' })).toEqual(
      ['click s-1', 'conversion s-1'],
    )
  })

  test('400 journey_identifier_required without an identifier', async ({ server }) => {
    for (const query of ['', '?from=2026-10-01', '?customerId=c-1']) {
      const reply = await server.request('GET', `/api/v1/journey${query}`)
      expect(rejectionOf(reply)).toEqual({ status: 400, code: 'journey_identifier_required' })
    }
  })

  test.for([
    'sessionId=',
    'customerEmail=',
    'sessionId=s-1&limit=0',
    'sessionId=s-1&limit=501',
    'sessionId=s-1&from=x',
  ])('400 for the query %s', async (query, { server }) => {
    const reply = await server.request('GET', `/api/v1/journey?${query}`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_parameter'])
  })

  test('another shop sees nothing of it', async ({ server }) => {
    const stranger = server.clientOf((await server.createShop()).key)
    for (const query of [{ sessionId: 's-1' }, { affiliateId: nisa.id }, { customerEmail: 'buyer@example.com' }])
      expect(await stranger.journey.get(query)).toEqual({ journey: [], total: 0 })
  })
})

describe('limit', () => {
  test('the latest are listed, oldest first; total counts all', async ({ client }) => {
    const { journey, total } = await client.journey.get({ sessionId: 's-1', limit: 2 })
    expect([journey.map((entry) => entry.type), total]).toEqual([['page_view', 'conversion'], 3])
  })

  test('equal times have a stable order', async ({ server, client }) => {
    const body = { type: 'click', ref: nisa.slug, sessionId: 'same', occurredAt: '2026-10-20' }
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await expectOk(server.request('POST', '/api/v1/events', { body }))).id)
    const found = async (limit: number) =>
      (await client.journey.get({ sessionId: 'same', limit })).journey.map((entry) => entry.id)
    expect(await found(500)).toEqual(ids)
    expect(await found(2)).toEqual(ids.slice(-2))
  })

  test('100 entries by default', async ({ server, client }) => {
    const body = { type: 'click', ref: nisa.slug, sessionId: 'busy' }
    await Promise.all(Array.from({ length: 101 }, () => expectOk(server.request('POST', '/api/v1/events', { body }))))
    const { journey, total } = await client.journey.get({ sessionId: 'busy' })
    expect([journey.length, total]).toEqual([100, 101])
  })
})

describe('from and to', () => {
  test.for([
    [{ from: '2026-10-20T12:10:00Z' }, path.slice(1)],
    [{ from: '2026-10-20T14:10:00.001+02:00' }, path.slice(2)],
    [{ to: '2026-10-20T12:10:00.000Z' }, path.slice(0, 2)],
    [{ to: '2026-10-20T12:09:59.999Z' }, path.slice(0, 1)],
    [{ from: '2026-10-20', to: '2026-10-20' }, []],
    [{ from: '2026-10-20', to: '2026-10-21' }, path],
    [{ to: '2027-01-18T12:30:00.000Z' }, path.slice(2)],
  ])('the period %j contains the touches %j', async ([bounds, expected], { client }) => {
    expect(await types(client, { sessionId: 's-1', ...bounds })).toEqual(expected)
  })

  test('the default is the last 90 days; a caller whose clock is slightly ahead is accepted', async ({
    server,
    client,
  }) => {
    const at = (occurredAt: string) => ({ type: 'click', ref: nisa.slug, sessionId: 'default', occurredAt })
    for (const when of ['2026-08-04T11:59:59.999Z', '2026-08-04T12:00:00.000Z'])
      await expectOk(server.request('POST', '/api/v1/events', { body: at(when) }))
    const order = { externalOrderId: 'ahead', amountCents: 100, sessionId: 'default' }
    await expectOk(convert(server, { ...order, occurredAt: '2026-11-02T12:04:00.000Z' }))
    const { journey } = await client.journey.get({ sessionId: 'default' })
    expect(journey.map((entry) => entry.occurredAt)).toEqual(['2026-08-04T12:00:00.000Z', '2026-11-02T12:04:00.000Z'])
  })

  test('400 when reversed', async ({ client }) => {
    const reversed = client.journey.get({ sessionId: 's-1', from: '2026-10-02', to: '2026-10-01' })
    expect(await rejection(reversed)).toEqual([400, 'period_invalid'])
  })
})
