// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeOf, openPageShop, type PageShop } from './fixture.ts'
import { type Fields, noticeOf, wordsOf } from './visitor.ts'

let shop: PageShop
let owner: PageShop['owner']
let order: PageShop['order']
let done: PageShop['done']
let words: PageShop['words']
let api: PageShop['api']
beforeAll(async () => {
  shop = await openPageShop()
  ;({ owner, order, done, words, api } = shop)
})
afterAll(() => shop.server.close())

test('programs are created and edited, with product rates and places, and compared with other terms', async () => {
  const fields = (more: Fields): Fields => [
    ['commissionType', 'PERCENT_OF_SALE'],
    ['cookieDurationDays', '30'],
    ['status', 'PUBLISH'],
    ...more,
  ]
  const wrong = await owner.submit(
    '/admin/programs/new',
    fields([
      ['name', 'X'],
      ['commissionPercent', 'ten'],
    ]),
  )
  expect([...codeOf(wrong), noticeOf(wrong)]).toEqual([400, 'invalid_body', expect.stringMatching(/^Rate must/)])
  const { to } = await done(
    '/programs/new',
    fields([
      ['name', 'Creators'],
      ['commissionPercent', '12.5'],
    ]),
  )
  const path = to.replace('/admin', '')
  await done(
    `${path}/edit`,
    fields([
      ['name', 'Creators'],
      ['commissionPercent', '14'],
      ['discountType', 'PERCENT'],
      ['discountValue', '10'],
      ['discountEnabled', '1'],
    ]),
  )
  await done(`${path}/rules`, [
    ['kind', 'product'],
    ['value', '77'],
    ['commissionType', 'FLAT_PER_ITEM'],
    ['commissionPercent', '2.5'],
  ])
  await done(`${path}/places`, [
    ['countries', 'US\nDE'],
    ['states', ''],
    ['cities', ''],
    ['postalPrefixes', ''],
  ])
  const shown = await words(path)
  for (const text of ['14% of goods', '2.50 USD per item', 'US, DE', '10%']) expect(shown).toContain(text)
  await done(`${path}/places`, [['countries', '']])
  expect(await words(path)).toContain('Orders from anywhere earn a commission')
  const [{ campaignId }] = await api(`/affiliates?id=${shop.affiliateId}`)
  await order()
  const first = await owner.open(`/admin/programs/${campaignId}/backtest`)
  expect(wordsOf(first.text)).toMatch(
    /With the current terms Orders from \w+ \d+, \d+\. Orders compared 1 Orders affected 0 .* All affiliates 16\.00 USD 16\.00 USD/,
  )
  const presets = [...first.text.matchAll(/<a href="([^"]+backtest[^"]*)"( aria-current="true")?>([^<]+)</g)]
  expect(presets.map(([, , isCurrent, text]) => [text, Boolean(isCurrent)])).toEqual([
    ['Current terms', true],
    ['18%', false],
    ['14%', false],
    ['60 days', false],
    ['90 days', false],
  ])
  const higher = await owner.open(presets[1]![1]!.replaceAll('&amp;', '&'))
  expect(wordsOf(higher.text)).toMatch(
    /With different terms .*Orders affected 1 Difference in USD \+2\.00 USD .* All affiliates 16\.00 USD 18\.00 USD .*Largest differences in USD .* 16\.00 USD 18\.00 USD/,
  )
  expect(higher.text).toContain('aria-current="true">18%<')
  const compared = await words(
    `/programs/${campaignId}/backtest?commissionType=PERCENT_OF_SALE&commissionPercent=32&cookieDurationDays=30&from=2026-01-01`,
  )
  expect(compared).toMatch(/Orders compared \d+/)
  expect(compared).toMatch(/\+[\d.]+ USD/)
  const once = await words(`/programs/${campaignId}/backtest?promise=order&commissionPercent=16&from=2026-01-01`)
  expect(once).toMatch(/With different terms .*Orders compared \d+ Orders affected 0/)
})

test('programs and coupons are listed with orders, revenue, and commission of all time', async () => {
  await order({ amountCents: 20_000 })
  await order({ amountCents: 1_000, currency: 'EUR' })
  const [{ campaignId, discountCode }] = await api(`/affiliates?id=${shop.affiliateId}`)
  const earned = '3 300.00 USD 10.00 EUR 48.00 USD 1.60 EUR'
  expect(await words('/programs')).toContain(`1 manual ${earned}`)
  expect(await words('/programs')).toMatch(/14% of goods 30 days 0 manual 0 0\.00 USD 0\.00 USD/)
  expect(await words(`/programs/${campaignId}`)).toContain(
    'All time Orders 3 Revenue 300.00 USD 10.00 EUR Commission 48.00 USD 1.60 EUR Paid 0.00 USD',
  )
  const coupons = await words('/coupons')
  expect(coupons).toContain(earned)
  // Columns that would be empty are left out.
  expect(coupons).not.toMatch(/Discount|Notes/)
  await owner.submit(`/admin/programs/${campaignId}/edit`, [
    ['name', 'P'],
    ['commissionType', 'PERCENT_OF_SALE'],
    ['commissionPercent', '16'],
    ['cookieDurationDays', '30'],
    ['status', 'PUBLISH'],
    ['discountEnabled', '1'],
    ['discountType', 'PERCENT'],
    ['discountValue', '15'],
  ])
  expect(await words(`/coupons?code=${discountCode}`)).toMatch(/Discount .*1\.60 EUR 15%/)
})

test('terms are made from presets, and read in one sentence', async () => {
  const [{ discountCode }] = await api(`/affiliates?id=${shop.affiliateId}`)
  const { id: programId } = await api('/programs').then(([one]) => one)
  const path = `/programs/${programId}/terms`
  const offered = (await words(path)).replaceAll('&#39;', "'")
  expect(offered).toContain("First year only Pays 14% for 12 months from a customer's first order, then nothing.")
  expect(offered).toContain('Personal rate Pays 10% to 1 named affiliate; otherwise 14%.')
  const version = async () => /Version (\d+)/.exec(await words(path))![1]!
  const add = async (preset: string, more: Fields) =>
    done(`${path}/rules`, [['preset', preset], ['version', await version()], ...more])
  await add('step', [
    ['number', '12'],
    ['commissionPercent', '7'],
  ])
  await add('months', [['number', '24']])
  await add('tier', [
    ['number', '10'],
    ['commissionPercent', '20'],
  ])
  await add('personal', [
    ['affiliate', discountCode],
    ['commissionPercent', '25'],
  ])
  await done(path, [
    ['version', await version()],
    ['holdDays', '30'],
    ['appliesTo', 'CUSTOMERS'],
  ])
  const shown = (await words(path)).replaceAll('&#39;', "'")
  expect(shown).toMatch(
    /1 25% to 1 named affiliate .*2 nothing from 24 months after a customer's first order on .*3 7% from 12 months after a customer's first order on .*4 20% once an affiliate has 10 orders in the month/,
  )
  expect(shown).toContain('each customer keeps the terms of the first order; payable after 30 days.')
  expect(shown).toContain('A renewal without a code or link is credited only if its customer is bound.')
  const stale = await owner.submit(`/admin${path}/rules/0/delete`, [['version', '1']])
  expect(codeOf(stale)).toEqual([409, 'concurrent_change'])
  for (let left = 4; left > 0; left--) await done(`${path}/rules/0/delete`, [['version', await version()]])
  expect(await words(path)).toContain('No rules. All orders earn the program’s rate.')
  await add('tier', [
    ['number', '10'],
    ['commissionPercent', '20'],
  ])
  await add('personal', [
    ['affiliate', discountCode],
    ['commissionPercent', '25'],
    ['number', '12'],
  ])
  await add('months', [['number', '12']])
  expect((await words(path)).replaceAll('&#39;', "'")).toContain(
    "Pays 25% to 1 named affiliate, for 12 months from a customer's first order; nothing from 12 months after a customer's first order on; 20% once an affiliate has 10 orders in the month; otherwise 14%",
  )
  const unknown = await owner.submit(`/admin${path}/rules`, [
    ['preset', 'personal'],
    ['version', await version()],
    ['affiliate', 'nobody@example.com'],
    ['commissionPercent', '25'],
  ])
  expect(codeOf(unknown)).toEqual([404, 'affiliate_not_found'])
})
