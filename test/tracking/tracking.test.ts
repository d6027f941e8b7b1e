import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { codeOf } from '../commissions/money.ts'
import { countOf, rowOf, updateRows } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { RequestOptions, TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const ORIGIN = 'https://shop.example'
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const OWN_ID = '0b1f4a3e-1111-4222-8333-444455556666'
const BOTS = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'WhatsApp/2.23.20.0',
]

let nisa: { id: string; slug: string; campaignId: string }
test.beforeAll(async ({ server, owner }) => {
  nisa = (await withAffiliate(server)).affiliate
  await expectOk(owner('PATCH', '/settings', { siteDomains: ['shop.example', 'www.shop.example'] }))
})

const clicks = (server: TestServer) => countOf(server, 'journey')
const report = (server: TestServer, kind: string, body: unknown, { headers, ...rest }: RequestOptions = {}) =>
  server.request('POST', `/t/${server.shop.shopId}/${kind}`, {
    key: null,
    body,
    headers: { Origin: ORIGIN, 'User-Agent': BROWSER, ...headers },
    ...rest,
  })
const follow = (server: TestServer, ref: string, query = '', headers: Record<string, string> = {}, method = 'GET') =>
  server.request(method, `/r/${server.shop.shopId}/${ref}${query}`, {
    key: null,
    headers: { 'User-Agent': BROWSER, ...headers },
  })

describe('a click that a page reports', () => {
  test('202 is evidence for an order by its id', async ({ server, owner }) => {
    const { status, body, headers } = await report(server, 'click', { ref: nisa.slug, utmSource: 'news' })
    expect([status, body]).toEqual([202, { id: expect.stringMatching(/^jrn_/) }])
    expect([headers.get('Access-Control-Allow-Origin'), headers.get('Vary')]).toEqual([ORIGIN, 'Origin'])
    expect(rowOf(server, 'journey', { id: body.id })).toMatchObject({ affiliateId: nisa.id, utmSource: 'news' })
    const order = await convert(server, { externalOrderId: 'o-1', amountCents: 5000, clickId: body.id })
    expect(order.body.attribution.affiliateId).toBe(nisa.id)
    expect(JSON.stringify(await expectOk(owner('GET', '/orders/o-1/explanation')))).toContain(body.id)
  })

  test('202 keeps the page’s own click id, and any content type, so that browsers ask no permission', async ({
    server,
  }) => {
    const raw = JSON.stringify({ ref: nisa.slug, clickId: OWN_ID })
    const reply = await report(server, 'click', undefined, { raw, headers: { 'Content-Type': 'text/plain' } })
    expect([reply.status, reply.body]).toEqual([202, { id: OWN_ID }])
  })

  test('202 for an id that is reported again, which keeps its time and its affiliate', async ({ server, client }) => {
    const clickId = crypto.randomUUID()
    await report(server, 'click', { ref: nisa.slug, clickId })
    const before = clicks(server)
    server.clock.advance(20 * 86_400_000)
    expect((await report(server, 'click', { ref: nisa.slug, clickId })).body).toEqual({ id: clickId })
    expect(clicks(server)).toBe(before)
    const other = await client.affiliates.create({ email: 'eve@example.com', name: 'Eve' })
    const { body } = await report(server, 'click', { ref: other.slug, clickId })
    expect(body.id).toMatch(/^jrn_/)
  })

  test('202 for an id that is sent twice at once, as by a page that is reloaded: one click', async ({ server }) => {
    const before = clicks(server)
    const click = { ref: nisa.slug, clickId: crypto.randomUUID() }
    const replies = await Promise.all([1, 2, 3].map(() => report(server, 'click', click)))
    expect(replies.map(({ status, body }) => [status, body])).toEqual(Array(3).fill([202, { id: click.clickId }]))
    expect(clicks(server)).toBe(before + 1)
  })

  test('202 without an id, and nothing stored, for an unknown affiliate and for bots', async ({ server }) => {
    const before = clicks(server)
    const unknown = await report(server, 'click', { ref: 'nobody', clickId: crypto.randomUUID() })
    expect([unknown.status, unknown.body]).toEqual([202, { id: null }])
    for (const bot of BOTS) {
      const { status, body } = await report(server, 'click', { ref: nisa.slug }, { headers: { 'User-Agent': bot } })
      expect([status, body], bot).toEqual([202, { id: null }])
    }
    expect(clicks(server)).toBe(before)
  })

  test.for([
    ['customerEmail', { ref: 'x', customerEmail: 'a@example.com' }],
    ['customerId', { ref: 'x', customerId: '1' }],
    ['occurredAt', { ref: 'x', occurredAt: '2026-01-01' }],
    ['amountCents', { ref: 'x', amountCents: 100 }],
    ['ref', {}],
    ['ref', { clickId: OWN_ID }],
    // Whoever guesses the ID of a customer's click or session would take over the order.
    ['clickId', { ref: 'x', clickId: '1002' }],
    ['clickId', { ref: 'x', clickId: 'user_7' }],
    ['sessionId', { ref: 'x', sessionId: 's-9' }],
  ] as const)('400 for %s', async ([field, body], { server }) => {
    const before = clicks(server)
    const reply = await report(server, 'click', body)
    expect(reply.status).toBe(400)
    expect(reply.body.error).toContain(field)
    expect(clicks(server)).toBe(before)
  })

  test.for([
    'http://shop.example',
    'https://shop.example:8443',
    'https://evil.example',
    'https://shop.example.evil.example',
    'https://evilshop.example',
    'https://sub.shop.example',
    'null',
    '',
  ])('403 from a page of %s', async (origin, { server }) => {
    const before = clicks(server)
    for (const kind of ['click', 'view']) {
      const reply = await report(server, kind, { ref: nisa.slug, url: 'x' }, { headers: { Origin: origin } })
      expect(reply.headers.get('Access-Control-Allow-Origin')).toBeNull()
      expect(codeOf(reply)).toEqual([403, 'origin_refused'])
    }
    expect(clicks(server)).toBe(before)
  })

  test('a page view is stored, and is no evidence', async ({ server }) => {
    const { status, body } = await report(server, 'view', { url: `${ORIGIN}/`, ref: nisa.slug })
    expect([status, rowOf(server, 'journey', { id: body.id })]).toMatchObject([202, { type: 'page_view' }])
    const order = await convert(server, { externalOrderId: 'o-2', amountCents: 5000, clickId: body.id })
    expect(order.body.attribution.affiliateId).toBeNull()
  })

  test('204 for a preflight of a page of the shop only', async ({ server }) => {
    const ask = (Origin: string, method = 'POST') =>
      server.request('OPTIONS', `/t/${server.shop.shopId}/click`, {
        key: null,
        headers: { Origin, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': 'content-type' },
      })
    const { status, headers } = await ask('https://www.shop.example')
    expect([status, headers.get('Access-Control-Allow-Origin'), headers.get('Access-Control-Allow-Methods')]).toEqual([
      204,
      'https://www.shop.example',
      'POST',
    ])
    expect(headers.get('Access-Control-Allow-Credentials')).toBeNull()
    for (const reply of [await ask('https://evil.example'), await ask(ORIGIN, 'DELETE')])
      expect([reply.status, reply.headers.get('Access-Control-Allow-Origin')]).toEqual([405, null])
  })
})

describe('an affiliate link', () => {
  test('302 to the first domain with ref and click id, uncached', async ({ server }) => {
    const { status, headers } = await follow(server, nisa.slug, '?path=/hats%3Fcolor=red%23top')
    const page = new URL(headers.get('Location')!)
    const clickId = page.searchParams.get('referral_click_id')!
    expect([status, headers.get('Cache-Control')]).toEqual([302, 'no-store'])
    expect(page.href).toBe(`${ORIGIN}/hats?color=red&ref=${nisa.slug}&referral_click_id=${clickId}#top`)
    expect(rowOf(server, 'journey', { id: clickId })).toMatchObject({
      affiliateId: nisa.id,
      landingPage: `${ORIGIN}/hats`,
    })
  })

  test('302 without a click for an unknown ref, bots, prefetches and HEAD', async ({ server }) => {
    const before = clicks(server)
    const silent = [
      await follow(server, 'nobody'),
      await follow(server, nisa.slug, '?path=/x%3Freferral_click_id=forged', { 'Sec-Purpose': 'prefetch;prerender' }),
      await follow(server, nisa.slug, '', {}, 'HEAD'),
      await follow(server, nisa.slug, '', { 'Sec-Fetch-Dest': 'image' }),
      ...(await Promise.all(BOTS.map((bot) => follow(server, nisa.slug, '', { 'User-Agent': bot })))),
    ]
    for (const { status, headers } of silent) {
      const { origin, searchParams } = new URL(headers.get('Location')!)
      expect([status, origin, searchParams.has('ref'), searchParams.has('referral_click_id')]).toEqual([
        302,
        ORIGIN,
        true,
        false,
      ])
    }
    expect(clicks(server)).toBe(before)
  })

  test.for([
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '\\\\evil.example',
    'https://evil.example',
    '@evil.example',
    '.evil.example',
    '/%2e%2e//evil.example',
    '///evil.example',
    '/@evil.example',
    '/%5cevil.example',
    '/%2f%2fevil.example',
    'javascript:alert(1)',
  ])('never leads to another host: %s', async (path, { server }) => {
    const reply = await follow(server, nisa.slug, `?path=${encodeURIComponent(path)}`)
    if (reply.status === 302) expect(new URL(reply.headers.get('Location')!).origin).toBe(ORIGIN)
    else expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_parameter', field: 'path' })
  })

  test('is not logged with the name in it', async ({ server }) => {
    await follow(server, nisa.slug)
    expect(server.logs.join()).not.toContain(nisa.slug)
  })
})

describe('the script', () => {
  const get = (server: TestServer, headers = {}) =>
    server.request('GET', `/t/${server.shop.shopId}.js`, { key: null, headers })

  test('is small, cached and conditional, and keeps the id for the longest click window', async ({ server }) => {
    const { status, headers, body } = await get(server)
    expect([status, headers.get('Content-Type'), headers.get('Cache-Control')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      'public, max-age=3600',
    ])
    expect(gzipSync(body).length).toBeLessThanOrEqual(1024)
    expect(body).toContain(String(30 * 86_400))
    expect(body).not.toMatch(/\beval\b|\bFunction\b|innerHTML/)
    const tag = headers.get('ETag')!
    const zipped = await get(server, { 'Accept-Encoding': 'gzip' })
    expect(zipped.headers.get('Content-Encoding')).toBe('gzip')
    const held = await get(server, { 'If-None-Match': zipped.headers.get('ETag') })
    expect([held.status, held.body, held.headers.get('ETag')]).toEqual([304, '', tag])
    updateRows(server, 'programs', { cookieDurationDays: 60 })
    const other = await get(server, { 'If-None-Match': tag })
    expect([other.status, other.body.includes(String(60 * 86_400))]).toEqual([200, true])
    updateRows(server, 'programs', { cookieDurationDays: 30 })
  })
})

describe('everything is off', () => {
  const all = (server: TestServer) =>
    Promise.all([
      server.request('GET', `/t/${server.shop.shopId}.js`, { key: null }),
      report(server, 'click', { ref: nisa.slug }),
      report(server, 'view', { url: ORIGIN }),
      follow(server, nisa.slug),
    ])
  const expectAll = async (server: TestServer, rejection: [number, string]) => {
    const before = clicks(server)
    for (const reply of await all(server)) expect(codeOf(reply)).toEqual(rejection)
    expect(clicks(server)).toBe(before)
  }

  test('404 without domains, and for a shop that does not exist', async ({ server }) => {
    const other = { ...server, ...server.asShop(await server.createShop()) }
    await expectAll(other, [404, 'tracking_off'])
    const unknown = { ...server, shop: { ...server.shop, shopId: 'shp_none' } }
    await expectAll(unknown, [404, 'tracking_off'])
    // Otherwise the page sees a network error.
    const { headers } = await report(unknown, 'click', { ref: nisa.slug })
    expect(headers.get('Access-Control-Allow-Origin')).toBe(ORIGIN)
  })

  test('403 while the shop is suspended or without a plan, 503 while its API is off', async ({ server }) => {
    const shop = await server.createShop()
    const other = { ...server, ...server.asShop(shop) }
    await expectOk(other.owner('PATCH', '/settings', { siteDomains: ['shop.example'] }))
    await shops.update(server.deps, shop.shopId, { plan: 'FREE' })
    await expectAll(other, [403, 'plan_required'])
    await shops.update(server.deps, shop.shopId, { plan: 'PROFESSIONAL', apiEnabled: false })
    await expectAll(other, [503, 'api_disabled'])
    await shops.update(server.deps, shop.shopId, { apiEnabled: true })
    await shops.suspend(server.deps, shop.shopId)
    await expectAll(other, [403, 'shop_suspended'])
  })

  test('visitors of its links get a page with the same status and code, and other clients JSON', async ({ server }) => {
    const shop = await server.createShop()
    const other = { ...server, ...server.asShop(shop) }
    const visit = async () => {
      const reply = await follow(other, nisa.slug, '', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
      const { headers, body } = reply
      expect([headers.get('Content-Type'), headers.get('Vary')]).toEqual(['text/html; charset=UTF-8', 'Accept'])
      expect(headers.get('Content-Security-Policy')).toContain("default-src 'none'")
      return [...codeOf(reply), /<h1>(.*)<\/h1>/.exec(body)?.[1]]
    }
    expect(await visit()).toEqual([404, 'tracking_off', 'This link does not work'])
    await expectOk(other.owner('PATCH', '/settings', { siteDomains: ['shop.example'] }))
    await shops.update(server.deps, shop.shopId, { apiEnabled: false })
    expect(await visit()).toEqual([503, 'api_disabled', 'This link is not available at the moment'])
    await shops.suspend(server.deps, shop.shopId)
    expect(await visit()).toEqual([403, 'shop_suspended', 'This link does not work'])
    expect((await follow(other, nisa.slug, '', { Accept: '*/*' })).body).toEqual({ error: expect.any(String) })
  })
})
