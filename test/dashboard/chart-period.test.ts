// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { addAffiliate, addCommission } from '../payouts/rows.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { visitorOf, wordsOf } from './visitor.ts'

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
  const table = text.split('Clicks, orders, revenue, and commission per day')[1]?.split('</table>')[0] ?? ''
  const rows = [...table.matchAll(/<tr\b[^>]*>([\s\S]*?)<\/tr>/g)].map(([, row = '']) => wordsOf(row).trim())
  expect(rows[0]).toContain(`Day (${timeZone})`)
  expect(rows).toHaveLength(31)
  expect(rows.find((row) => row.startsWith(`${day}, 2026`))).toContain('11.00 USD')
  expect(rows.find((row) => row.startsWith(`${next}, 2026`))).toContain('22.00 USD')
})

test('the overview shows any period of days of the shop, compared with the same weekdays before', async ({
  server,
  owner,
}) => {
  await expectOk(owner('PATCH', '/settings', { timeZone: 'Asia/Tokyo' }))
  const affiliateId = addAffiliate(server)
  // Days of Tokyo begin at 15:00 UTC: the two days a week before, the day after them, the two days, and the day after.
  for (const [happenedAt, orderSubtotalCents] of [
    ['2026-10-10T15:00:00.000Z', 100],
    ['2026-10-12T14:59:59.999Z', 200],
    ['2026-10-12T15:00:00.000Z', 3200],
    ['2026-10-17T15:00:00.000Z', 1600],
    ['2026-10-19T14:59:59.999Z', 800],
    ['2026-10-19T15:00:00.000Z', 6400],
  ] as const)
    addCommission(server, { affiliateId, happenedAt, orderSubtotalCents })
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const open = async (query: string) => wordsOf((await page.open(`/admin?${query}`)).text)
  const two = await open('from=2026-10-18&to=2026-10-19')
  expect(two).toContain('Oct 18, 2026 – Oct 19, 2026 , compared with the same weekdays of Oct 11, 2026 – Oct 12, 2026')
  expect(two).toContain('Revenue 24.00 USD ▲ 700%')
  expect(two).toContain('Orders 2 no change')
  expect(await open('from=2026-10-19&to=2026-10-19')).toContain('compared with the same weekdays of Oct 12, 2026')
  expect(await open('from=2026-10-20')).toContain('Revenue 64.00 USD')
  expect(await open('from=2026-01-01&to=2026-01-31')).toContain('No activity in this period')
})

test.for([
  ['to=2026-10-19', 'From'],
  ['from=2026-02-30', 'From'],
  ['from=2026-10-19&to=soon', 'To'],
  ['from=2026-10-20&to=2026-10-19', 'To'],
  ['from=2026-10-20&to=2026-11-03', 'To'],
  ['from=2026-11-03', 'From'],
  ['from=2025-10-01&to=2026-10-19', '366 days'],
])('400 for the overview with %s names %s', async ([query, words], { server }) => {
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const { status, text } = await page.open(`/admin?${query}`)
  const problem = wordsOf(/<p [^>]*id="problem">(.*?)<\/p>/.exec(text)?.[1] ?? '')
  expect([status, problem]).toEqual([400, expect.stringContaining(words)])
  expect(text).not.toContain('class="charts"')
})
