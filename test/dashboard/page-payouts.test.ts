// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { linesOf, report, resultOf, sentBatch, sentOrder, setPayee } from '../payouts/payments.ts'
import { addAffiliate, addCommission, addDebt } from '../payouts/rows.ts'
import { updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { type Fields, noticeOf, visitorOf, wordsOf } from './visitor.ts'

const SEPTEMBER = '2026-09-15T12:00:00.000Z'
const PERIOD: Fields = [
  ['from', '2026-10-01'],
  ['until', '2026-10-31'],
]

test('a commission that is reversed after its payment was sent is in an open batch until it is settled', async ({
  server,
}) => {
  const { batchId } = await sentOrder(server)
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const words = async () => wordsOf((await visitor.open('/admin')).text)
  const open = '1 commission is in open batches and not paid yet: 16.00 USD after tax'
  expect(await words()).toContain(open)
  await expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId: '1' } }))
  expect(await words()).toContain(open)
  await report(server, [resultOf((await linesOf(server, batchId)).data[0], 'SETTLED')])
  expect(await words()).not.toContain('in open batches')
})

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
  const preview = async (...earlier: Fields) => {
    const query = new URLSearchParams([...PERIOD, ...earlier])
    const { text, status } = await visitor.open(`/admin/payouts/new?${query}`)
    expect(status).toBe(200)
    const [offer = '', unpaid = ''] = text.split('Not in this batch')
    const rows = [...unpaid.matchAll(/<tr\b[^>]*>([\s\S]*?)<\/tr>/g)].map(([, row = '']) => wordsOf(row).trim())
    return { button: /Create batch of [\d.,]+ USD/.exec(wordsOf(offer))?.[0], field: hidden(text), rows }
  }
  const hidden = (text: string) => /type="hidden" name="includeEarlier" value="(\w*)"/.exec(text)?.[1]
  const why = (rows: string[], name: string) => rows.find((row) => row.startsWith(name))

  const all = await preview(['includeEarlier', '1'])
  expect([all.button, all.field]).toEqual(['Create batch of 26.00 USD', '1'])
  expect(why(all.rows, 'Sam')).toContain('Below the minimum of 5.00 USD')
  expect(why(all.rows, 'Sam')).toContain('4.99 USD')
  expect(why(all.rows, 'Rita')).toContain('Archived or rejected')
  expect([why(all.rows, 'Nisa'), why(all.rows, 'Omar')]).toEqual([undefined, undefined])

  const only = await preview()
  expect([only.button, only.field]).toEqual(['Create batch of 10.00 USD', ''])
  for (const [name, amount] of [
    ['Nisa', '7.00 USD'],
    ['Omar', '9.00 USD'],
  ] as const) {
    expect(why(only.rows, name)).toContain('Approved after its month was paid')
    expect(why(only.rows, name)).toContain(amount)
  }

  const sent = await visitor.submit('/admin/payouts', [...PERIOD, ['currency', 'USD'], ['includeEarlier', '']])
  expect(sent.status).toBe(303)
  const [batch] = (await server.client.payouts.list()).data
  expect(batch).toMatchObject({ includeEarlier: false, totals: { netPayableCents: 1000 } })
  await visitor.submit('/admin/payouts', [...PERIOD, ['currency', 'USD'], ['includeEarlier', '1']])
  const [rest] = (await server.client.payouts.list()).data
  expect(rest).toMatchObject({ includeEarlier: true, totals: { netPayableCents: 1600 } })
})

test('unbatched balances are grouped by payability, each with its affiliates', async ({ server, owner }) => {
  await expectOk(owner('PATCH', '/settings', { minimumAffiliatePayoutCentsByCurrency: { USD: 500 } }))
  const [paid, unpayable, small, rejected, debtor] = ['Paula', 'Bert', 'Sam', 'Rita', 'Dora'].map((name) =>
    addAffiliate(server, { name }),
  ) as [string, string, string, string, string]
  await setPayee(server, paid)
  addCommission(server, { affiliateId: paid, commissionAmountCents: 3300 })
  const batch = await server.client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31' })
  addCommission(server, { affiliateId: paid, commissionAmountCents: 1000, taxWithheldCents: 150 })
  addCommission(server, { affiliateId: paid, commissionAmountCents: 700 })
  addCommission(server, { affiliateId: unpayable, commissionAmountCents: 2000 })
  addCommission(server, { affiliateId: small, commissionAmountCents: 499 })
  addCommission(server, { affiliateId: rejected, commissionAmountCents: 800 })
  addCommission(server, { affiliateId: unpayable, commissionAmountCents: 600, currency: 'EUR' })
  updateRows(server, 'affiliates', { status: 'REJECTED' }, { id: rejected })
  addDebt(server, debtor, 300)
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const { text } = await visitor.open('/admin/payouts')
  expect(wordsOf(text)).toContain(
    'USD 15.50 USD 1 affiliate 20.00 USD 1 affiliate 4.99 USD 1 affiliate −3.00 USD 1 affiliate 8.00 USD 1 affiliate 45.49 USD 6 commissions',
  )
  expect(wordsOf(text)).toContain('1 more commission is in open batches and not paid yet: 33.00 USD')
  addCommission(server, { affiliateId: paid, orderStatus: 'PENDING', commissionAmountCents: 1234 })
  addCommission(server, { affiliateId: paid, orderStatus: 'PENDING', commissionAmountCents: 100, currency: 'EUR' })
  const overview = wordsOf((await visitor.open('/admin')).text)
  for (const line of [
    '2 commissions await approval: 1.00 EUR, 12.34 USD',
    '7 approved commissions are not in a batch: 6.00 EUR, 45.49 USD after tax',
    '1 commission is in open batches and not paid yet: 33.00 USD after tax',
  ])
    expect(overview).toContain(line)
  const archiving = wordsOf((await visitor.open(`/admin/affiliates/${paid}/archive`)).text)
  expect(archiving).toContain('held back: 1.00 EUR, 29.34 USD before tax')
  expect(archiving).toContain('still paid: 33.00 USD before tax')
  expect(batch.totals.netPayableCents).toBe(3300)
  const links = [...text.matchAll(/href="(\/admin\/payouts\/waiting\?currency=USD[^"]*)"/g)].map(([, to = '']) =>
    to.replace('&amp;', '&'),
  )
  const namesOn = async (path: string) => {
    const listed = await visitor.open(path)
    expect(listed.status).toBe(200)
    return [...listed.text.matchAll(/\/admin\/affiliates\/aff_\w+">(?:<bdi[^>]*>)?(\w+)/g)].map(([, name]) => name)
  }
  expect(await Promise.all(links.map(namesOn))).toEqual([['Paula'], ['Bert'], ['Sam'], ['Dora'], ['Rita']])
  const euros = wordsOf((await visitor.open('/admin/payouts/waiting?currency=EUR&why=BLOCKED')).text)
  expect(euros).toMatch(/Bert .*6\.00 EUR 1 No payee details Enter details/)
  expect(wordsOf((await visitor.open('/admin/payouts/waiting?currency=USD&why=BELOW_MINIMUM')).text)).toContain(
    'the minimum per affiliate: 5.00 USD',
  )
})

test('a new batch offers the currencies that wait with their sums, and its preview begins with whom it pays', async ({
  server,
  owner,
}) => {
  await expectOk(owner('PATCH', '/settings', { minimumAffiliatePayoutCentsByCurrency: { EUR: 500 } }))
  const [paid, unpayable, small] = ['Paula', 'Bert', 'Sam'].map((name) => addAffiliate(server, { name })) as [
    string,
    string,
    string,
  ]
  await setPayee(server, paid)
  for (const [affiliateId, commissionAmountCents] of [
    [paid, 1000],
    [unpayable, 2000],
    [small, 499],
  ] as const)
    addCommission(server, { affiliateId, commissionAmountCents, currency: 'EUR' })
  addCommission(server, { affiliateId: paid, commissionAmountCents: 700, currency: 'CHF' })
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const { text } = await visitor.open('/admin/payouts/new?from=2026-10-01&until=2026-10-31&currency=EUR')
  const choice = /<select id="currency"[^>]*>([\s\S]*?)<\/select>/.exec(text)?.[1] ?? ''
  expect([...choice.matchAll(/value="(\w+)"( selected)?>([^<]*)/g)].map(([, ...one]) => one)).toEqual([
    ['CHF', undefined, 'CHF (7.00 CHF awaiting payout)'],
    ['EUR', ' selected', 'EUR (30.00 EUR awaiting payout)'],
  ])
  const words = wordsOf(text)
  expect(words).toMatch(
    /To pay 30\.00 EUR .*Create batch of 30\.00 EUR .*In this batch 1 payment \(20\.00 EUR\) cannot be sent .*Bert .*20\.00 EUR 1 No payee details .*Paula .*10\.00 EUR 1 PayPal .*Not in this batch: 1 balance of 4\.99 EUR .*Sam/,
  )
  expect(text).not.toContain('<details class="numbers" open')
  const first = wordsOf((await visitor.open('/admin/payouts/new?from=2026-10-01&until=2026-10-31')).text)
  expect(first).toContain('Create batch of 7.00 CHF')
})

test('the total to type excludes a returned payment', async ({ server }) => {
  const { id, lines } = await sentBatch(server, 2)
  await report(server, [resultOf(lines[0], 'RETURNED')])
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const words = wordsOf((await visitor.open(`/admin/payouts/${id}`)).text)
  expect(words).toContain('Type the total to pay, 10.00 USD Not including 10.00 USD that was returned')
  expect(wordsOf((await visitor.open(`/admin/payouts/${id}/cancel`)).text)).toContain('(10.00 USD)')
  const pay = (total: string) => visitor.submit(`/admin/payouts/${id}/pay`, [['total', total]])
  expect((await pay('20.00')).status).toBe(409)
  expect(noticeOf(await visitor.open((await pay('10.00')).headers.get('location') ?? ''))).toContain('marked as paid')
})

test('a wrong total of a batch in another currency is shown in that currency', async ({ server }) => {
  addCommission(server, { affiliateId: addAffiliate(server), currency: 'EUR' })
  const visitor = visitorOf(server)
  await visitor.signIn(server.shop.ownerToken)
  const { headers } = await visitor.submit('/admin/payouts', [...PERIOD, ['currency', 'EUR']])
  const page = await visitor.submit(`${headers.get('location')}/pay`, [['total', '1.00']])
  expect([page.status, noticeOf(page)]).toEqual([409, expect.stringMatching(/[\d.]+ EUR.* 1\.00 EUR/)])
})
