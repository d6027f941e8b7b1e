// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testServer } from '../support/server.ts'
import { createLink } from '../support/tenants.ts'
import { codeOf, FOREIGN, openPageShop, type PageShop } from './fixture.ts'
import { noticeOf, visitorOf } from './visitor.ts'

let server: PageShop['server']
let owner: PageShop['owner']
let lastAudit: PageShop['lastAudit']
beforeAll(async () => {
  ;({ server, owner, lastAudit } = await openPageShop())
})
afterAll(() => server.close())

describe('signing in', () => {
  test('303 with the session cookie; the token is not logged', async () => {
    const visitor = visitorOf(server)
    const { status, headers } = await visitor.signIn()
    expect([status, headers.get('Location')]).toEqual([303, '/admin'])
    expect(headers.get('Set-Cookie')).toMatch(
      /^referral_session=rs_\w+; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect(lastAudit()).toBe('session.created')
    expect(server.logs.join('')).not.toContain(server.shop.ownerToken)
  })

  test('opening a sign-in link does not redeem it; its button does, once', async () => {
    const { token } = await createLink(server.deps, { shop: server.shop.shopId, email: 'owner@shop.example' })
    const path = `/admin/sign-in?token=${token}`
    for (let i = 0; i < 3; i++) expect((await visitorOf(server).open(path)).text).toContain(`value="${token}"`)
    const visitor = visitorOf(server)
    expect((await visitor.send('/admin/sign-in', [['token', token]])).status).toBe(303)
    expect((await visitor.open('/admin')).status).toBe(200)
    const again = await visitorOf(server).send('/admin/sign-in', [['token', token]])
    expect(codeOf(again)).toEqual([401, 'sign_in_refused'])
    expect(noticeOf(again)).toContain('has expired')
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

  test('429 before the form is read, whatever it contains', async () => {
    const limited = await testServer({ limited: true })
    const visitor = visitorOf(limited)
    const unreadable = () => visitor.send('/admin/sign-in', [], { 'Content-Type': 'text/plain' })
    for (let i = 0; i < 10; i++) expect(codeOf(await unreadable())).toEqual([400, 'invalid_body'])
    expect(codeOf(await unreadable())).toEqual([429, 'sign_in_throttled'])
    expect(codeOf(await visitor.signIn('x'.repeat(100_000)))).toEqual([429, 'sign_in_throttled'])
    await limited.close()
  })

  test('400 for a form of more than 4 KiB', async () => {
    const reply = await visitorOf(server).send('/admin/sign-in', [['token', 'x'.repeat(4096)]])
    expect(codeOf(reply)).toEqual([400, 'body_too_large'])
    expect(noticeOf(reply)).toContain('4 KiB')
  })

  test('429 for the sign-in page after 600 requests per minute from one address', async () => {
    const limited = await testServer({ limited: true })
    const visitor = visitorOf(limited)
    await Promise.all(Array.from({ length: 596 }, () => limited.limiter.consume('public:unknown', 600)))
    for (let i = 0; i < 2; i++) {
      expect((await visitor.open('/admin/sign-in')).status).toBe(200)
      expect((await visitor.open('/admin/keys')).status).toBe(303)
    }
    expect(codeOf(await visitor.open('/admin/sign-in'))).toEqual([429, 'rate_limited'])
    const refused = await visitor.open('/admin')
    expect(codeOf(refused)).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
    await limited.close()
  })

  test('sign-out ends the session and deletes its cookie', async () => {
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

test('a new secret is shown once, to this session only, and is encrypted in its cookie', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const reply = await visitor.submit('/admin/keys', [
    ['label', 'Once'],
    ['access-programs', 'read'],
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
