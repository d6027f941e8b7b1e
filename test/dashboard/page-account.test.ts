import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserName, roughNetwork } from '../../server/src/http/client.ts'
import { rowsOf } from '../support/inspect.ts'
import { OPERATOR_TOKEN } from '../support/server.ts'
import { openPageShop, type PageShop } from './fixture.ts'
import { noticeOf, type Opened, visitorOf, wordsOf } from './visitor.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0'
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1'

let shop: PageShop
beforeAll(async () => {
  shop = await openPageShop()
})
afterAll(() => shop.server.close())

type Visitor = ReturnType<typeof visitorOf>
const signedIn = async (userAgent: string): Promise<Visitor> => {
  const visitor = visitorOf(shop.server)
  await visitor.send('/admin/sign-in', [['token', shop.server.shop.ownerToken]], { 'User-Agent': userAgent })
  return visitor
}
const isSignedIn = async (visitor: Visitor) => (await visitor.open('/admin')).status === 200
/** The form that ends the session of a browser. */
const endOf = ({ text }: Opened, browser: string) =>
  new RegExp(`action="([^"]+/end)"(?:(?!</form>).)* the session of ${browser}`, 's').exec(text)?.[1] ?? ''

describe('the sessions of a user', () => {
  test('are listed by browser, rough network, time and method; the list has neither the secret nor its hash', async () => {
    const phone = await signedIn(SAFARI)
    const desk = await signedIn(FIREFOX)
    const page = await desk.open('/admin/account')
    const words = wordsOf(page.text)
    expect(words).toMatch(/Firefox on Linux This browser Unknown network .+ Access token/)
    expect(words).toContain('Safari on iOS')
    for (const row of rowsOf(shop.server, 'sessions')) {
      expect(page.text).not.toContain(row.tokenHash)
      expect(JSON.stringify(row)).not.toContain('Mozilla')
    }
    await desk.submit(endOf(page, 'Safari on iOS'))
    expect([await isSignedIn(phone), await isSignedIn(desk)]).toEqual([false, true])
    expect(shop.lastAudit()).toBe('analytics.shown')
    expect(shop.audits().map(({ action }) => action)).toContain('session.ended')
  })

  test('ending an ended session changes nothing', async () => {
    const desk = await signedIn(FIREFOX)
    const phone = await signedIn(SAFARI)
    const path = endOf(await desk.open('/admin/account'), 'Safari on iOS')
    const count = () => shop.audits().filter(({ action }) => action === 'session.ended').length
    const before = count()
    for (let i = 0; i < 2; i++) expect((await desk.submit(path)).status).toBe(303)
    expect([await isSignedIn(phone), count()]).toEqual([false, before + 1])
  })

  test('all other sessions of this user end together', async () => {
    const phone = await signedIn(SAFARI)
    const desk = await signedIn(FIREFOX)
    await desk.submit('/admin/account/sessions/end-others')
    expect(noticeOf(await desk.open('/admin/account'))).toMatch(/other sessions? ended/)
    expect(shop.audits().at(-2)).toMatchObject({ action: 'sessions.ended' })
    expect(await Promise.all([phone, desk, shop.staff].map(isSignedIn))).toEqual([false, true, true])
    expect((await desk.open('/admin/account')).text).not.toContain('End all other sessions')
    await shop.owner.signIn()
  })

  test('one from a link names the owner who created the link, on the page of the user and in the audit', async () => {
    await shop.owner.signIn()
    await shop.owner.submit('/admin/team', [
      ['email', 'two@shop.example'],
      ['role', 'OWNER'],
    ])
    const team = (await shop.owner.open('/admin/team')).text
    const second = /team\/(usr_\w+)\/revoke"[^>]*>Revoke<span[^>]*> two@shop/.exec(team)?.[1] ?? ''
    expect(wordsOf(team)).toMatch(/two@shop\.example Owner Active [^<]*? Never/)
    await shop.owner.submit(`/admin/team/${second}/link`)
    const token = /token=(rl_\w+)/.exec((await shop.owner.open('/admin/team')).text)?.[1] ?? ''
    const visitor = visitorOf(shop.server)
    await visitor.send('/admin/sign-in', [['token', token]])
    const { email = '', id: ownerId } = rowsOf(shop.server, 'users').find(({ role }) => role === 'OWNER') ?? {}
    expect(wordsOf((await visitor.open('/admin/account')).text)).toContain(`One-time link created by ${email}`)
    expect(await shop.words('/audit')).toContain(`Signed in with a one-time link created by ${email}`)
    const path = `/operator/v1/shops/${shop.server.shop.shopId}/users/${ownerId}/sign-in-link`
    const { body } = await shop.server.request('POST', path, { key: OPERATOR_TOKEN })
    await visitor.send('/admin/sign-in', [['token', /rl_\w+/.exec(JSON.stringify(body))?.[0] ?? '']])
    for (const page of ['account', 'audit'])
      expect(wordsOf((await visitor.open(`/admin/${page}`)).text)).toContain('created by the server’s operator')
    const after = wordsOf((await shop.owner.open('/admin/team')).text)
    expect(after).not.toMatch(/two@shop\.example Owner Active [^<]*? Never Sign-in/)
  })

  test('those of another user or shop cannot be ended', async () => {
    const desk = await signedIn(FIREFOX)
    const { ownerToken } = await shop.server.createShop()
    const stranger = visitorOf(shop.server)
    await stranger.signIn(ownerToken)
    const users = new Map(rowsOf(shop.server, 'users').map(({ id, role }) => [id, role]))
    for (const { id, userId } of rowsOf(shop.server, 'sessions', { shopId: shop.server.shop.shopId })) {
      await stranger.submit(`/admin/account/sessions/${id}/end`)
      if (users.get(userId) === 'OWNER') await shop.staff.submit(`/admin/account/sessions/${id}/end`)
    }
    expect(await Promise.all([desk, shop.staff].map(isSignedIn))).toEqual([true, true])
  })
})

test('browsers are named from a list, and networks are too large to identify a household', () => {
  expect(browserName(FIREFOX)).toBe('Firefox on Linux')
  expect(browserName(`${'Chrome/'.repeat(3)} Safari/ Edg/1 Windows NT`)).toBe('Edge on Windows')
  expect([browserName(), browserName('curl/8.0 <b>')]).toEqual(['Unknown browser', 'Unknown browser'])
  expect(roughNetwork('8.8.8.77')).toBe('8.8.8.0/24')
  expect(roughNetwork('2606:4700:1:2::/64')).toBe('2606:4700:1::/48')
  expect([roughNetwork('127.0.0.1'), roughNetwork('::1'), roughNetwork('::ffff:127.0.0.1')]).toEqual(
    Array(3).fill('This machine'),
  )
  expect([roughNetwork('10.1.2.3'), roughNetwork('fd00::1')]).toEqual(Array(2).fill('Private network'))
  expect(roughNetwork('unknown')).toBe('Unknown network')
})
