// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { openBatch } from '../payouts/payments.ts'
import { addAffiliate, addCommission, OCTOBER } from '../payouts/rows.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { noticeOf, visitorOf, wordsOf } from './visitor.ts'

test('an owner creates a test shop, advances its clock and deletes it; every page of it says that it is one', async ({
  server,
}) => {
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  expect(wordsOf((await page.open('/admin/test-shops')).text)).toContain('No test shops yet')
  expect((await expectOk(server.request('GET', '/api/v1/shop'))).isTest).toBe(false)
  await page.submit('/admin/test-shops', [['name', 'Hats in a hurry']])
  const { text } = await page.open('/admin/test-shops')
  const [ownerToken = '', key = ''] = [...text.matchAll(/<code id="secret[^"]*"[^>]*>([^<]+)</g)].map(([, one]) => one)
  const id = /\/admin\/test-shops\/(shp_\w+)\/clock/.exec(text)?.[1] ?? ''
  expect(wordsOf((await page.open('/admin/test-shops')).text)).toContain('Hats in a hurry')
  expect((await expectOk(server.request('GET', '/api/v1/shop', { key }))).isTest).toBe(true)

  const tester = visitorOf(server)
  await tester.signIn(ownerToken)
  for (const path of ['', '/commissions', '/payouts/new', '/settings', '/test-shops'])
    expect(wordsOf((await tester.open(`/admin${path}`)).text), path).toContain(
      'Test shop. Orders and payments here are not real',
    )
  expect((await page.open('/admin')).text).not.toContain('here are not real')
  const nowIn = async () => Date.parse((await expectOk(server.owner('GET', '/test-shops')))[0].now)
  const before = await nowIn()
  await page.submit(`/admin/test-shops/${id}/clock`, [['advanceSeconds', '86400']])
  // From within, too.
  await tester.submit(`/admin/test-shops/${id}/clock`, [['advanceSeconds', '3600']])
  expect((await nowIn()) - before).toBe(90_000_000)
  expect((await page.submit(`/admin/test-shops/${id}/clock`, [['advanceSeconds', '0']])).status).toBe(400)

  expect(wordsOf((await page.open(`/admin/test-shops/${id}/delete`)).text)).toContain(
    'Hats in a hurry and everything in it will be deleted',
  )
  await page.submit(`/admin/test-shops/${id}/delete`)
  expect(noticeOf(await page.open('/admin/test-shops'))).toBe('Test shop deleted.')
  expect((await tester.open('/admin/commissions')).status).toBe(303)
})

test('the overview names who cannot be paid', async ({ server }) => {
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const attention = async () => {
    const { text } = await page.open('/admin')
    return wordsOf(/<ul class="todo"[\s\S]*?<\/ul>/.exec(text)?.[0] ?? '')
  }
  const blocked = addAffiliate(server, { name: 'Omar <b>' })
  addCommission(server, { affiliateId: blocked })
  const { id } = await openBatch(server, 1)
  expect(await attention()).toContain('1 payment is blocked, 10.00 USD: Omar &lt;b&gt;')
  const { text } = await page.open('/admin')
  expect(text).toContain(`/admin/affiliates/${blocked}/payee`)
  expect(text).toContain(`/admin/payouts/${id}?state=BLOCKED`)
  await expectOk(server.owner('PUT', `/affiliates/${blocked}/payee`, { method: 'PAYPAL', email: 'omar@pay.example' }))
  expect(await attention()).not.toContain('blocked')
  // Those of several batches are listed by batch.
  for (const name of ['A', 'B', 'C', 'D'])
    addCommission(server, { affiliateId: addAffiliate(server, { name }), happenedAt: '2026-09-10T00:00:00.000Z' })
  await server.client.payouts.create({ ...OCTOBER, periodStart: '2026-09-01', periodEnd: '2026-09-30' })
  expect(await attention()).toMatch(/4 payments are blocked, 40\.00 USD: .+ and 1 more/)
})
