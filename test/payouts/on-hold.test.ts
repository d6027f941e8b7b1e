import { expect } from 'vitest'
import { rejection } from '../support/rejection.ts'
import { withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, addDebt, OCTOBER } from './rows.ts'

const HAPPENED_AT = '2026-10-20T00:00:00.000Z'
const AVAILABLE_AT = '2026-11-19T00:00:00.000Z'
const AVAILABLE = Date.parse(AVAILABLE_AT)
const held = { happenedAt: HAPPENED_AT, availableAt: AVAILABLE_AT }

test('a batch leaves out what is on hold and counts it; from the instant on, a later batch takes it', async ({
  server,
  client,
}) => {
  const nisa = addAffiliate(server)
  server.clock.ms = AVAILABLE - 1
  addCommission(server, { affiliateId: nisa, ...held })
  addCommission(server, { affiliateId: nisa, ...held, availableAt: '2026-12-01T00:00:00.000Z' })
  expect(await rejection(client.payouts.create(OCTOBER))).toEqual([404, 'no_eligible_commissions'])
  addCommission(server, { affiliateId: nisa, commissionAmountCents: 300 })
  // A clock that is ahead is no hold, and a debt is never held.
  addCommission(server, {
    affiliateId: nisa,
    commissionAmountCents: 70,
    availableAt: HAPPENED_AT,
    happenedAt: HAPPENED_AT,
  })
  addDebt(server, nisa, 20)
  const onHold = { commissions: 2, commissionCents: 2000, nextAvailableAt: AVAILABLE_AT }
  const totals = { commissions: 3, commissionCents: 350 }
  expect(await client.payouts.preview(OCTOBER)).toMatchObject({ totals, onHold })
  const { reasons, affiliates } = await client.payouts.unpaid(OCTOBER)
  expect(reasons).toEqual([
    { reason: 'ON_HOLD', currency: 'USD', affiliates: 1, commissions: 2, netPayableCents: 2000 },
  ])
  expect(affiliates).toMatchObject([{ affiliateId: nisa, reason: 'ON_HOLD', availableAt: AVAILABLE_AT }])
  const balance = async () => (await client.affiliates.balance(nisa)).balances[0]
  expect(await balance()).toMatchObject({ approvedCents: 2350, onHoldCents: 2000 })
  const batch = await client.payouts.create(OCTOBER)
  expect(batch).toMatchObject({ totals, onHold })
  expect((await client.payouts.list({ id: batch.id })).data[0]).toMatchObject({ totals, onHold })

  server.clock.ms = AVAILABLE
  const next = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z', includeEarlier: true }
  expect(await client.payouts.create(next)).toMatchObject({
    totals: { commissions: 1, commissionCents: 1000 },
    onHold: { commissions: 1, commissionCents: 1000, nextAvailableAt: '2026-12-01T00:00:00.000Z' },
  })
  expect(await balance()).toMatchObject({ approvedCents: 1000, onHoldCents: 1000, batchedCents: 1350 })
})

test('the minimum of a batch and of an affiliate count what is available', async ({ server, client, owner }) => {
  const nisa = addAffiliate(server)
  server.clock.ms = AVAILABLE - 1
  addCommission(server, { affiliateId: nisa, ...held })
  addCommission(server, { affiliateId: nisa, commissionAmountCents: 300 })
  await owner('PATCH', '/settings', { minimumPayoutCents: 500 })
  expect(await rejection(client.payouts.create(OCTOBER))).toEqual([409, 'payout_below_threshold'])
  server.clock.ms = AVAILABLE
  expect(await client.payouts.create(OCTOBER)).toMatchObject({ totals: { commissionCents: 1300 } })
})

test('a refund inside the hold needs no debt, and an edit of the terms moves no recorded commission', async ({
  server,
  client,
}) => {
  const { program, affiliate } = await withAffiliate(server)
  await client.programs.setTerms(program.id, { holdDays: 30 })
  const order = (externalOrderId: string) =>
    client.events.conversion({ externalOrderId, amountCents: 10_000, couponCode: 'NISA16' })
  await order('o-1')
  await client.programs.setTerms(program.id, { holdDays: 0 })
  const period = { periodStart: '2026-01-01', periodEnd: '2027-12-31' }
  expect(await rejection(client.payouts.create(period))).toEqual([404, 'no_eligible_commissions'])
  await client.refunds.create({ externalOrderId: 'o-1', externalRefundId: 'r', amountCents: 2500 })
  const rows = (await client.commissions.list({ affiliateId: affiliate.id })).data
  expect(rows).toMatchObject([{ commissionAmountCents: 1200, orderStatus: 'APPROVED', trackingMethod: 'API' }])
  server.clock.advance(30 * 86_400_000)
  expect(await client.payouts.create(period)).toMatchObject({ totals: { commissionCents: 1200 } })
})
