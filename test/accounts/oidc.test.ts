import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { noticeOf, type Opened, visitorOf, wordsOf } from '../dashboard/visitor.ts'
import { allRows, rowsOf } from '../support/inspect.ts'
import { CLIENT, type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'
import { staffOf } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { createUser, revokeUser } from '../support/tenants.ts'

const ORIGIN = 'https://referral.example'
const PATH = '/admin/sign-in/oidc'
let provider: OidcProvider
let server: TestServer
const configOf = ({ issuer }: OidcProvider) => ({ publicUrl: ORIGIN, oidc: { issuer, ...CLIENT, name: 'Acme ID' } })
beforeAll(async () => {
  provider = await startOidcProvider()
  server = await testServer({ config: configOf(provider) })
  await staffOf(server, 'Staff@Shop.example')
})
afterAll(async () => {
  await server.close()
  provider.close()
})
beforeEach(() => {
  Object.assign(provider, { claims: {}, info: {}, isForged: false, isDown: false })
  server.clock.advance(1000)
})

type Visitor = ReturnType<typeof visitorOf>
const start = (visitor: Visitor, query = '') => visitor.open(`${PATH}${query}`)
/** Follows the provider's redirect. Returns the callback's path. */
const atProvider = async ({ headers }: Opened): Promise<string> => {
  const { headers: answer } = await fetch(headers.get('Location') ?? '', { redirect: 'manual' })
  return (answer.get('Location') ?? '').replace(ORIGIN, '')
}
/** A whole attempt of somebody with this address. */
async function attempt(email: string | undefined, { visitor = visitorOf(server), query = '' } = {}) {
  provider.claims = { ...(email && { email }), ...provider.claims }
  const callback = await atProvider(await start(visitor, query))
  return { visitor, callback, reply: await visitor.open(callback) }
}
const codeOf = ({ status, headers }: Opened) => [status, headers.get('X-Error-Code')]
const REFUSED = [401, 'sign_in_refused']
const roleOf = async (visitor: Visitor) =>
  /Owner|Staff/.exec(wordsOf((await visitor.open('/admin')).text).split('Sign out')[0] ?? '')?.[0]
const sessions = () => rowsOf(server, 'sessions').length

describe('signing in at a provider', () => {
  test('uses a code, PKCE, state and nonce, and signs in the user with the confirmed address', async () => {
    const visitor = visitorOf(server)
    const begun = await start(visitor, '?next=/admin/account')
    const asked = new URL(begun.headers.get('Location') ?? '').searchParams
    expect(Object.fromEntries(asked)).toMatchObject({
      client_id: CLIENT.clientId,
      redirect_uri: `${ORIGIN}${PATH}/callback`,
      response_type: 'code',
      scope: 'openid email',
      code_challenge_method: 'S256',
    })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(asked.get(name)?.length, name).toBeGreaterThan(30)
    expect(begun.headers.get('Set-Cookie')).toMatch(
      /^referral_oidc=v1\.\S+; Path=\/admin\/sign-in\/oidc; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    provider.claims = { email: 'staff@shop.example' }
    const reply = await visitor.open(await atProvider(begun))
    expect(reply.text).toContain('content="0; url=/admin/account"')
    expect(await roleOf(visitor)).toBe('Staff')
    expect(wordsOf((await visitor.open('/admin/account')).text)).toContain('Single sign-on')
    expect(visitor.jar.has('referral_oidc')).toBe(false)
    expect(rowsOf(server, 'audits').map(({ data }) => data)).toContain('{"by":"oidc"}')
  })

  test('reads the address from the userinfo endpoint when the ID token has none', async () => {
    provider.info = { email: 'owner@shop.example', email_verified: true }
    const { visitor } = await attempt(undefined)
    expect(await roleOf(visitor)).toBe('Owner')
  })

  test('401, and no user is created, for an address that nobody has, is not confirmed, or belongs to a revoked user', async () => {
    await createUser(server.deps, { shop: server.shop.shopId, email: 'gone@shop.example', role: 'OWNER' })
    await revokeUser(server.deps, { shop: server.shop.shopId, email: 'gone@shop.example' })
    const users = rowsOf(server, 'users').length
    const before = sessions()
    for (const claims of [
      { email: 'stranger@shop.example' },
      { email: 'gone@shop.example' },
      { email: 'owner@shop.example', email_verified: false },
      { email: 'owner@shop.example', email_verified: 'true' },
      { email: 'owner@shop.example', email_verified: undefined },
      { email: ['owner@shop.example'] },
    ]) {
      provider.claims = claims
      expect(codeOf((await attempt(undefined)).reply), JSON.stringify(claims)).toEqual(REFUSED)
    }
    expect([rowsOf(server, 'users').length, sessions()]).toEqual([users, before])
  })

  test('401 for an ID token that is forged, expired, or for another client, nonce or issuer', async () => {
    const before = sessions()
    for (const claims of [
      { aud: 'another' },
      { iss: 'https://login.example' },
      { exp: 1_700_000_000 },
      { nonce: 'another' },
      { nonce: undefined },
    ]) {
      provider.claims = claims
      expect(codeOf((await attempt('owner@shop.example')).reply), JSON.stringify(claims)).toEqual(REFUSED)
    }
    provider.claims = {}
    provider.isForged = true
    expect(codeOf((await attempt('owner@shop.example')).reply)).toEqual(REFUSED)
    expect(sessions()).toBe(before)
  })

  test('401 for a callback in another browser, with another state, again, and after 10 minutes', async () => {
    const email = 'owner@shop.example'
    provider.claims = { email }
    const visitor = visitorOf(server)
    const callback = await atProvider(await start(visitor))
    expect(codeOf(await visitorOf(server).open(callback))).toEqual(REFUSED)
    const other = visitorOf(server)
    await start(other)
    expect(codeOf(await other.open(callback))).toEqual(REFUSED)
    const cookie = visitor.jar.get('referral_oidc') ?? ''
    expect((await visitor.open(callback)).status).toBe(200)
    visitor.jar.set('referral_oidc', cookie)
    expect(codeOf(await visitor.open(callback))).toEqual(REFUSED)
    const late = visitorOf(server)
    const lateCallback = await atProvider(await start(late))
    server.clock.advance(600_000)
    const reply = await late.open(lateCallback)
    expect(codeOf(reply)).toEqual(REFUSED)
    expect(noticeOf(reply)).toContain('took too long')
    const canceled = visitorOf(server)
    const { searchParams } = new URL((await start(canceled)).headers.get('Location') ?? '')
    const query = new URLSearchParams({ error: 'access_denied', state: searchParams.get('state') ?? '' })
    expect(codeOf(await canceled.open(`${PATH}/callback?${query}`))).toEqual(REFUSED)
  })

  test('somebody with several shops chooses one, once', async () => {
    const { shopId } = await server.createShop()
    const email = 'both@shop.example'
    await createUser(server.deps, { shop: server.shop.shopId, email, role: 'STAFF' })
    await createUser(server.deps, { shop: shopId, email, role: 'OWNER' })
    const { visitor, reply } = await attempt(email, { query: '?next=/admin/team' })
    expect(wordsOf(reply.text)).toContain('Choose a shop')
    const proofs = [...reply.text.matchAll(/name="proof" value="([^"]+)"/g)].map(([, proof = '']) => proof)
    expect([proofs.length, visitor.jar.has('referral_session')]).toEqual([2, false])
    const choose = (proof = '') =>
      visitor.send(`${PATH}/choice`, [
        ['proof', proof],
        ['next', '/admin/team'],
      ])
    const chosen = await choose(proofs[1])
    expect([chosen.status, chosen.headers.get('Location')]).toEqual([303, '/admin/team'])
    expect(await roleOf(visitor)).toBe('Owner')
    expect(rowsOf(server, 'sessions', { shopId, method: 'oidc' })).toHaveLength(1)
    expect(codeOf(await choose(proofs[1]))).toEqual(REFUSED)
    server.clock.advance(300_000)
    expect(codeOf(await choose(proofs[0]))).toEqual(REFUSED)
    for (const proof of ['', 'v1.x', visitor.jar.get('referral_session')])
      expect(codeOf(await choose(proof))).toEqual(REFUSED)
  })

  test('a provider that is down is named, is asked again later, and other ways of signing in remain', async () => {
    const down = await startOidcProvider()
    const apart = await testServer({ config: configOf(down) })
    const visitor = visitorOf(apart)
    down.isDown = true
    const reply = await start(visitor)
    expect(codeOf(reply)).toEqual(REFUSED)
    expect(noticeOf(reply)).toContain('provider does not respond')
    expect((await visitor.signIn()).status).toBe(303)
    down.isDown = false
    expect((await start(visitor)).status).toBe(303)
    await apart.close()
    down.close()
  })

  test('sends the secret of the client in the form where the provider asks for it', async () => {
    const other = await startOidcProvider({ methods: ['client_secret_post'] })
    const apart = await testServer({ config: configOf(other) })
    other.claims = { email: 'owner@shop.example' }
    const visitor = visitorOf(apart)
    await visitor.open(await atProvider(await start(visitor)))
    expect((await visitor.open('/admin')).status).toBe(200)
    await apart.close()
    other.close()
  })

  test('neither the code nor the secret of the client is stored or logged', async () => {
    const { callback } = await attempt('owner@shop.example')
    const everything = JSON.stringify(allRows(server)) + server.logs.join('')
    expect(everything).not.toContain(new URLSearchParams(callback.split('?')[1]).get('code'))
    expect(everything).not.toContain(CLIENT.clientSecret)
  })
})

test('without a provider there is neither a link nor a path, and the provider is asked nothing before somebody signs in', async () => {
  const without = await testServer()
  expect((await visitorOf(without).open('/admin/sign-in')).text).not.toContain('oidc')
  for (const path of [PATH, `${PATH}/callback`]) expect((await visitorOf(without).open(path)).status).toBe(404)
  await without.close()
  const idle = await startOidcProvider()
  const apart = await testServer({ config: configOf(idle) })
  const { text } = await visitorOf(apart).open('/admin/sign-in')
  expect(text).toContain(`href="${ORIGIN}${PATH}?next=%2Fadmin"`)
  expect(wordsOf(text)).toContain('Sign in with Acme ID')
  expect(idle.requests).toEqual([])
  await apart.close()
  idle.close()
})
