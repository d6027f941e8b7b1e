// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectOk } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop } from './page-shop.ts'

let server: PageShop['server']
let owner: PageShop['owner']
let staff: PageShop['staff']
let order: PageShop['order']
beforeAll(async () => {
  ;({ server, owner, staff, order } = await openPageShop())
})
afterAll(() => server.close())

const OWNERS_ONLY = [
  '/keys',
  '/keys/x/rotate',
  '/keys/x/revoke',
  '/payouts',
  '/payouts/new',
  '/payouts/x',
  '/webhooks/x',
]

describe('roles', () => {
  test('403 for STAFF on pages of money, keys and webhook URLs; no forms or links lead there', async () => {
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
      // Only the sign-out form.
      expect([...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, to]) => to)).toEqual([
        '/admin/sign-out',
      ])
      expect(text).not.toMatch(/href="\/admin\/(keys|payouts)|formaction/)
    }
  })

  test('STAFF see the host of a webhook but not its path', async () => {
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
