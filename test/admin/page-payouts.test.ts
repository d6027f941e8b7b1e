// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { addAffiliate, addCommission, addDebt } from '../payouts/rows.ts'
import { updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { type Fields, noticeOf, visitorOf, wordsOf } from './page-fixture.ts'

const SEPTEMBER = '2026-09-15T12:00:00.000Z'
const PERIOD: Fields = [
  ['from', '2026-10-01'],
  ['until', '2026-10-31'],
]

test('a batch includes earlier commissions or not, and the page names who waits and why', async ({ server, owner }) => {
  await expectOk(owner('PATCH', '/settings', { minimumAffiliatePayoutCentsByCurrency: { USD: 500 } }))
  const [nisa, omar, small, rejected, debtor] = ['Nisa', 'Omar', 'Sam', 'Rita', 'Dora'].map((name) =>
    addAffiliate(server, { name }),
  ) as [string, string, string, string, string]
  addCommission(server, { affiliateId: nisa })
  addCommission(server, { affiliateId: nisa, happenedAt: SEPTEMBER, commissionAmountCents: 700 })
  addCommission(server, { affiliateId: omar, happenedAt: SEPTEMBER, commissionAmountCents: 900 })
  addCommission(server, { affiliateId: small, commissionAmountCents: 499 })
  addCommission(server, { affiliateId: rejected, commissionAmountCents: 800 })
  updateRows(server, 'affiliates', { status: 'REJECTED' }, { id: rejected })
  addDebt(server, debtor, 300)
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const preview = async (earlier: string) => {
    const query = new URLSearchParams([...PERIOD, ['earlier', earlier]])
    const { text, status } = await visitor.open(`/admin/payouts/new?${query}`)
    expect(status).toBe(200)
    const [offer = '', unpaid = ''] = text.split('Not in this batch')
    const rows = [...unpaid.matchAll(/<tr\b[^>]*>([\s\S]*?)<\/tr>/g)].map(([, row = '']) => wordsOf(row).trim())
    return { button: /Create batch of [\d.,]+ USD/.exec(wordsOf(offer))?.[0], field: hidden(text), rows }
  }
  const hidden = (text: string) => /name="earlier" value="(\w+)"/.exec(text)?.[1]
  const why = (rows: string[], name: string) => rows.find((row) => row.startsWith(name))

  const all = await preview('include')
  expect([all.button, all.field]).toEqual(['Create batch of 26.00 USD', 'include'])
  expect(why(all.rows, 'Sam')).toContain('Below the minimum of 5.00 USD')
  expect(why(all.rows, 'Sam')).toContain('4.99 USD')
  expect(why(all.rows, 'Rita')).toContain('Archived or rejected')
  expect([why(all.rows, 'Nisa'), why(all.rows, 'Omar')]).toEqual([undefined, undefined])

  const only = await preview('exclude')
  expect([only.button, only.field]).toEqual(['Create batch of 10.00 USD', 'exclude'])
  for (const [name, amount] of [
    ['Nisa', '7.00 USD'],
    ['Omar', '9.00 USD'],
  ] as const) {
    expect(why(only.rows, name)).toContain('Approved after its month was paid')
    expect(why(only.rows, name)).toContain(amount)
  }

  const sent = await visitor.submit('/admin/payouts', [...PERIOD, ['currency', 'USD'], ['earlier', 'exclude']])
  expect(sent.status).toBe(303)
  const [batch] = (await server.client.payouts.list()).data
  expect(batch).toMatchObject({ includeEarlier: false, totals: { netPayableCents: 1000 } })
  await visitor.submit('/admin/payouts', [...PERIOD, ['currency', 'USD']])
  const [rest] = (await server.client.payouts.list()).data
  expect(rest).toMatchObject({ includeEarlier: true, totals: { netPayableCents: 1600 } })
})

test('a wrong total of a batch in another currency is shown in that currency', async ({ server }) => {
  addCommission(server, { affiliateId: addAffiliate(server), currency: 'EUR' })
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const { headers } = await visitor.submit('/admin/payouts', [...PERIOD, ['currency', 'EUR']])
  const page = await visitor.submit(`${headers.get('location')}/pay`, [['total', '1.00']])
  expect([page.status, noticeOf(page)]).toEqual([
    409,
    expect.stringMatching(/pays [\d.]+ EUR, not the expected 1\.00 EUR/),
  ])
})
