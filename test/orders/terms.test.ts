import { expect } from 'vitest'
import { auditLog } from '../support/inspect.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let program: { id: string; createdAt: string }
let nisa: { id: string }
test.beforeAll(async ({ server, owner }) => {
  const found = await withAffiliate(server, { code: 'NISA' })
  program = found.program
  nisa = found.affiliate
  await newAffiliate(server, { code: 'THER', campaignId: program.id })
  await owner('PATCH', '/settings', { timeZone: 'America/New_York' })
})

let orders = 0
async function report(client: Client, more: object = {}) {
  const externalOrderId = `t-${++orders}`
  const { commission } = await client.events.conversion({
    externalOrderId,
    amountCents: 10_000,
    couponCode: 'NISA',
    ...more,
  })
  const { data } = await client.commissions.list({ externalOrderId })
  return { ...commission, row: data[0]!, externalOrderId }
}

test('a version has a summary, and an audit record', async ({ server, client }) => {
  const first = await client.programs.terms(program.id)
  expect([first.summary, first.createdAt]).toEqual(['Pays 16%.', program.createdAt])
  server.clock.advance(1000)
  const audits = auditLog(server)
  const rules = [{ when: { affiliateIds: [nisa.id] }, commissionPercent: 25.5, maxCommissionCents: 2000 }]
  const next = await client.programs.setTerms(program.id, { version: 1, holdDays: 30, rules })
  expect(next).toEqual({
    version: 2,
    holdDays: 30,
    appliesTo: 'ORDERS',
    rules,
    summary: 'Pays 25.5% (at most 20.00 USD an order) to 1 named affiliate; otherwise 16%; payable after 30 days.',
    createdAt: new Date(server.clock.ms).toISOString(),
  })
  await client.programs.setTerms(program.id, { version: 1, holdDays: 30, rules })
  expect(audits()).toMatchObject([
    { action: 'program.terms_set', subjectId: program.id, data: { version: 2, holdDays: 30, rules } },
  ])
})

test('a rule that pays nothing; explanation, dry run and replay tell the rule', async ({ server, client, owner }) => {
  server.clock.advance(1000)
  await client.programs.setTerms(program.id, {
    rules: [
      { when: { orderSubtotalCents: { from: 50_000 } }, commissionPercent: 30 },
      { when: { customerOrder: { to: 1 } }, commissionPercent: null },
    ],
  })
  const { row, externalOrderId } = await report(client)
  expect(row).toMatchObject({
    orderStatus: 'REJECTED',
    restrictionReasonCode: 'TERMS_NOT_MET',
    termsRule: 1,
    commissionAmountCents: 0,
  })
  const { body } = await owner('GET', `/orders/${externalOrderId}/explanation`)
  expect(body.data).toMatchObject({
    replay: { identical: true },
    decision: { terms: { version: 3, rule: 1 } },
    terms: [
      "Version 3 of the program's terms counts: it was in force at the order.",
      'Rule 1 does not match: the order is worth 100.00 USD, and it is for 500.00 USD or more.',
      "Rule 2 matches and pays nothing on a customer's first order.",
    ],
  })
  const order = { externalOrderId: 'dry', amountCents: 60_000, couponCode: 'NISA' }
  const dry = await client.events.conversion(order, { dryRun: true } as never)
  expect(dry).toMatchObject({ commission: { amountCents: 18_000 } })
})

test('tiers count credited orders before this one, in the local month or ever', async ({ server, client }) => {
  // 31 October in New York.
  server.clock.ms = Date.parse('2026-11-01T03:00:00Z')
  await client.programs.setTerms(program.id, {
    rules: [
      { when: { affiliateOrders: { from: 2, period: 'MONTH' } }, commissionPercent: 40 },
      { when: { affiliateRevenueCents: { from: 25_000, period: 'ALL_TIME' } }, commissionPercent: 20 },
    ],
  })
  const affiliate = await newAffiliate(server, { code: 'TIER', campaignId: program.id })
  const pays = async (occurredAt: string, more: object = {}) => {
    const { amountCents } = await report(client, { couponCode: 'TIER', occurredAt, ...more })
    server.clock.advance(60_000)
    return amountCents
  }
  server.clock.ms = Date.parse('2026-11-30T00:00:00Z')
  expect(await pays('2026-11-01T03:10:00Z')).toBe(1600)
  expect(await pays('2026-11-01T03:20:00Z', { currency: 'EUR' })).toBe(1600)
  // The third of the month, and one of the next month in New York.
  expect(await pays('2026-11-01T03:30:00Z')).toBe(4000)
  expect(await pays('2026-11-01T04:30:00Z')).toBe(1600)
  // Three orders of 100.00 USD ever; the one in EUR does not count.
  expect(await pays('2026-11-01T04:40:00Z')).toBe(2000)
  // A late order counts what happened before it.
  expect(await pays('2026-11-01T03:15:00Z')).toBe(1600)
  const { data } = await client.commissions.list({ affiliateId: affiliate.id })
  expect(data.map(({ termsRule }) => termsRule)).toEqual([1, null, 0, null, null, null])
})

test('an explanation names the cap in the currency that it was set in', async ({ server, client, owner }) => {
  await client.programs.setTerms(program.id, { rules: [] })
  const { id } = await client.programs.create({ name: 'Capped', commissionPercent: 20, autoApproveOrder: true })
  await newAffiliate(server, { code: 'CAP', campaignId: id })
  const currency = async (name: string) => expectOk(owner('PATCH', '/settings', { currency: name }))
  await currency('EUR')
  await client.programs.setTerms(id, { rules: [{ when: {}, commissionPercent: 20, maxCommissionCents: 500 }] })
  const occurredAt = new Date(server.clock.ms).toISOString()
  server.clock.advance(1000)
  await client.programs.setTerms(id, { rules: [] })
  await currency('USD')
  const commission = await report(client, { couponCode: 'CAP', occurredAt, currency: 'EUR' })
  const { terms } = await expectOk(owner('GET', `/orders/${commission.externalOrderId}/explanation`))
  expect([commission.amountCents, terms.at(-1)]).toEqual([
    500,
    'Rule 1 matches and pays 20% (at most 5.00 EUR an order).',
  ])
})

test('amounts of rules keep the currency of their program', async ({ client, owner }) => {
  const setRules = (maxCommissionCents?: number) =>
    client.programs.setTerms(program.id, {
      rules: maxCommissionCents ? [{ when: {}, commissionPercent: 20, maxCommissionCents }] : [],
    })
  const currency = async () => (await owner('PATCH', '/settings', { currency: 'EUR' })).headers.get('X-Error-Code')
  await setRules(1)
  expect(await currency()).toBe('currency_in_use')
  await setRules()
  expect(await currency()).toBeNull()
})
