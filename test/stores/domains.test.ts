import { describe, expect } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { admin } from '../support/owner.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { type Store, storeOf, type Topic } from './fixture.ts'
import { canceledPayload, orderPayload, refundPayload } from './payloads.ts'

const DOMAIN = 'hats.myshopify.com'
const OTHER = 'other.myshopify.com'
const codes = ['NISA16']

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

const set = (body: object) => admin(store.server, 'PATCH', '/settings', body)
const urlOf = (host: string) => `https://${host}/548380009/orders/b1946ac92492d2347c6235b4d2611184/authenticate?key=x`
const of = (text: string, url: unknown) => JSON.stringify({ ...JSON.parse(text), order_status_url: url })
const send = (topic: Topic, text: string, header?: string) =>
  store.notify(topic, text, header === undefined ? {} : { 'X-Shopify-Shop-Domain': header })

async function mismatched(pending: () => Promise<Reply>): Promise<string> {
  const before = snapshot(store.server)
  const { status, headers, body } = await pending()
  expect([status, headers.get('X-Error-Code')]).toEqual([401, 'store_domain_mismatch'])
  expect(snapshot(store.server)).toBe(before)
  return body.error
}

describe('the settings', () => {
  test('are empty until an owner sets them, and are recorded in the audit', async () => {
    const settings = await expectOk(admin(store.server, 'GET', '/settings'))
    expect(settings).toMatchObject({ storeDomain: null, storeDomainAliases: [] })
    const given = { storeDomain: ' Hats.MyShopify.com. ', storeDomainAliases: ['Hüte.example', 'hats.example'] }
    const kept = { storeDomain: DOMAIN, storeDomainAliases: ['xn--hte-hoa.example', 'hats.example'] }
    expect(await expectOk(set(given))).toMatchObject(kept)
    expect(await expectOk(admin(store.server, 'GET', '/settings'))).toMatchObject(kept)
    const { body } = await admin(store.server, 'GET', '/audit?action=settings.updated&limit=1')
    expect(body.data[0].data.changes).toEqual({
      storeDomain: { from: null, to: DOMAIN },
      storeDomainAliases: { from: [], to: kept.storeDomainAliases },
    })
    expect(await expectOk(set({ storeDomain: null, storeDomainAliases: [] }))).toMatchObject({
      storeDomain: null,
      storeDomainAliases: [],
    })
  })

  test.each([
    '',
    'hats',
    'https://hats.example',
    'hats.example:443',
    'hats.example/path',
    'hats.example?a=b',
    'hats.example\\path',
    'hats example.com',
    '*.example.com',
    '[::1]',
    '203.0.113.7',
    '0xcb.0.113.7',
    'a..b',
    'x'.repeat(254),
  ])('400 for the domain "%s"', async (text) => {
    const one = await set({ storeDomain: text })
    expect(rejectionOf(one)).toEqual({ status: 400, code: 'invalid_body', field: 'storeDomain' })
    const alias = await set({ storeDomainAliases: ['hats.example', text] })
    expect(rejectionOf(alias)).toEqual({ status: 400, code: 'invalid_body', field: 'storeDomainAliases[1]' })
    const site = await set({ siteDomains: ['hats.example', text] })
    expect(rejectionOf(site)).toEqual({ status: 400, code: 'invalid_body', field: 'siteDomains[1]' })
  })

  test('the domains of the site are normalized and stored once, at most 20', async () => {
    expect(await expectOk(admin(store.server, 'GET', '/settings'))).toMatchObject({ siteDomains: [] })
    const given = ['Hüte.example', 'www.hats.example.', ' WWW.hats.example']
    const siteDomains = ['xn--hte-hoa.example', 'www.hats.example']
    expect(await expectOk(set({ siteDomains: given }))).toMatchObject({ siteDomains })
    const many = await set({ siteDomains: Array.from({ length: 21 }, (_, at) => `s${at}.example`) })
    expect(rejectionOf(many)).toEqual({ status: 400, code: 'invalid_body', field: 'siteDomains' })
    expect(await expectOk(set({ siteDomains: [] }))).toMatchObject({ siteDomains: [] })
  })

  test('400 for 51 aliases', async () => {
    const names = Array.from({ length: 51 }, (_, i) => `shop${i}.example`)
    const reply = await set({ storeDomainAliases: names })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'storeDomainAliases' })
  })
})

describe('without a domain', () => {
  test('every store that signs with the secret is accepted', async () => {
    await expectOk(set({ storeDomain: null, storeDomainAliases: ['hats.example'] }))
    for (const header of [undefined, DOMAIN, OTHER]) {
      const text = of(orderPayload({ id: store.nextId(), codes }), urlOf(OTHER))
      expect((await send('orders-paid', text, header)).status).toBe(200)
    }
  })
})

describe('with a domain', () => {
  test.beforeEach(async () => {
    await expectOk(set({ storeDomain: DOMAIN, storeDomainAliases: ['hats.example'] }))
  })
  const text: Record<Topic, (url: unknown) => string> = {
    'orders-paid': (url) => of(orderPayload({ id: store.nextId(), codes }), url),
    'orders-cancelled': (url) => of(canceledPayload({ id: store.nextId() }), url),
    'refunds-create': () => refundPayload({ id: store.nextId(), orderId: store.nextId() }),
  }
  const topics = Object.keys(text) as Topic[]

  test.each(topics)('%s is accepted from that domain and its aliases', async (topic) => {
    for (const url of [urlOf(DOMAIN), urlOf('hats.example'), urlOf('HATS.example:443'), null, undefined, '']) {
      expect((await send(topic, text[topic](url), DOMAIN)).status, String(url)).toBe(200)
    }
    expect((await send(topic, text[topic](urlOf(DOMAIN)), ' Hats.myshopify.com ')).status).toBe(200)
  })

  test.each(topics)('401 for %s with the header of another store, or of none', async (topic) => {
    for (const header of [
      OTHER,
      'hats.example',
      'xhats.myshopify.com',
      'hats.myshopify.com.evil.example',
      '',
      undefined,
    ]) {
      await mismatched(() => send(topic, text[topic](urlOf(DOMAIN)), header))
    }
    expect(await mismatched(() => send(topic, text[topic](urlOf(DOMAIN)), OTHER))).toContain('other.myshopify.com')
  })

  // A holder of signed bytes can send them with any header.
  test.each(['orders-paid', 'orders-cancelled'] as const)(
    '401 for %s with the signed bytes of another store',
    async (topic) => {
      for (const url of [
        urlOf(OTHER),
        urlOf('other.example'),
        urlOf('hats.example.evil.example'),
        urlOf('evil.example#hats.example'),
        urlOf('evil.example/hats.example'),
        'https://hats.example@evil.example/1/orders/2',
        'hats.example',
        '//hats.example/1',
        `https://hats.example/${'x'.repeat(8192)}`,
        'x',
      ]) {
        await mismatched(() => send(topic, text[topic](url), DOMAIN))
      }
      expect(await mismatched(() => send(topic, text[topic](urlOf('other.example')), DOMAIN))).toMatch(
        / other\.example/,
      )
    },
  )

  test('the message contains nothing but the domain from the request', async () => {
    const header = '<script>alert(1)</script>'
    const message = await mismatched(() => send('orders-paid', text['orders-paid'](urlOf(DOMAIN)), header))
    expect(message).toContain('unknown domain')
    expect(message).not.toMatch(/script|alert/)
  })

  test('401 for the signature before the domain', async () => {
    const reply = await store.notify('orders-paid', text['orders-paid'](urlOf(OTHER)), {
      'X-Shopify-Hmac-Sha256': `${'A'.repeat(43)}=`,
      'X-Shopify-Shop-Domain': OTHER,
    })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([401, 'store_signature_invalid'])
  })

  test('the order of another store is not recorded in a shop with the same secret', async () => {
    const mine = await store.server.createShop()
    const key = mine.ownerToken
    await expectOk(
      admin(
        store.server,
        'PATCH',
        '/settings',
        { storeWebhookSecret: 'hush-hush-hush-hush', storeDomain: OTHER },
        { key },
      ),
    )
    const bytes = of(orderPayload({ id: store.nextId(), codes }), urlOf(DOMAIN))
    expect((await send('orders-paid', bytes, DOMAIN)).status).toBe(200)
    const headers = { ...store.headersOf('orders-paid', bytes), 'X-Shopify-Shop-Domain': OTHER }
    await mismatched(() =>
      store.server.request('POST', store.pathOf('orders-paid', mine.shopId), { key: null, raw: bytes, headers }),
    )
  })
})
