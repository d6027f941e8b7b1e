// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operate } from '../support/operator.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { visitorOf, wordsOf } from './page-fixture.ts'
import { codeOf, openPageShop, type PageShop } from './page-shop.ts'

let shop: PageShop
let path: string
let other: { id: string }
beforeAll(async () => {
  shop = await openPageShop()
  await shop.order({ externalOrderId: '7001', orderName: '#7001', customerEmail: 'buyer@example.com' })
  other = await newAffiliate(shop.server, { name: 'Other Person', code: 'ELSE1' })
  await shop.order({ externalOrderId: '7002', orderName: '#7002', couponCode: 'ELSE1' })
  path = await link(shop.affiliateId)
})
afterAll(() => shop.server.close())

/** Creates a link on the page of an affiliate, as an owner does. */
async function link(id: string, hours = '1'): Promise<string> {
  const sent = await shop.owner.submit(`/admin/affiliates/${id}/link`, [['hours', hours]])
  const { text } = await shop.owner.open(sent.headers.get('Location') ?? '')
  return /\/affiliate\?token=[\w.%-]+/.exec(text)?.[0] ?? ''
}
const open = (to: string) => visitorOf(shop.server).open(to)
const update = (id: string, body: object) =>
  expectOk(shop.server.request('PATCH', `/api/v1/affiliates?id=${id}`, { body }))

test('a link opens the page of one affiliate without a session: own code, orders and balance, nothing of others', async () => {
  expect(shop.lastAudit()).not.toBe('')
  const { status, headers, text } = await open(path)
  expect(status).toBe(200)
  expect([headers.get('Cache-Control'), headers.get('Set-Cookie')]).toEqual(['no-store', null])
  const words = wordsOf(text)
  for (const shown of ['NISA16', '#7001', 'Awaiting approval', 'The shop has not approved it yet.'])
    expect(words).toContain(shown)
  expect(words).not.toMatch(/#7002|ELSE1|Other Person|buyer@example/)
  expect(text).not.toMatch(/<form|<a [^>]*href="\/admin/)
  expect(
    shop
      .audits()
      .some(({ action, subjectId }) => action === 'affiliate_link.created' && subjectId === shop.affiliateId),
  ).toBe(true)
  expect(shop.server.logs.join('')).not.toContain(path.split('token=')[1])
})

test('401 for a link that is invalid, of other sealed text, or expired', async () => {
  const flash = await shop.owner.submit('/admin/keys', [
    ['label', 'K'],
    ['scopes', 'programs:read'],
  ])
  const sealed = /referral_flash=([^;]+)/.exec(flash.headers.get('Set-Cookie') ?? '')?.[1] ?? ''
  for (const token of ['', 'x', sealed, `${decodeURIComponent(path.split('token=')[1] ?? '').slice(0, -2)}AA`])
    expect(codeOf(await open(`/affiliate?${new URLSearchParams({ token })}`)), token).toEqual([401, 'session_expired'])
  const clock = shop.server.deps.now
  shop.server.deps.now = () => clock() + 3_600_001
  expect(codeOf(await open(path))).toEqual([401, 'session_expired'])
  shop.server.deps.now = clock
  expect((await open(path)).status).toBe(200)
})

test('a link ends when the affiliate is rejected or archived, or the shop suspended', async () => {
  const own = await link(other.id)
  expect((await open(own)).status).toBe(200)
  await update(other.id, { status: 'REJECTED' })
  expect(codeOf(await open(own))).toEqual([401, 'session_expired'])
  await update(other.id, { status: 'APPROVED' })
  await expectOk(shop.server.request('DELETE', `/api/v1/affiliates?id=${other.id}`))
  expect(codeOf(await open(own))).toEqual([401, 'session_expired'])
  await expectOk(operate(shop.server, 'POST', `/shops/${shop.server.shop.shopId}/suspend`))
  expect(codeOf(await open(path))).toEqual([401, 'session_expired'])
})

test('another shop cannot create a link', async () => {
  const stranger = visitorOf(shop.server)
  await stranger.signIn((await shop.server.createShop()).ownerToken)
  const sent = await stranger.submit(`/admin/affiliates/${shop.affiliateId}/link`, [['hours', '1']])
  expect(codeOf(sent)).toEqual([404, 'affiliate_not_found'])
})
