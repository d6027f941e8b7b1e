// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as users from '../../server/src/services/users.ts'
import { refuseInserts } from '../support/faults.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { admin, staffOf } from './fixture.ts'
import { noticeOf, type Opened, visitorOf, wordsOf } from './page-fixture.ts'

const HOSTILE = `Mira "x" <script>alert('1')</script> & <b>`

let server: TestServer
let owner: ReturnType<typeof visitorOf>
let staff: ReturnType<typeof visitorOf>
beforeAll(async () => {
  server = await testServer()
  owner = visitorOf(server)
  staff = visitorOf(server)
  await owner.signIn()
  await staff.signIn(await staffOf(server))
  const { affiliate } = await withAffiliate(server, { program: { autoApproveOrder: false } })
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { body: { name: HOSTILE } }))
})
afterAll(() => server.close())

const codeOf = ({ status, headers }: Opened) => [status, headers.get('X-Error-Code')]
interface AuditRow {
  action: string
  actor: string
  subjectId: string | null
}
const audits = () =>
  server.sql.prepare('select "action", "actor", "subjectId" from audits order by "seq"').all() as AuditRow[]
const lastAudit = () => audits().at(-1)?.action
let made = 0
const order = async (body: object = {}) => {
  const sent = { externalOrderId: `p-${++made}`, amountCents: 10_000, couponCode: 'NISA16', ...body }
  return (await expectOk(convert(server, sent))).commission.id as string
}

/** What browsers say of a call that another site's page makes. */
const FOREIGN: Record<string, string>[] = [
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
  { Origin: 'https://evil.example' },
  { Origin: 'null' },
]
const PAGES = [
  ['', 'analytics.shown'],
  ['/commissions', 'commissions.listed'],
  ['/payouts', 'payouts.listed'],
  ['/payouts/new?from=2026-11-01&until=2026-11-30', 'payout.previewed'],
  ['/journey?customerEmail=a@example.com', 'journey.shown'],
  ['/keys', 'keys.listed'],
  ['/webhooks', 'webhooks.listed'],
  ['/deliveries', 'deliveries.listed'],
] as const
const OWNERS_ONLY = [
  '/keys',
  '/keys/x/rotate',
  '/keys/x/revoke',
  '/payouts',
  '/payouts/new',
  '/payouts/x',
  '/webhooks/x',
]

describe('every page', () => {
  test.each(PAGES)('200 /admin%s, on record as %s, held to the strictest rules', async (path, action) => {
    const { status, headers } = await owner.open(`/admin${path}`)
    expect([status, lastAudit()]).toEqual([200, action])
    const policy = headers.get('Content-Security-Policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("form-action 'self'")
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Referrer-Policy')).toBe('same-origin')
    expect(headers.get('Cache-Control')).toBe('no-store')
  })

  test('303 to the sign-in page and back for who is not signed in; 401 for their forms', async () => {
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

  test('404 for what is not there, 405 with Allow, and the API of the same address space as it was', async () => {
    expect(codeOf(await owner.open('/admin/nothing'))).toEqual([404, 'path_unknown'])
    expect((await owner.open('/admin/nothing')).headers.get('Content-Type')).toContain('text/html')
    expect(codeOf(await owner.open('/admin/orders?id=never'))).toEqual([404, 'order_not_found'])
    expect(codeOf(await owner.open('/admin/payouts/bat_x'))).toEqual([404, 'payout_not_found'])
    const wrong = await owner.open('/admin/sign-out')
    expect([...codeOf(wrong), wrong.headers.get('Allow')]).toEqual([405, 'method_not_allowed', 'POST'])
    const api = await server.request('GET', '/admin/v1/nothing', { key: server.shop.ownerToken })
    expect([api.status, api.body.error]).toEqual([404, 'There is nothing at this path.'])
  })

  test('its style and script may be kept for good, and change their address with their content', async () => {
    const { text } = await visitorOf(server).open('/admin/sign-in')
    const paths = [...text.matchAll(/(?:href|src)="(\/admin\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(new Set(paths).size).toBe(3)
    for (const path of paths) {
      const { status, headers } = await visitorOf(server).open(path)
      expect([status, headers.get('Cache-Control')]).toEqual([200, 'public, max-age=31536000, immutable'])
    }
    expect(text).not.toMatch(/ style="|<style| on\w+="|javascript:/)
  })
})

describe('signing in', () => {
  test('303 with the cookie of the session; the token stands nowhere', async () => {
    const visitor = visitorOf(server)
    const { status, headers } = await visitor.signIn()
    expect([status, headers.get('Location')]).toEqual([303, '/admin'])
    expect(headers.get('Set-Cookie')).toMatch(
      /^referral_session=rs_\w+; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect(lastAudit()).toBe('session.created')
    expect(server.logs.join('')).not.toContain(server.shop.ownerToken)
  })

  test('looking at a link does not use it up; its button does, once', async () => {
    const { token } = await users.linkFor(server.deps, { shop: server.shop.shopId, email: 'owner@shop.example' })
    const path = `/admin/sign-in?token=${token}`
    for (let i = 0; i < 3; i++) expect((await visitorOf(server).open(path)).text).toContain(`value="${token}"`)
    const visitor = visitorOf(server)
    expect((await visitor.send('/admin/sign-in', [['token', token]])).status).toBe(303)
    expect((await visitor.open('/admin')).status).toBe(200)
    const again = await visitorOf(server).send('/admin/sign-in', [['token', token]])
    expect([...codeOf(again), noticeOf(again)]).toEqual([
      401,
      'sign_in_refused',
      'This owner token or sign-in link is not valid, or not any more.',
    ])
    expect(server.logs.join('')).not.toContain(token)
  })

  test('403 from another site, 429 after ten attempts', async () => {
    const token = server.shop.ownerToken
    for (const forged of FOREIGN)
      expect(codeOf(await visitorOf(server).send('/admin/sign-in', [['token', token]], forged))).toEqual([
        403,
        'cross_site_refused',
      ])
    const limited = await testServer({ limited: true })
    const visitor = visitorOf(limited)
    for (let i = 0; i < 10; i++) expect((await visitor.signIn('ro_wrong')).status).toBe(401)
    const refused = await visitor.signIn()
    expect(codeOf(refused)).toEqual([429, 'sign_in_throttled'])
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
    await limited.close()
  })

  test('signing out ends the session and its cookie', async () => {
    const visitor = visitorOf(server)
    await visitor.signIn()
    const cookie = visitor.jar.get('referral_session') ?? ''
    const { status, headers } = await visitor.submit('/admin/sign-out')
    expect([status, headers.get('Location')]).toEqual([303, '/admin/sign-in?signed-out=1'])
    expect(visitor.jar.has('referral_session')).toBe(false)
    visitor.jar.set('referral_session', cookie)
    expect((await visitor.open('/admin')).status).toBe(303)
    expect(lastAudit()).toBe('session.ended')
  })
})

describe('another shop', () => {
  test('404 for what is not ours, and nothing of it on any list', async () => {
    const other = await server.createShop()
    const stranger = visitorOf(server)
    await stranger.signIn(other.ownerToken)
    const id = await order()
    expect(codeOf(await stranger.submit(`/admin/commissions/${id}/approve`))).toEqual([404, 'commission_not_found'])
    expect(codeOf(await stranger.open(`/admin/keys/${server.shop.keyId}/rotate`))).toEqual([404, 'key_not_found'])
    expect(codeOf(await stranger.submit(`/admin/keys/${server.shop.keyId}/revoke`))).toEqual([404, 'key_not_found'])
    expect(codeOf(await stranger.open('/admin/orders?id=p-1'))).toEqual([404, 'order_not_found'])
    expect((await stranger.open('/admin/commissions?status=ALL')).text).not.toContain('p-1')
    expect((await stranger.open('/admin')).text).toContain('Nothing happened yet')
  })

  test('404 for names that no database keeps', async () => {
    expect(codeOf(await owner.open('/admin/orders?id=%00'))).toEqual([404, 'order_not_found'])
    expect(codeOf(await owner.open('/admin/payouts/%00'))).toEqual([404, 'payout_not_found'])
    expect((await owner.open('/admin/deliveries?event=%00&page=-1&status=x')).status).toBe(200)
  })
})

test('503 and nothing shown or changed when the audit cannot be written', async () => {
  const id = await order()
  const csrf = /name="csrf" value="(\w+)"/.exec((await owner.open('/admin')).text)?.[1] ?? ''
  const mend = refuseInserts(server, 'audits')
  const shown = await owner.open('/admin/keys')
  const sent = await owner.send(`/admin/commissions/${id}/approve`, [['csrf', csrf]])
  mend()
  expect([shown, sent].map(codeOf)).toEqual(Array(2).fill([503, 'audit_unavailable']))
  expect(shown.text).not.toContain('rk_')
  expect(sent.headers.get('Retry-After')).toBe('1')
  expect((await owner.open('/admin/commissions')).text).toContain(`value="${id}"`)
})

test('lists are paged', async () => {
  for (let n = 0; n < 26; n++)
    await expectOk(admin(server, 'POST', '/keys', { label: `Key ${n}`, scopes: ['programs:read'] }))
  const first = await owner.open('/admin/keys')
  expect(first.text.match(/<th scope="row"/g)).toHaveLength(25)
  const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1] ?? ''
  const second = await owner.open(next)
  expect(second.text).toContain('Page 2 of 2')
  expect([first.text.includes('>Test<'), second.text.includes('>Test<')]).toEqual([false, true])
  expect((await owner.open('/admin/commissions?status=ALL&page=9')).text).toContain('Previous')
})

describe('forms', () => {
  const key: [string, string][] = [
    ['label', 'Forged'],
    ['scopes', 'programs:read'],
  ]

  test('403 without the token of this session, from another site, or of another kind; nothing happens', async () => {
    const before = audits().length
    const other = visitorOf(server)
    await other.signIn()
    const csrf =
      /name="csrf" value="(\w+)"/.exec(
        (await other.open('/admin/sign-in')).text + (await other.open('/admin')).text,
      )?.[1] ?? ''
    expect(codeOf(await owner.send('/admin/keys', key))).toEqual([403, 'csrf_token_invalid'])
    expect(codeOf(await owner.send('/admin/keys', [['csrf', csrf], ...key]))).toEqual([403, 'csrf_token_invalid'])
    for (const forged of FOREIGN)
      expect(codeOf(await owner.submit('/admin/keys', key, forged))).toEqual([403, 'csrf_token_invalid'])
    const json = await owner.submit('/admin/keys', key, { 'Content-Type': 'text/plain' })
    expect(codeOf(json)).toEqual([400, 'invalid_body'])
    const changes = audits()
      .slice(before)
      .filter(({ action }) => !/shown|session/.test(action))
    expect(changes).toEqual([])
  })

  test('400 on the page itself, with what was typed', async () => {
    const refused = await owner.submit('/admin/keys', [['label', `"><i>${HOSTILE}`]])
    expect([...codeOf(refused), noticeOf(refused)]).toEqual([
      400,
      'invalid_body',
      'Choose at least one thing that the key may do.',
    ])
    expect(refused.text).toContain('value="&quot;&gt;&lt;i&gt;Mira')
    expect(refused.text).not.toContain('<i>')
    const late = await owner.submit('/admin/keys', [...key, ['expiresAt', '2020-01-01']])
    expect(noticeOf(late)).toBe('Expires must be ahead of now.')
    expect(late.text).toMatch(/value="programs:read" checked/)
    const url = await owner.submit('/admin/webhooks', [['url', 'http://127.0.0.1/x']])
    expect([...codeOf(url), noticeOf(url)]).toEqual([
      400,
      'webhook_url_refused',
      'Address must be a public https address.',
    ])
  })
})

describe('roles', () => {
  test('403 for STAFF where money, keys and addresses are; nothing there is offered to them', async () => {
    for (const path of OWNERS_ONLY)
      expect(codeOf(await staff.open(`/admin${path}`)), path).toEqual([403, 'role_missing'])
    const id = await order()
    const forms = [
      `/commissions/${id}/approve`,
      '/commissions/moderate',
      '/keys',
      '/keys/x/rotate',
      '/keys/x/revoke',
      '/payouts',
      '/payouts/x/pay',
      '/payouts/x/cancel',
      '/webhooks',
      '/webhooks/test',
      '/webhooks/x',
      '/webhooks/x/delete',
    ]
    for (const path of forms)
      expect(
        codeOf(
          await staff.submit(`/admin${path}`, [
            ['ids', id],
            ['status', 'PENDING'],
          ]),
        ),
        path,
      ).toEqual([403, 'role_missing'])
    for (const path of ['', '/commissions', '/webhooks', '/deliveries', '/journey', '/orders?id=p-1']) {
      const { status, text } = await staff.open(`/admin${path}`)
      expect(status, path).toBe(200)
      // The one form is that of signing out.
      expect([...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, to]) => to)).toEqual([
        '/admin/sign-out',
      ])
      expect(text).not.toMatch(/href="\/admin\/(keys|payouts)|formaction/)
    }
  })

  test('STAFF see the host of a webhook, and not its path', async () => {
    const body = { url: 'https://9.9.9.9/hooks/of-a-secret-name' }
    await expectOk(server.request('POST', '/api/v1/webhooks', { body }))
    expect((await owner.open('/admin/webhooks')).text).toContain('of-a-secret-name')
    const seen = await Promise.all(['/webhooks', '/deliveries'].map((path) => staff.open(`/admin${path}`)))
    for (const { text } of seen) {
      expect(text).toContain('9.9.9.9')
      expect(text).not.toContain('of-a-secret-name')
    }
  })
})

test('names that were made to break out stay text, wherever they are shown', async () => {
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

test('a new secret is shown once, to this session alone, and rides sealed', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const reply = await visitor.submit('/admin/keys', [
    ['label', 'Once'],
    ['scopes', 'programs:read'],
  ])
  expect([reply.status, reply.headers.get('Location')]).toEqual([303, '/admin/keys'])
  const flash = visitor.jar.get('referral_flash') ?? ''
  expect(reply.headers.get('Set-Cookie')).toMatch(
    /^referral_flash=\S+; Path=\/admin; Max-Age=60; HttpOnly; SameSite=Strict$/,
  )
  owner.jar.set('referral_flash', flash)
  expect((await owner.open('/admin/keys')).text).not.toMatch(/rk_\w{20}/)
  const secret = /rk_\w{49}/.exec((await visitor.open('/admin/keys')).text)?.[0] ?? ''
  expect((await server.request('GET', '/api/v1/programs', { key: secret })).status).toBe(200)
  expect(Buffer.from(flash.replace('v1.', ''), 'base64url').toString()).not.toContain(secret)
  expect((await visitor.open('/admin/keys')).text).not.toContain(secret)
  expect(lastAudit()).toBe('keys.listed')
})

test('what a form did is on record under its user', async () => {
  const id = await order()
  const approved = await owner.submit(`/admin/commissions/${id}/approve`, [['status', 'PENDING']])
  expect([approved.status, approved.headers.get('Location')]).toEqual([303, '/admin/commissions?status=PENDING'])
  const record = audits().at(-1)
  expect([record?.action, record?.subjectId, record?.actor.startsWith('user:usr_')]).toEqual([
    'commission.approved',
    id,
    true,
  ])
  const twice = await owner.submit(`/admin/commissions/${id}/approve`)
  expect([...codeOf(twice), noticeOf(twice)]).toEqual([
    409,
    'commission_move_not_allowed',
    'This commission is APPROVED and cannot be approved.',
  ])
  expect(codeOf(await owner.submit('/admin/commissions/com_x/approve'))).toEqual([404, 'commission_not_found'])
  expect(codeOf(await owner.submit(`/admin/commissions/${id}/steal`))).toEqual([404, 'path_unknown'])
})

test('many at once, and a batch that is paid by its typed total alone', async () => {
  const ids = [await order(), await order()]
  const fields = ids.map((id): [string, string] => ['ids', id])
  const moved = await owner.submit('/admin/commissions/moderate', [...fields, ['move', 'approve']])
  expect(moved.status).toBe(303)
  expect(noticeOf(await owner.open('/admin/commissions'))).toBe('2 commissions are approved.')
  expect(noticeOf(await owner.submit('/admin/commissions/moderate', [['move', 'approve']]))).toBe(
    'Choose at least one commission.',
  )
  const november: [string, string][] = [
    ['from', '2026-11-01'],
    ['until', '2026-11-30'],
  ]
  const preview = await owner.open(`/admin/payouts/new?${new URLSearchParams(november)}`)
  const total = /Create batch of ([\d.,]+ USD)/.exec(preview.text)?.[1] ?? ''
  const batch = (await owner.submit('/admin/payouts', november)).headers.get('Location') ?? ''
  expect(batch).toMatch(/^\/admin\/payouts\/bat_/)
  expect(wordsOf((await owner.open(batch)).text)).toContain(`To pay ${total}`)
  const wrong = await owner.submit(`${batch}/pay`, [['total', '1.00']])
  expect(codeOf(wrong)).toEqual([409, 'payout_total_mismatch'])
  expect(codeOf(await owner.submit(`${batch}/pay`, [['total', 'all of it']]))).toEqual([400, 'invalid_body'])
  expect((await owner.submit(`${batch}/pay`, [['total', total]])).status).toBe(303)
  expect(lastAudit()).toBe('payout.paid')
  expect(codeOf(await owner.submit(`${batch}/cancel`))).toEqual([409, 'payout_not_cancelable'])
  const none = await owner.open(`/admin/payouts/new?${new URLSearchParams(november)}`)
  expect(noticeOf(none)).toBe('No approved commission without a batch happened in this period.')
})
