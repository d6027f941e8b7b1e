import { describe, expect } from 'vitest'
import { addMany } from '../support/many-commissions.ts'
import { rejection } from '../support/rejection.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, addDebt, OCTOBER } from './rows.ts'

const SEPTEMBER = '2026-09-15T12:00:00.000Z'
const MINIMUM = { minimumAffiliatePayoutCentsByCurrency: { USD: 2500 } }

let nisa: string
let omar: string

test.beforeEach(({ server }) => {
  nisa = addAffiliate(server, { name: 'Nisa' })
  omar = addAffiliate(server, { name: 'Omar' })
})

describe('includeEarlier', () => {
  test('a large batch contains late approvals, too', async ({ server, client }) => {
    addMany(server, 560, 100)
    const before = await client.payouts.preview(OCTOBER)
    addCommission(server, { affiliateId: nisa, happenedAt: SEPTEMBER })
    const batch = await client.payouts.create({ ...OCTOBER, includeEarlier: true })
    expect(batch.totals.commissions).toBe(before.totals.commissions + 1)
    expect((await client.payouts.create({ ...OCTOBER, includeEarlier: true }).safe()).error?.code).toBe(
      'no_eligible_commissions',
    )
  })
})

describe('the minimum of an affiliate', () => {
  test('the net amount counts, a debt is carried as before, and other currencies have no minimum', async ({
    server,
    client,
    owner,
  }) => {
    await expectOk(owner('PATCH', '/settings', MINIMUM))
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 2600, taxWithheldCents: 200 })
    addDebt(server, omar, 300)
    const sara = addAffiliate(server)
    addCommission(server, { affiliateId: sara, commissionAmountCents: 5000 })
    const batch = await client.payouts.create({ ...OCTOBER, includeEarlier: true })
    expect(batch.totals).toMatchObject({ affiliates: 2, netPayableCents: 5000 })
    addCommission(server, { affiliateId: sara, commissionAmountCents: 1, currency: 'EUR' })
    const euro = await client.payouts.create({ ...OCTOBER, currency: 'EUR' })
    expect(euro.totals.netPayableCents).toBe(1)
  })

  test('a currency in which everybody is below the minimum does not mix currencies', async ({
    server,
    client,
    owner,
  }) => {
    await expectOk(owner('PATCH', '/settings', MINIMUM))
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 100 })
    addCommission(server, { affiliateId: omar, commissionAmountCents: 100, currency: 'EUR' })
    expect((await client.payouts.create(OCTOBER)).currency).toBe('EUR')
    expect(await rejection(client.payouts.create(OCTOBER))).toEqual([409, 'payout_below_threshold'])
  })

  test('a large batch leaves small balances out', async ({ server, client, owner }) => {
    addMany(server, 560, 100)
    const before = await client.payouts.preview(OCTOBER)
    await expectOk(owner('PATCH', '/settings', MINIMUM))
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 2499 })
    const preview = await client.payouts.preview(OCTOBER)
    const batch = await client.payouts.create(OCTOBER)
    expect(batch.totals).toEqual(preview.totals)
    expect(batch.totals.commissions).toBeLessThanOrEqual(before.totals.commissions)
    const lines = (await client.payouts.get(batch.id, { include: 'lines' })).lines ?? []
    expect(lines.some(({ affiliateId }) => affiliateId === nisa)).toBe(false)
    expect(lines.filter(({ netPayableCents }) => netPayableCents > 0 && netPayableCents < 2500)).toEqual([])
  })
})

describe('unpaid balances', () => {
  const reasonsOf = async (client: Client, query: object) => {
    const { affiliates, reasons, truncated } = await client.payouts.unpaid({ ...OCTOBER, ...query })
    expect(truncated).toBe(false)
    const sums = Object.fromEntries(reasons.map((one) => [one.reason, one.netPayableCents]))
    for (const reason of Object.keys(sums)) {
      const named = affiliates.filter((one) => one.reason === reason)
      expect(named.reduce((sum, one) => sum + one.netPayableCents, 0)).toBe(sums[reason])
    }
    return sums
  }

  test('names what a batch does not pay, and why, before and after it', async ({ server, client, owner }) => {
    await expectOk(owner('PATCH', '/settings', MINIMUM))
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 3000 })
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 500, happenedAt: SEPTEMBER })
    addCommission(server, { affiliateId: omar, commissionAmountCents: 2400 })
    const [sara, kim] = [addAffiliate(server), addAffiliate(server, { status: 'REJECTED' })]
    addDebt(server, sara, 700)
    addCommission(server, { affiliateId: kim, commissionAmountCents: 900 })
    const late = { LATE: 500, BELOW_MINIMUM: 2400, DEBT: -700, HELD_BACK: 900 }
    expect(await reasonsOf(client, {})).toEqual(late)
    await client.payouts.create(OCTOBER)
    expect(await reasonsOf(client, {})).toEqual(late)
    const { LATE, ...rest } = late
    expect(LATE).toBe(500)
    // 5.00 alone is below the minimum.
    expect(await reasonsOf(client, { includeEarlier: '1' })).toEqual({ ...rest, BELOW_MINIMUM: 2900 })
    expect(await reasonsOf(client, { affiliateId: omar })).toEqual({ BELOW_MINIMUM: 2400 })
    const [first] = (await client.payouts.unpaid({ ...OCTOBER, affiliateId: omar })).affiliates
    expect(first).toMatchObject({ name: 'Omar', minimumCents: 2500, commissions: 1 })
  })
})
