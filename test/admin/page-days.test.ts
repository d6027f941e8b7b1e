// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { addAffiliate, addCommission } from '../payouts/rows.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { visitorOf, wordsOf } from './page-fixture.ts'

test.for([
  ['UTC', '2026-10-20T23:59:59.999Z', 'Oct 20', '2026-10-21T00:00:00.000Z', 'Oct 21'],
  ['Asia/Tokyo', '2026-10-20T14:59:59.999Z', 'Oct 20', '2026-10-20T15:00:00.000Z', 'Oct 21'],
  ['America/St_Johns', '2026-10-21T02:29:59.999Z', 'Oct 20', '2026-10-21T02:30:00.000Z', 'Oct 21'],
  ['Pacific/Chatham', '2026-10-20T10:14:59.999Z', 'Oct 20', '2026-10-20T10:15:00.000Z', 'Oct 21'],
  // Clocks go back: the day has 25 hours.
  ['Europe/Berlin', '2026-10-25T22:59:59.999Z', 'Oct 25', '2026-10-25T23:00:00.000Z', 'Oct 26'],
] as const)('the days of the overview are those of the shop in %s', async (given, { server, owner }) => {
  const [timeZone, last, day, first, next] = given
  await expectOk(owner('PATCH', '/settings', { timeZone }))
  const affiliateId = addAffiliate(server)
  addCommission(server, { affiliateId, happenedAt: last, orderSubtotalCents: 1100 })
  addCommission(server, { affiliateId, happenedAt: first, orderSubtotalCents: 2200 })
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const { text } = await page.open('/admin')
  const table = text.split('Clicks, orders and commission per day')[1]?.split('</table>')[0] ?? ''
  const rows = [...table.matchAll(/<tr\b[^>]*>([\s\S]*?)<\/tr>/g)].map(([, row = '']) => wordsOf(row).trim())
  expect(rows[0]).toContain(`Day (${timeZone})`)
  expect(rows).toHaveLength(31)
  expect(rows.find((row) => row.startsWith(`${day}, 2026`))).toContain('11.00 USD')
  expect(rows.find((row) => row.startsWith(`${next}, 2026`))).toContain('22.00 USD')
})
