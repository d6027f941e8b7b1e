// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rejectWrites } from '../support/faults.ts'
import { admin } from '../support/owner.ts'
import { expectOk } from '../support/shop.ts'
import { codeOf, HOSTILE, openPageShop, type PageShop } from './fixture.ts'
import { visitorOf } from './visitor.ts'

let server: PageShop['server']
let owner: PageShop['owner']
let lastAudit: PageShop['lastAudit']
let audits: PageShop['audits']
let order: PageShop['order']
beforeAll(async () => {
  ;({ server, owner, audits, lastAudit, order } = await openPageShop())
})
afterAll(() => server.close())

const PAGES = [
  ['', 'analytics.shown'],
  ['/commissions', 'commissions.listed'],
  ['/commissions?status=ALL&min=1&currency=USD', 'commissions.listed'],
  ['/commissions?order=1001', 'commissions.listed'],
  ['/commissions/all?from=2026-11-01', 'commissions.listed'],
  ['/orders', 'order.explained'],
  ['/affiliates', 'affiliates.listed'],
  ['/affiliates?q=mira&status=APPROVED', 'affiliates.listed'],
  ['/customers', 'customers.listed'],
  ['/customers?customerId=c-1&customerEmail=a@example.com', 'customers.listed'],
  ['/programs', 'programs.listed'],
  ['/coupons', 'coupons.listed'],
  ['/payouts', 'payouts.listed'],
  ['/payouts/new?from=2026-11-01&until=2026-11-30', 'payout.previewed'],
  ['/payouts/waiting', 'payouts.accessed'],
  ['/search?q=mira', 'search.shown'],
  ['/journey?customerEmail=a@example.com', 'journey.shown'],
  ['/keys', 'keys.listed'],
  ['/webhooks', 'webhooks.listed'],
  ['/deliveries', 'deliveries.listed'],
  ['/settings', 'settings.shown'],
  ['/team', 'users.listed'],
  ['/audit?action=key.created', 'audit.listed'],
  ['/account', 'sessions.listed'],
] as const

describe('every page', () => {
  test.each(PAGES)('200 /admin%s with audit record %s and a strict Content-Security-Policy', async (path, action) => {
    const { status, headers } = await owner.open(`/admin${path}`)
    expect([status, lastAudit()]).toEqual([200, action])
    const policy = headers.get('Content-Security-Policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("form-action 'self'")
    expect(policy).toContain("font-src 'self'")
    expect(policy).toContain("connect-src 'self'")
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Referrer-Policy')).toBe('same-origin')
    expect(headers.get('Cache-Control')).toBe('no-store')
  })

  test('opening one batch writes one audit row, which names the batch', async () => {
    const id = await order()
    await owner.submit(`/admin/commissions/${id}/approve`)
    const period: [string, string][] = [
      ['from', '2026-11-01'],
      ['until', '2026-11-30'],
    ]
    const batch = (await owner.submit('/admin/payouts', period)).headers.get('Location') ?? ''
    const subjectId = batch.split('/').at(-1)
    for (const path of [batch, `${batch}/cancel`]) {
      const before = audits().length
      expect((await owner.open(path)).status).toBe(200)
      const written = audits().slice(before)
      expect(written).toEqual([expect.objectContaining({ action: 'payout.shown', subjectId })])
    }
  })

  test('303 to the sign-in page and back without a session; 401 for forms', async () => {
    const stranger = visitorOf(server)
    for (const [path] of PAGES) {
      const { status, headers } = await stranger.open(`/admin${path}`)
      expect(status).toBe(303)
      expect(headers.get('Location')).toMatch(/^\/admin\/sign-in/)
    }
    expect(codeOf(await stranger.send('/admin/keys', [['label', 'X']]))).toEqual([401, 'session_expired'])
    const way = await stranger.open('/admin/keys?x=1')
    expect(way.headers.get('Location')).toBe('/admin/sign-in?next=%2Fadmin%2Fkeys%3Fx%3D1')
    const token = server.shop.ownerToken
    const back = async (next: string) =>
      (
        await visitorOf(server).send('/admin/sign-in', [
          ['token', token],
          ['next', next],
        ])
      ).headers.get('Location')
    expect(await back('/admin/keys?x=1')).toBe('/admin/keys?x=1')
    for (const next of [
      'https://evil.example/admin/x',
      '//evil.example/admin/',
      '/\\evil.example',
      '/admin/v1/keys',
      '/api',
      '',
    ])
      expect(await back(next), next).toBe('/admin')
  })

  test('404 for unknown paths and ids, 405 with Allow; /admin/v1 is unaffected', async () => {
    expect(codeOf(await owner.open('/admin/nothing'))).toEqual([404, 'path_unknown'])
    expect((await owner.open('/admin/nothing')).headers.get('Content-Type')).toContain('text/html')
    expect(codeOf(await owner.open('/admin/orders?id=never'))).toEqual([404, 'order_not_found'])
    expect(codeOf(await owner.open('/admin/payouts/bat_x'))).toEqual([404, 'payout_not_found'])
    const wrong = await owner.open('/admin/sign-out')
    expect([...codeOf(wrong), wrong.headers.get('Allow')]).toEqual([405, 'method_not_allowed', 'POST'])
    const api = await server.request('GET', '/admin/v1/nothing', { key: server.shop.ownerToken })
    expect([api.status, api.body.error]).toEqual([404, 'No such path.'])
  })

  test('style, script and fonts are immutable under a path with their hash', async () => {
    const { text } = await visitorOf(server).open('/admin/sign-in')
    const paths = [...text.matchAll(/(?:href|src)="(\/admin\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(new Set(paths).size).toBe(4)
    const style = await visitorOf(server).open(paths.find((path) => path.endsWith('.css')) ?? '')
    const fonts = [...style.text.matchAll(/url\(([^)]+)\)/g)].map(([, path = '']) => path)
    expect(fonts).toHaveLength(7)
    const preloaded = /<link rel="preload" href="([^"]+)" as="font" type="font\/woff2" crossorigin>/.exec(text)?.[1]
    expect(fonts).toContain(preloaded)
    for (const path of [...paths, ...fonts]) {
      const { status, headers } = await visitorOf(server).open(path)
      expect([status, headers.get('Cache-Control')]).toEqual([200, 'public, max-age=31536000, immutable'])
      if (path.endsWith('.woff2')) expect(headers.get('Content-Type')).toBe('font/woff2')
    }
    expect(text).not.toMatch(/ style="|<style| on\w+="|javascript:/)
  })
})

describe('another shop', () => {
  test('404 for ids of another shop, and none of its data in lists', async () => {
    const other = await server.createShop()
    const stranger = visitorOf(server)
    await stranger.signIn(other.ownerToken)
    const id = await order()
    expect(codeOf(await stranger.submit(`/admin/commissions/${id}/approve`))).toEqual([404, 'commission_not_found'])
    expect(codeOf(await stranger.open(`/admin/keys/${server.shop.keyId}/rotate`))).toEqual([404, 'key_not_found'])
    expect(codeOf(await stranger.submit(`/admin/keys/${server.shop.keyId}/revoke`))).toEqual([404, 'key_not_found'])
    expect(codeOf(await stranger.open('/admin/orders?id=p-1'))).toEqual([404, 'order_not_found'])
    expect((await stranger.open('/admin/commissions?status=ALL')).text).not.toContain('p-1')
    expect((await stranger.open('/admin')).text).toContain('No activity yet')
  })

  test('404 for ids that cannot be stored', async () => {
    expect(codeOf(await owner.open('/admin/orders?id=%00'))).toEqual([404, 'order_not_found'])
    expect(codeOf(await owner.open('/admin/payouts/%00'))).toEqual([404, 'payout_not_found'])
    expect((await owner.open('/admin/deliveries?event=%00&page=-1&status=x')).status).toBe(200)
  })
})

test('503 when the audit cannot be written; nothing is shown or changed', async () => {
  const id = await order()
  const csrf = /name="csrf" value="(\w+)"/.exec((await owner.open('/admin')).text)?.[1] ?? ''
  const restore = rejectWrites(server, 'insert', 'audits')
  const shown = await owner.open('/admin/keys')
  const sent = await owner.send(`/admin/commissions/${id}/approve`, [['csrf', csrf]])
  restore()
  expect([shown, sent].map(codeOf)).toEqual(Array(2).fill([503, 'audit_unavailable']))
  expect(shown.text).not.toContain('rk_')
  expect(sent.headers.get('Retry-After')).toBe('1')
  expect((await owner.open('/admin/commissions')).text).toContain(`value="${id}"`)
})

test('lists are paginated', async () => {
  for (let n = 0; n < 26; n++) {
    const { id } = await expectOk(admin(server, 'POST', '/keys', { label: `Key ${n}`, scopes: ['programs:read'] }))
    await expectOk(admin(server, 'DELETE', `/keys/${id}`))
  }
  const first = await owner.open('/admin/keys')
  expect(first.text.match(/<th scope="row"/g)).toHaveLength(25)
  const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1] ?? ''
  const second = await owner.open(next)
  expect(second.text).toContain('Page 2 of 2')
  expect([first.text.includes('>Test<'), second.text.includes('>Test<')]).toEqual([false, true])
  const past = await owner.open('/admin/keys?page=9')
  expect([past.status, past.headers.get('Location')]).toEqual([303, '/admin/keys?page=2'])
})

test('markup in names is escaped on every page', async () => {
  const id = await order({ customerEmail: 'eve@example.com', ref: '"><img src=x onerror=alert(1)>' })
  const click = { type: 'click', ref: '<svg onload=alert(1)>', sessionId: 'hostile', url: 'javascript:alert(1)//<b>' }
  await expectOk(server.request('POST', '/api/v1/events', { body: click }))
  await expectOk(admin(server, 'POST', '/keys', { label: HOSTILE, scopes: ['programs:read'] }))
  const orderId = (await expectOk(server.request('GET', '/api/v1/commissions'))).find(
    (one: { id: string }) => one.id === id,
  ).orderId
  const paths = [
    '',
    '/commissions',
    '/keys',
    '/journey?sessionId=hostile',
    '/journey?customerEmail=eve@example.com',
    `/orders?id=${orderId}`,
  ]
  const pages = await Promise.all(paths.map((path) => owner.open(`/admin${path}`)))
  for (const { status, text } of pages) {
    expect(status).toBe(200)
    expect(text).not.toMatch(/<script>|<b>|<img src=x|<svg onload|href="javascript/)
  }
  expect(pages[1]?.text).toContain('Mira &quot;x&quot; &lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &lt;b&gt;')
})
