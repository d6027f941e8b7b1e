// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectOk } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop } from './fixture.ts'
import { wordsOf } from './visitor.ts'

let server: PageShop['server']
let owner: PageShop['owner']
let staff: PageShop['staff']
let order: PageShop['order']
let affiliateId: string
beforeAll(async () => {
  ;({ server, owner, staff, order, affiliateId } = await openPageShop())
})
afterAll(() => server.close())

/** Pages that staff may open. */
const OF_STAFF = [
  '',
  '/search',
  '/orders',
  '/orders.csv',
  '/commissions',
  '/commissions.csv',
  '/affiliates',
  '/affiliates.csv',
  '/affiliates/:id',
  '/customers',
  '/customers.csv',
  '/customers/:id',
  '/programs',
  '/programs/:id',
  '/programs/:id/backtest',
  '/programs/:id/terms',
  '/coupons',
  '/journey',
  '/webhooks',
  '/deliveries',
  '/deliveries/:id',
  '/account',
  '/deliveries/redeliver',
]
/** Forms that staff may send: signing out, their own sign-in, and deliveries. */
const FORMS_OF_STAFF = ['/sign-out', '/deliveries/redeliver', '/deliveries/:id/redeliver']
const isOfStaff = (path: string) => FORMS_OF_STAFF.includes(path) || path.startsWith('/account/')

const pathsOf = (method: string) =>
  server.routes
    .filter((route) => route.method === method && /^\/admin(\/(?!v1|sign-in|assets)|$)/.test(route.path))
    .map(({ path }) => path.replace('/admin', ''))

describe('roles', () => {
  test('staff read whom to ask, and are offered no decision that is an owner’s', async () => {
    const told = async (path: string) => wordsOf((await staff.open(`/admin${path}`)).text)
    expect(await told('/payouts')).toContain('Only an owner can see payouts')
    expect(await told('/audit')).toContain('Only an owner can see the audit log')
    expect(await told('/programs/new')).toContain('Only an owner can change programs')
    await order({ status: 'PENDING' })
    expect(await told('')).toMatch(/awaits? approval.* View : /)
    expect(await told('')).not.toContain('Review')
    expect(wordsOf((await owner.open('/admin')).text)).toMatch(/awaits? approval.* Review : /)
  })

  test('the sign-in page names the demo where one is running, and whom to ask', async () => {
    const shown = async () => wordsOf((await staff.open('/admin/sign-in')).text)
    expect(await shown()).toContain('No token? Ask an owner')
    expect(await shown()).not.toMatch(/demo|referral-server|REFERRAL_/)
    server.deps.config.demo = true
    expect(await shown()).toContain('demo.env')
    server.deps.config.demo = false
  })

  test('403 for STAFF on every other page and form; no forms or links lead there', async () => {
    const pages = pathsOf('GET').filter((path) => !OF_STAFF.includes(path))
    expect(pages.length).toBeGreaterThan(15)
    for (const path of pages)
      expect(codeOf(await staff.open(`/admin${path.replace(/:\w+/g, 'x')}`)), path).toEqual([403, 'role_missing'])
    const id = await order()
    const forms = pathsOf('POST').filter((path) => !isOfStaff(path))
    expect(forms.length).toBeGreaterThan(25)
    for (const path of forms)
      expect(
        codeOf(
          await staff.submit(`/admin${path.replace(/:\w+/g, id)}`, [
            ['ids', id],
            ['status', 'PENDING'],
          ]),
        ),
        path,
      ).toEqual([403, 'role_missing'])
    const shown = ['', '/commissions', '/orders', '/affiliates', `/affiliates/${affiliateId}`, '/programs', '/coupons']
    for (const path of [...shown, '/search', '/search?q=e', '/webhooks', '/deliveries', '/journey', '/orders?id=p-1']) {
      const { status, text } = await staff.open(`/admin${path}`)
      expect(status, path).toBe(200)
      // Only the sign-out form.
      expect([...text.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, to]) => to)).toEqual([
        '/admin/sign-out',
      ])
      expect(text, path).not.toMatch(
        /href="\/admin\/(keys|payouts|settings|team|audit)|\/(new|edit|archive)"|formaction/,
      )
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
