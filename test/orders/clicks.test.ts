import { describe, expect } from 'vitest'
import { removeTable } from '../support/faults.ts'
import { countOf, rowOf } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

let nisa: { id: string; slug: string; campaignId: string }
let mara: { id: string; slug: string; campaignId: string }
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  mara = await newAffiliate(server, { code: 'MARA', name: 'Mara Lind' })
})

const stored = (server: TestServer, id: string) => rowOf(server, 'journey', { id })
const post = (server: TestServer, body: object, headers = {}) =>
  server.request('POST', '/api/v1/events', { body, headers })

test('202 for a click with everything, stored as sent', async ({ server, client }) => {
  const sent = {
    ref: nisa.slug,
    sessionId: 's-1',
    url: 'https://shop.example/hats?ref=nisa-karim',
    landingPage: 'https://shop.example/hats',
    referrerUrl: 'https://social.example/',
    utmSource: 'instagram',
    utmMedium: 'social',
    utmCampaign: 'autumn',
    utmTerm: 'hats',
    utmContent: 'story',
    country: 'DE',
    device: 'mobile',
    customerEmail: 'Buyer@Example.com',
    customerId: 'c-1',
  }
  const occurredAt = '2026-11-01T10:00:00+01:00'
  const { data, response } = await client.events.click({ ...sent, occurredAt }).withResponse()
  expect([response.status, data]).toEqual([
    202,
    { ok: true, message: 'Click recorded.', id: expect.stringMatching(/^jrn_[0-9A-Z]{26}$/) },
  ])
  expect(stored(server, data.id)).toMatchObject({
    ...sent,
    type: 'click',
    occurredAt: '2026-11-01T09:00:00.000Z',
    affiliateId: nisa.id,
    programId: nisa.campaignId,
    clickId: data.id,
  })
})

test('202 for a page view, which needs its url', async ({ server, client }) => {
  const { data, response } = await client.events
    .pageView({ url: 'https://shop.example/', sessionId: 's-1' })
    .withResponse()
  expect([response.status, data.message]).toEqual([202, 'Page view recorded.'])
  expect(stored(server, data.id)).toMatchObject({
    type: 'page_view',
    url: 'https://shop.example/',
    sessionId: 's-1',
    affiliateId: null,
    clickId: null,
    occurredAt: new Date(server.clock.ms).toISOString(),
  })
  for (const url of [{}, { url: null }, { url: '' }, { url: '  ' }]) {
    const reply = await post(server, { type: 'page_view', ref: nisa.slug, ...url })
    expect(rejectionOf(reply), JSON.stringify(url)).toEqual({ status: 400, code: 'invalid_body', field: 'url' })
  }
})

test('400 for a click without an affiliate reference', async ({ server }) => {
  const before = countOf(server, 'journey')
  for (const body of [{}, { url: 'https://shop.example/' }, { ref: '' }, { ref: ' ', affiliateCode: null }]) {
    const reply = await post(server, { type: 'click', ...body })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body' })
  }
  expect(countOf(server, 'journey')).toBe(before)
})

describe('the affiliate of a touch', () => {
  const ownerOf = async (server: TestServer, names: object) => {
    const reply = await post(server, { type: 'click', ...names })
    expect(reply.status).toBe(202)
    return stored(server, reply.body.id).affiliateId
  }

  test.for(['nisa-karim', ' NISA-Karim '])('202 for the ref %j, which is a slug', async (ref, { server }) => {
    expect(await ownerOf(server, { ref })).toBe(nisa.id)
  })

  test('ref and affiliateId are ids, affiliateCode is a code or a slug', async ({ server }) => {
    expect(await ownerOf(server, { ref: nisa.id })).toBe(nisa.id)
    expect(await ownerOf(server, { affiliateId: nisa.id })).toBe(nisa.id)
    expect(await ownerOf(server, { affiliateCode: 'nisa' })).toBe(nisa.id)
    expect(await ownerOf(server, { affiliateCode: nisa.slug })).toBe(nisa.id)
    expect(await ownerOf(server, { affiliateId: nisa.slug })).toBeNull()
  })

  test('clickId is that of an earlier click, generated or your own', async ({ server, client }) => {
    const first = await client.events.click({ ref: nisa.slug, clickId: 'own-1' })
    expect(await ownerOf(server, { clickId: first.id })).toBe(nisa.id)
    expect(await ownerOf(server, { clickId: 'own-1' })).toBe(nisa.id)
  })

  test('ref takes precedence over affiliateCode, affiliateId and clickId, in this order', async ({
    server,
    client,
  }) => {
    const { id: clickId } = await client.events.click({ ref: nisa.slug })
    expect(await ownerOf(server, { ref: mara.slug, affiliateCode: 'NISA', affiliateId: nisa.id, clickId })).toBe(
      mara.id,
    )
    expect(await ownerOf(server, { affiliateCode: 'MARA', affiliateId: nisa.id, clickId })).toBe(mara.id)
    expect(await ownerOf(server, { affiliateId: mara.id, clickId })).toBe(mara.id)
  })

  test('an unknown reference falls back to the next', async ({ server }) => {
    expect(await ownerOf(server, { ref: 'nobody', affiliateCode: 'NBDY', affiliateId: mara.id })).toBe(mara.id)
  })

  test('202 without an affiliate for unknown references, including those of another shop', async ({ server }) => {
    const { key } = await server.createShop()
    const { affiliate } = await withAffiliate(server, { key, code: 'FRGN', email: 'foreign@example.com' })
    for (const names of [
      { ref: 'nobody' },
      { affiliateCode: 'FRGN' },
      { affiliateId: affiliate.id },
      { ref: affiliate.id },
      { clickId: 'unheard-of' },
    ])
      expect(await ownerOf(server, names), JSON.stringify(names)).toBeNull()
  })

  test('202 for an archived affiliate, whose clicks are still stored under its id', async ({ server, client }) => {
    const gone = await newAffiliate(server, { name: 'Gone Girl' })
    await client.affiliates.archive(gone.id)
    expect(await ownerOf(server, { ref: 'gone-girl' })).toBe(gone.id)
  })

  test('a page view may name an affiliate as well', async ({ server, client }) => {
    const { id } = await client.events.pageView({ url: 'https://shop.example/', affiliateCode: 'MARA' })
    expect([stored(server, id).affiliateId, stored(server, id).programId]).toEqual([mara.id, mara.campaignId])
  })
})

test('your own clickId is stored, and the response still contains a generated one', async ({ server, client }) => {
  const { id } = await client.events.click({ ref: nisa.slug, clickId: 'own-2' })
  expect(id).toMatch(/^jrn_/)
  expect(stored(server, id).clickId).toBe('own-2')
})

describe('occurredAt', () => {
  const at = (server: TestServer, ms: number) => new Date(server.clock.ms + ms).toISOString()

  test('202 for a page view up to 5 minutes ahead of now, 400 a millisecond later', async ({ server, client }) => {
    const { id } = await client.events.pageView({ url: 'https://x.example/', occurredAt: at(server, 300_000) })
    expect(stored(server, id).occurredAt).toBe(at(server, 0))
    const reply = await post(server, { type: 'page_view', url: 'https://x.example/', occurredAt: at(server, 300_001) })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'occurred_at_in_future'])
  })

  test('a date alone is midnight UTC, a time without an offset is rejected', async ({ server, client }) => {
    const { id } = await client.events.click({ ref: nisa.slug, occurredAt: '2026-10-31' })
    expect(stored(server, id).occurredAt).toBe('2026-10-31T00:00:00.000Z')
    const reply = await post(server, { type: 'click', ref: nisa.slug, occurredAt: '2026-10-31T00:00:00' })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'occurredAt' })
  })
})

test('no key is needed; with one, the same touch is stored once', async ({ server }) => {
  const before = countOf(server, 'journey')
  const body = { type: 'click', ref: nisa.slug }
  const [first, second] = [await post(server, body), await post(server, body)]
  expect([first.status, second.status, first.body.id === second.body.id]).toEqual([202, 202, false])
  const keyed = { 'Idempotency-Key': 'touch-1' }
  const [third, again] = [await post(server, body, keyed), await post(server, body, keyed)]
  expect([again.status, again.body, again.headers.get('Idempotent-Replayed')]).toEqual([202, third.body, 'true'])
  expect(countOf(server, 'journey')).toBe(before + 3)
})

test('a touch writes no audit record, no event and no order', async ({ server, client }) => {
  const counts = () =>
    (['audits', 'webhookEvents', 'orders', 'commissions'] as const).map((table) => countOf(server, table))
  const before = counts()
  await client.events.click({ ref: nisa.slug })
  await client.events.pageView({ url: 'https://shop.example/' })
  expect(counts()).toEqual(before)
})

test('unknown properties, and those of an order, are tolerated and not stored', async ({ server }) => {
  const more = { ip: '192.0.2.1', userAgent: 'Mozilla/5.0', amountCents: -5, externalOrderId: 'x' }
  const { status, body } = await post(server, { type: 'click', ref: nisa.slug, ...more })
  expect(status).toBe(202)
  expect(stored(server, body.id).externalOrderId).toBeNull()
  expect(JSON.stringify(stored(server, body.id))).not.toMatch(/192\.0\.2\.1|Mozilla/)
})

test.for([
  ['affiliates', 'the look-up of the affiliate'],
  ['journey', 'storing the touch'],
] as const)('503 when the table %s fails (%s), without details in the response', async ([table], { server }) => {
  const restore = removeTable(server, table)
  const reply = await post(server, { type: 'click', ref: 'canary-ref', customerEmail: 'canary@example.com' })
  restore()
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([503, 'storage_unavailable'])
  expect(JSON.stringify(reply.body)).not.toContain('canary')
  expect((await post(server, { type: 'click', ref: nisa.slug })).status).toBe(202)
})

test.for([
  [{ type: 'click', ref: 7 }, 'ref'],
  [{ type: 'click', ref: 'x'.repeat(256) }, 'ref'],
  [{ type: 'page_view', url: 'x'.repeat(4097) }, 'url'],
  [{ type: 'view', url: 'x' }, 'type'],
  [{ type: 'click', ref: 'x\0' }, undefined],
])('400 for the touch %j', async ([body, field], { server }) => {
  const reply = await post(server, body)
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
})
