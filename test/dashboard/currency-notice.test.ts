// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { noticeOf, visitorOf } from './visitor.ts'

test('the overview says which recent orders are in another currency than that of the shop', async ({ server }) => {
  const owner = visitorOf(server)
  await owner.signIn()
  await withAffiliate(server)
  const order = (externalOrderId: string, body: object) =>
    expectOk(convert(server, { externalOrderId, amountCents: 10_000, couponCode: 'NISA16', ...body }))
  await order('same', { currency: 'USD' })
  expect((await owner.open('/admin')).text).not.toContain('but your shop’s currency')
  await order('long ago', { currency: 'CHF', occurredAt: '2026-01-10' })
  expect((await owner.open('/admin')).text).not.toContain('but your shop’s currency')
  await order('euros', { currency: 'EUR' })
  expect(noticeOf(await owner.open('/admin'))).toMatch(/ in EUR, .* is USD/)
})
