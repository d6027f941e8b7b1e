import { describe, expect } from 'vitest'
import { allRows } from '../support/inspect.ts'
import { admin, signIn, staffOf } from '../support/owner.ts'
import { type Reply, type TestServer, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { createLink, revokeUser } from '../support/tenants.ts'
import { type Owner, test } from '../support/test.ts'

const codeOf = (reply: Reply) => [reply.status, reply.headers.get('X-Error-Code')]
const withSession = (owner: Owner, headers: Record<string, string>, method: string, path: string, body?: unknown) =>
  owner(method, path, body, { key: null, headers })

describe('a session', () => {
  test('201 with a same-site cookie, and no secret in the body', async ({ server }) => {
    const { reply, cookie } = await signIn(server)
    expect(reply.status).toBe(201)
    const header = reply.headers.get('Set-Cookie')
    expect(header).toMatch(/^referral_session=rs_\w{49}; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/)
    expect(JSON.stringify(reply.body)).not.toContain(cookie.split('=')[1])
    expect(reply.body.data).toMatchObject({ user: { role: 'OWNER' }, shop: { id: server.shop.shopId } })
  })

  test('the cookie is Secure where the connection is', async ({ server }) => {
    const response = await server.app.request('https://shop.example/admin/v1/session', {
      method: 'POST',
      body: JSON.stringify({ token: server.shop.ownerToken }),
    })
    expect(response.headers.get('Set-Cookie')).toContain('; Secure')
  })

  test('the cookie is Secure where the public URL is https, whatever the proxy says', async () => {
    const own = await testServer({ config: { publicUrl: 'https://ref.example.com' } })
    const { reply } = await signIn(own)
    expect(reply.headers.get('Set-Cookie')).toContain('; Secure')
    await own.close()
  })

  test('reads need the cookie; changes also need the CSRF token', async ({ server, owner }) => {
    const { headers, cookie } = await signIn(server)
    expect((await withSession(owner, { Cookie: cookie }, 'GET', '/keys')).status).toBe(200)
    const body = { label: 'Page', scopes: ['payouts:read'] }
    expect((await withSession(owner, headers, 'POST', '/keys', body)).status).toBe(201)
    for (const [forged, why] of [
      [{ Cookie: cookie }, 'no token'],
      [{ ...headers, 'X-CSRF-Token': 'a'.repeat(64) }, 'another token'],
      [{ ...headers, 'X-CSRF-Token': 'x' }, 'no token at all'],
      [{ ...headers, Origin: 'https://evil.example' }, 'another site'],
      [{ ...headers, 'Sec-Fetch-Site': 'cross-site' }, 'another site'],
      [{ ...headers, 'Sec-Fetch-Site': 'same-site' }, 'another site of the same domain'],
      [{ ...headers, Origin: 'null' }, 'a page without origin'],
    ] as const) {
      expect(codeOf(await withSession(owner, forged, 'POST', '/keys', body)), why).toEqual([403, 'csrf_token_invalid'])
    }
    const own = { ...headers, Origin: 'http://test', 'Sec-Fetch-Site': 'same-origin' }
    expect((await withSession(owner, own, 'POST', '/keys', body)).status).toBe(201)
  })

  test('the CSRF token of one session is invalid in another', async ({ server, owner }) => {
    const [mine, other] = [await signIn(server), await signIn(server)]
    const mixed = { Cookie: mine.cookie, 'X-CSRF-Token': other.headers['X-CSRF-Token'] }
    expect(codeOf(await withSession(owner, mixed, 'DELETE', '/session'))).toEqual([403, 'csrf_token_invalid'])
  })

  test('ends when its user signs out, after 12 hours, and when the user is revoked', async ({ server, owner }) => {
    const { headers } = await signIn(server)
    const out = await withSession(owner, headers, 'DELETE', '/session')
    expect([out.status, out.headers.get('Set-Cookie')]).toEqual([200, expect.stringContaining('Max-Age=0')])
    expect(codeOf(await withSession(owner, headers, 'GET', '/session'))).toEqual([401, 'session_expired'])

    const long = await signIn(server)
    server.clock.advance(12 * 3_600_000 - 1)
    expect((await withSession(owner, long.headers, 'GET', '/session')).status).toBe(200)
    server.clock.advance(1)
    expect(codeOf(await withSession(owner, long.headers, 'GET', '/session'))).toEqual([401, 'session_expired'])

    const token = await staffOf(server, 'leaver@shop.example')
    const leaver = await signIn(server, token)
    await revokeUser(server.deps, { shop: server.shop.shopId, email: 'leaver@shop.example' })
    expect(codeOf(await withSession(owner, leaver.headers, 'GET', '/session'))).toEqual([401, 'session_expired'])
    expect(codeOf(await owner('GET', '/session', undefined, { key: token }))).toEqual([403, 'owner_token_unknown'])
    expect(codeOf((await signIn(server, token)).reply)).toEqual([401, 'sign_in_refused'])
  })

  test('neither cookie nor token is stored, logged or audited', async ({ server }) => {
    const { cookie, headers } = await signIn(server)
    const secret = cookie.split('=')[1] ?? ''
    const everything = allRows(server)
    for (const one of [secret, server.shop.ownerToken, headers['X-CSRF-Token']]) {
      expect(JSON.stringify(everything)).not.toContain(one)
      expect(server.logs.join('')).not.toContain(one)
    }
  })
})

describe('a one-time link', () => {
  const link = async (server: TestServer) =>
    (await createLink(server.deps, { shop: server.shop.shopId, email: 'owner@shop.example' })).token

  test('201 once: of parallel requests with the link, one signs in', async ({ server }) => {
    const token = await link(server)
    const replies = await Promise.all(Array.from({ length: 8 }, () => signIn(server, token)))
    expect(replies.map(({ reply }) => reply.status).sort()).toEqual([201, ...Array(7).fill(401)])
    expect(codeOf((await signIn(server, token)).reply)).toEqual([401, 'sign_in_refused'])
  })

  test('401 after 15 minutes', async ({ server }) => {
    const token = await link(server)
    server.clock.advance(15 * 60_000)
    expect(codeOf((await signIn(server, token)).reply)).toEqual([401, 'sign_in_refused'])
  })
})

describe('neither credential is accepted in place of the other', () => {
  test('403 an owner token on the public API', async ({ server }) => {
    const reply = await server.request('GET', '/api/v1/programs', { key: server.shop.ownerToken })
    expect(codeOf(reply)).toEqual([403, 'key_unknown'])
  })

  test('401 a session on the public API, 403 an API key here, 401 an API key to sign in with', async ({
    server,
    owner,
  }) => {
    const { headers } = await signIn(server)
    expect((await server.request('GET', '/api/v1/programs', { key: null, headers })).status).toBe(401)
    expect(codeOf(await owner('GET', '/keys', undefined, { key: server.shop.key }))).toEqual([
      403,
      'owner_token_unknown',
    ])
    expect(codeOf((await signIn(server, server.shop.key)).reply)).toEqual([401, 'sign_in_refused'])
  })
})

test('429 on the eleventh attempt of a minute, wrong or right, and for unknown owner tokens; existing sessions keep working', async () => {
  const limited = await testServer({ limited: true })
  const attempt = (token: string) => signIn(limited, token).then(({ reply }) => codeOf(reply))
  for (let i = 0; i < 10; i++) expect(await attempt('ro_wrong')).toEqual([401, 'sign_in_refused'])
  expect(await attempt(limited.shop.ownerToken)).toEqual([429, 'sign_in_throttled'])
  const unknown = await admin(limited, 'GET', '/session', undefined, { key: 'ro_wrong' })
  expect([...codeOf(unknown), Number(unknown.headers.get('Retry-After')) > 0]).toEqual([429, 'sign_in_throttled', true])
  expect((await admin(limited, 'GET', '/session')).status).toBe(200)
  await limited.close()
})

test('the kill switches do not affect the owner API, so that an owner can reset them', async ({ server, owner }) => {
  await expectOk(owner('PATCH', '/settings', { apiEnabled: false }))
  expect((await server.request('GET', '/api/v1/programs')).status).toBe(503)
  const { apiEnabled } = await expectOk(owner('PATCH', '/settings', { apiEnabled: true }))
  expect([apiEnabled, (await server.request('GET', '/api/v1/programs')).status]).toEqual([true, 200])
})
