// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { admin } from '../support/owner.ts'
import { expectOk } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop } from './fixture.ts'
import { type Fields, noticeOf, wordsOf } from './visitor.ts'

let shop: PageShop
let owner: PageShop['owner']
let done: PageShop['done']
beforeAll(async () => {
  shop = await openPageShop()
  ;({ owner, done } = shop)
})
afterAll(() => shop.server.close())

test('settings are shown as they are typed, and saved', async () => {
  const fields: Fields = [
    ['currency', 'USD'],
    ['minimumCurrency', 'USD'],
    ['minimumBatch', '50.00'],
    ['minimumAffiliate', '25.00'],
    ['minimumCurrency', 'eur'],
    ['minimumBatch', '40.00'],
    ['minimumAffiliate', ''],
    ['timeZone', 'America/New_York'],
    ['tax', '2.5'],
    ['precedence', 'link-first'],
    ['clickTouch', 'FIRST'],
    ['storeDomain', ''],
    ['siteDomains', 'Hats.example, www.hats.example'],
    ['apiEnabled', '1'],
  ]
  await done('/settings', fields)
  const { text } = await owner.open('/admin/settings')
  for (const value of ['50.00', 'EUR', '40.00', '25.00', '2.5', 'America/New_York', 'hats.example, www.hats.example'])
    expect(text).toContain(`value="${value}"`)
  expect(text).toContain('<option value="link-first" selected>')
  const wrong = await owner.submit('/admin/settings', [
    ...fields.slice(0, 2),
    ['minimumBatch', 'much'],
    ...fields.slice(3),
  ])
  expect(noticeOf(wrong)).toMatch(/^Per batch must/)
  const { body } = await admin(shop.server, 'GET', '/settings')
  expect(body.data).toMatchObject({
    minimumPayoutCents: 5000,
    minimumPayoutCentsByCurrency: { EUR: 4000 },
    minimumAffiliatePayoutCentsByCurrency: { USD: 2500 },
  })
  const twice = await owner.submit('/admin/settings', [...fields, ['minimumCurrency', 'EUR'], ['minimumBatch', '1.00']])
  expect(noticeOf(twice)).toMatch(/^Currency must .*EUR/)
  await done('/settings', [
    ['currency', 'USD'],
    ['tax', '0'],
    ['precedence', 'default'],
    ['clickTouch', 'LAST'],
    ['apiEnabled', '1'],
  ])
})

test('a currency that amounts are in cannot change: the field says which', async () => {
  const body = { name: 'Spring', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }
  const { id } = await expectOk(shop.server.request('POST', '/api/v1/programs', { body }))
  const rejected = await owner.submit('/admin/settings', [
    ['currency', 'JPY'],
    ['tax', '0'],
    ['clickTouch', 'LAST'],
    ['apiEnabled', '1'],
  ])
  expect(codeOf(rejected)).toEqual([409, 'currency_in_use'])
  expect(rejected.text).toMatch(/<input [^>]*name="currency"[^>]* value="JPY"[^>]* aria-invalid="true"/)
  expect(noticeOf(rejected)).toMatch(/“Spring”\. Change or remove them first\.$/)
  const percentage = { commissionType: 'PERCENT_OF_SALE', commissionPercent: 10 }
  await expectOk(shop.server.request('PATCH', `/api/v1/programs?id=${id}`, { body: percentage }))
})

test('users are added with a token that is shown once, sign in with a link, and are revoked; not by themselves', async () => {
  const added = await owner.submit('/admin/team', [
    ['email', 'new@shop.example'],
    ['role', 'STAFF'],
  ])
  const page = await owner.open(added.headers.get('Location') ?? '')
  expect(page.text).toMatch(/ro_\w{20}/)
  expect((await owner.open('/admin/team')).text).not.toMatch(/ro_\w{20}/)
  const id = /team\/(usr_\w+)\/revoke"[^>]*>Revoke<span[^>]*> new@shop/.exec(page.text)?.[1] ?? ''
  const linked = await owner.submit(`/admin/team/${id}/link`)
  expect((await owner.open(linked.headers.get('Location') ?? '')).text).toContain('/admin/sign-in?token=rl_')
  expect(wordsOf((await owner.open(`/admin/team/${id}/token`)).text)).toContain(
    'new@shop.example is signed out everywhere',
  )
  const replaced = await owner.submit(`/admin/team/${id}/token`)
  expect(replaced.status).toBe(303)
  expect((await owner.open('/admin/team')).text).toMatch(/ro_\w{40}/)
  expect(codeOf(await owner.submit('/admin/team/usr_unknown/token'))).toEqual([404, 'user_not_found'])
  expect((await done(`/team/${id}/revoke`, [])).notice).toContain('revoked')
  const own = (await expectOk(shop.server.request('GET', '/admin/v1/session', { key: shop.server.shop.ownerToken })))
    .user.id
  expect(codeOf(await owner.submit(`/admin/team/${own}/revoke`))).toEqual([400, 'invalid_body'])
  expect(codeOf(await owner.open('/admin/team/usr_unknown/revoke'))).toEqual([404, 'user_not_found'])
})
