// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operate } from '../support/operator.ts'
import { expectOk } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop } from './fixture.ts'
import { visitorOf } from './visitor.ts'

let shop: PageShop
let id: string
beforeAll(async () => {
  shop = await openPageShop()
  id = await shop.order()
  await expectOk(operate(shop.server, 'POST', `/shops/${shop.server.shop.shopId}/suspend`))
})
afterAll(() => shop.server.close())

const PAGES = ['', '/commissions', '/payouts', '/journey', '/keys', '/webhooks', '/deliveries', '/orders?id=p-1']

describe('users of a suspended shop', () => {
  test('can open every page', async () => {
    for (const path of PAGES) expect((await shop.owner.open(`/admin${path}`)).status, path).toBe(200)
  })

  test('can submit no form, and nothing changes', async () => {
    const before = shop.audits().filter(({ action }) => !/listed|shown/.test(action))
    const forms: [path: string, fields: [string, string][]][] = [
      [`/commissions/${id}/approve`, []],
      [
        '/commissions/moderate',
        [
          ['action', 'approve'],
          ['ids', id],
        ],
      ],
      [
        '/keys',
        [
          ['label', 'K'],
          ['access-programs', 'read'],
        ],
      ],
      [`/keys/${shop.server.shop.keyId}/rotate`, []],
      [`/keys/${shop.server.shop.keyId}/revoke`, []],
      [
        '/payouts',
        [
          ['from', '2026-11-01'],
          ['until', '2026-11-30'],
        ],
      ],
      ['/webhooks', [['url', 'https://hooks.example.com/']]],
      ['/webhooks/test', [['url', 'https://hooks.example.com/']]],
    ]
    for (const [path, fields] of forms)
      expect(codeOf(await shop.owner.submit(`/admin${path}`, fields)), path).toEqual([403, 'shop_suspended'])
    expect(shop.audits().filter(({ action }) => !/listed|shown/.test(action))).toEqual(before)
  })

  test('can sign in and out', async () => {
    const visitor = visitorOf(shop.server)
    await visitor.signIn()
    expect((await visitor.open('/admin')).status).toBe(200)
    expect((await visitor.submit('/admin/sign-out')).status).toBe(303)
    expect((await visitor.open('/admin')).status).not.toBe(200)
  })
})
