import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { relyingPartyOf } from '../../server/src/domains/accounts/passkeys.ts'
import { noticeOf, type Opened, visitorOf, wordsOf } from '../dashboard/visitor.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { allRows, rowsOf } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { replaceToken, revokeUser } from '../support/tenants.ts'

const ORIGIN = 'https://referral.example'
const ACCOUNT = '/admin/account'
const SIGN_IN = '/admin/sign-in'
let server: TestServer
beforeAll(async () => {
  server = await testServer({ config: { publicUrl: ORIGIN } })
})
afterAll(() => server.close())

type Visitor = ReturnType<typeof visitorOf>
const optionsOf = ({ text }: Opened) =>
  JSON.parse((/data-options="([^"]+)"/.exec(text)?.[1] ?? 'null').replaceAll('&quot;', '"'))
/** The options on a page. Time passes, so that each challenge is newer than the one before. */
const ask = async (visitor: Visitor, path: string) => {
  server.clock.advance(1000)
  return optionsOf(await visitor.open(path))
}
const signedIn = async (token = server.shop.ownerToken) => {
  const visitor = visitorOf(server)
  await visitor.signIn(token)
  return visitor
}
const add = (visitor: Visitor, response: string, name = 'Laptop') =>
  visitor.submit(`${ACCOUNT}/passkeys`, [
    ['name', name],
    ['response', response],
  ])
const answer = (response: string, visitor = visitorOf(server)) =>
  visitor.send(`${SIGN_IN}/passkey`, [
    ['response', response],
    ['next', '/admin/account'],
  ])
const statusOf = ({ status, headers }: Opened) => [status, headers.get('X-Error-Code')]
const REFUSED = [401, 'sign_in_refused']

/** A user with a passkey. */
async function withPasskey(token?: string) {
  const visitor = await signedIn(token)
  const authenticator = createAuthenticator(ORIGIN)
  const added = await add(visitor, authenticator.create(await ask(visitor, ACCOUNT)))
  expect(added.status).toBe(303)
  return { visitor, authenticator }
}
const challenge = () => ask(visitorOf(server), SIGN_IN)
const passkeys = () => rowsOf(server, 'passkeys')

describe('a passkey', () => {
  test('is added while signed in, signs in, and opens the page that was requested', async () => {
    const { visitor, authenticator } = await withPasskey()
    expect(wordsOf((await visitor.open(ACCOUNT)).text)).toMatch(/Laptop \w+ \d+, \d+ Never Remove Laptop/)
    const browser = visitorOf(server)
    const { status, headers } = await answer(authenticator.get(await challenge()), browser)
    expect([status, headers.get('Location')]).toEqual([303, '/admin/account'])
    expect(headers.get('Set-Cookie')).toMatch(
      /^referral_session=rs_\w+; Path=\/admin; .*HttpOnly; SameSite=Strict; Secure$/,
    )
    const words = wordsOf((await browser.open(ACCOUNT)).text)
    expect(words).toMatch(/This browser .* Passkey/)
    expect(words).not.toContain('Never')
    const audits = rowsOf(server, 'audits').map(({ action, data }) => `${action} ${data}`)
    expect(audits.join()).toMatch(/passkey\.added.*session\.created \{"by":"passkey"\}/)
  })

  test('401 for everything that is not its fresh signature for this server', async () => {
    const { authenticator } = await withPasskey()
    const other = createAuthenticator(ORIGIN)
    const visitor = await signedIn()
    const { challenge: ofRegistration } = await ask(visitor, ACCOUNT)
    const cases: Record<string, Parameters<typeof authenticator.get>[1]> = {
      'another origin': { origin: 'https://evil.example' },
      'a subdomain': { origin: 'https://x.referral.example' },
      'another relying party': { rpId: 'evil.example' },
      'no verification of the user': { flags: 0x01 },
      'no presence of the user': { flags: 0x04 },
      'a response of another ceremony': { type: 'webauthn.create' },
      'a challenge of a registration': { challenge: ofRegistration },
      'a challenge of nobody': { challenge: Buffer.from('x'.repeat(40)).toString('base64url') },
      'another user': { userHandle: Buffer.from('usr_x').toString('base64url') },
      'no user': { userHandle: '' },
      'another signature': { signature: Buffer.alloc(70, 1) },
      'an unknown passkey': { id: 'AAAA' },
      'an id with U+0000': { id: '\0' },
    }
    for (const [name, made] of Object.entries(cases))
      expect(statusOf(await answer(authenticator.get(await challenge(), made))), name).toEqual(REFUSED)
    for (const text of ['', 'null', '{}', '[]', '{"id":7}', '{"id":"AAAA"}', 'x'.repeat(5000)])
      expect(statusOf(await answer(text)), text.slice(0, 20)).toEqual(REFUSED)
    expect(statusOf(await answer(other.get(await challenge())))).toEqual(REFUSED)
    const [{ credentialId = '' } = {}] = passkeys().toReversed()
    expect(statusOf(await answer(other.get(await challenge(), { id: credentialId })))).toEqual(REFUSED)
    expect((await answer(authenticator.get(await challenge()))).status).toBe(303)
    expect(statusOf(await answer(authenticator.get(await challenge(), { counter: 1 })))).toEqual(REFUSED)
  })

  test('one challenge signs in once, even in parallel, and within 10 minutes', async () => {
    const { authenticator } = await withPasskey()
    const early = authenticator.get(await challenge())
    const response = authenticator.get(await challenge())
    const replies = await Promise.all(Array.from({ length: 6 }, () => answer(response)))
    expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(5).fill(401)])
    expect(noticeOf(await answer(response))).toContain('has expired or was used')
    expect(statusOf(await answer(early))).toEqual(REFUSED)
    const late = await challenge()
    server.clock.advance(600_000)
    expect(statusOf(await answer(authenticator.get(late)))).toEqual(REFUSED)
  })

  test('ends with its removal, with its user, and when the owner token is replaced', async () => {
    const removed = await withPasskey()
    const id = passkeys().at(-1)?.id
    const path = `${ACCOUNT}/passkeys/${id}/remove`
    expect((await removed.visitor.open(ACCOUNT)).text).toContain(`action="${path}"`)
    for (let i = 0; i < 2; i++) expect((await removed.visitor.submit(path)).status).toBe(303)
    const ended = [removed.authenticator]
    for (const [email, end] of [
      ['leaver@shop.example', revokeUser],
      ['loser@shop.example', replaceToken],
    ] as const) {
      const { authenticator } = await withPasskey(await staffOf(server, email))
      await end(server.deps, { shop: server.shop.shopId, email })
      ended.push(authenticator)
    }
    for (const one of ended) expect(statusOf(await answer(one.get(await challenge())))).toEqual(REFUSED)
  })
})

describe('adding a passkey', () => {
  const refused = async (visitor: Visitor, response: string) => {
    const before = passkeys().length
    const reply = await add(visitor, response)
    expect([...statusOf(reply), passkeys().length]).toEqual([400, 'invalid_body', before])
    return noticeOf(reply)
  }

  test('400 for another origin, without verification, for text, and for challenges of other sessions and purposes', async () => {
    const visitor = await signedIn()
    const other = await signedIn()
    const make = createAuthenticator(ORIGIN).create
    const own = () => ask(visitor, ACCOUNT)
    await refused(visitor, make(await own(), { origin: 'https://evil.example' }))
    await refused(visitor, make(await own(), { rpId: 'evil.example' }))
    await refused(visitor, make(await own(), { flags: 0x41 }))
    await refused(visitor, make(await ask(other, ACCOUNT)))
    const { challenge: ofSignIn } = await challenge()
    await refused(visitor, make(await own(), { challenge: ofSignIn }))
    const late = await own()
    server.clock.advance(600_000)
    expect(await refused(visitor, make(late))).toContain('could not be verified')
    for (const text of ['', 'null', '{}', '{"response":{}}']) await refused(visitor, text)
  })

  test('400 for a challenge that was used, and for a passkey of anybody', async () => {
    const visitor = await signedIn()
    const options = await ask(visitor, ACCOUNT)
    expect((await add(visitor, createAuthenticator(ORIGIN).create(options))).status).toBe(303)
    expect(await refused(visitor, createAuthenticator(ORIGIN).create(options))).toContain('already been submitted')
    const { authenticator } = await withPasskey(await staffOf(server, 'first@shop.example'))
    expect(await refused(visitor, authenticator.create(await ask(visitor, ACCOUNT)))).toContain('registered already')
  })

  test('400 for the twenty-first, and for a long name', async () => {
    const visitor = await signedIn(await staffOf(server, 'many@shop.example'))
    const next = async () => createAuthenticator(ORIGIN).create(await ask(visitor, ACCOUNT))
    expect(noticeOf(await add(visitor, await next(), 'x'.repeat(61)))).toContain('60 characters')
    for (let i = 0; i < 20; i++) expect((await add(visitor, await next(), `Key ${i}`)).status).toBe(303)
    expect(await refused(visitor, await next())).toContain('more than 20 passkeys')
  })

  test('a user of another shop signs in to that shop, and cannot remove passkeys of this one', async () => {
    const { ownerToken, shopId } = await server.createShop()
    const { visitor, authenticator } = await withPasskey(ownerToken)
    const own = passkeys().filter((row) => row.shopId === server.shop.shopId)
    expect(own.length).toBeGreaterThan(0)
    for (const { id } of own) await visitor.submit(`${ACCOUNT}/passkeys/${id}/remove`)
    expect(passkeys().filter((row) => row.shopId === server.shop.shopId)).toEqual(own)
    const browser = visitorOf(server)
    await answer(authenticator.get(await challenge()), browser)
    expect(rowsOf(server, 'sessions', { method: 'passkey' }).at(-1)).toBeDefined()
    expect(rowsOf(server, 'sessions', { shopId, method: 'passkey' })).toHaveLength(1)
  })

  test('challenges and responses are neither stored nor logged', async () => {
    const { authenticator } = await withPasskey()
    const options = await challenge()
    const response = authenticator.get(options)
    await answer(response)
    const everything = JSON.stringify(allRows(server)) + server.logs.join('')
    expect(everything).not.toContain(options.challenge)
    expect(everything).not.toContain(JSON.parse(response).response.signature)
  })
})

test('passkeys are offered only where browsers accept them: with a public URL that is a name, over https or on localhost', async () => {
  const id = (publicUrl?: string) => relyingPartyOf({ publicUrl })?.id
  expect(['https://a.example', 'https://a.example:8443', 'http://localhost:8787'].map(id)).toEqual([
    'a.example',
    'a.example',
    'localhost',
  ])
  expect([undefined, 'http://a.example', 'https://192.0.2.1', 'https://[2001:db8::1]'].map(id)).toEqual(
    Array(4).fill(undefined),
  )
  const without = await testServer()
  const visitor = visitorOf(without)
  expect((await visitor.open(SIGN_IN)).text).not.toContain('passkey')
  expect(statusOf(await visitor.send(`${SIGN_IN}/passkey`, [['response', '{}']]))).toEqual([400, 'invalid_body'])
  await visitor.signIn()
  expect((await visitor.open(ACCOUNT)).text).toContain(
    'Passkeys are not set up on this server. Ask the operator of the server',
  )
  expect((await visitor.submit(`${ACCOUNT}/passkeys`, [['response', '{}']])).status).toBe(400)
  await without.close()
})

test('403 from another site; 429 after ten attempts of any kind, before the form is read', async () => {
  const limited = await testServer({ limited: true, config: { publicUrl: ORIGIN } })
  const visitor = visitorOf(limited)
  const send = (headers = {}) => visitor.send(`${SIGN_IN}/passkey`, [['response', 'x'.repeat(20_000)]], headers)
  expect(statusOf(await send({ 'Sec-Fetch-Site': 'cross-site' }))).toEqual([403, 'cross_site_refused'])
  for (let i = 0; i < 5; i++) expect(statusOf(await send())).toEqual([400, 'body_too_large'])
  for (let i = 0; i < 5; i++) await visitor.signIn('ro_wrong')
  expect(statusOf(await send())).toEqual([429, 'sign_in_throttled'])
  await limited.close()
})
