// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { convert, expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { visitorOf, wordsOf } from './page-fixture.ts'

test('an order without an affiliate is shown and found by its own name, also after it is credited', async ({
  server,
  client,
}) => {
  const order = { externalOrderId: '5551000208', orderName: '#1001', amountCents: 10_000 }
  await expectOk(convert(server, order))
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const list = (await page.open('/admin/orders')).text
  expect(list).toContain('<bdi>#1001</bdi>')
  expect(wordsOf(list)).not.toContain('5551000208')
  for (const name of ['1001', '%231001', '5551000208']) {
    const { status, text } = await page.open(`/admin/orders?id=${name}`)
    expect([name, status, wordsOf(/<h1>.*?<\/h1>/.exec(text)?.[0] ?? '').trim()]).toEqual([name, 200, 'Order #1001'])
  }
  const { id } = await client.programs.create({ name: 'P', autoApproveAffiliate: true })
  const nisa = await client.affiliates.create({ name: 'Nisa', email: 'nisa@example.com', campaignId: id })
  await expectOk(convert(server, { ...order, couponCode: nisa.discountCode }))
  expect(wordsOf((await page.open('/admin/orders?id=%231001')).text)).toContain('Nisa')
})
