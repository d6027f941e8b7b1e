import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  carryDebts,
  currenciesOf,
  heldBackTotals,
  type PayoutRow,
  payoutLines,
  payoutTotals,
  resolveMinimumPayout,
} from '../../server/src/engine/payout.ts'

const PERIOD_END = '2026-10-31T23:59:59.999Z'

function row(affiliateId: string, commissionAmountCents: number, taxWithheldCents = 0, currency = 'USD'): PayoutRow {
  return { affiliateId, currency, commissionAmountCents, taxWithheldCents }
}

describe('sums', () => {
  const rows = [row('B', 1440, 144), row('A', 500, 50), row('B', -480, -48)]

  test('totals', () => {
    expect(payoutTotals(rows)).toEqual({
      commissions: 3,
      affiliates: 2,
      commissionCents: 1460,
      taxWithheldCents: 146,
      netPayableCents: 1314,
    })
    expect(payoutTotals([])).toEqual({
      commissions: 0,
      affiliates: 0,
      commissionCents: 0,
      taxWithheldCents: 0,
      netPayableCents: 0,
    })
  })

  test('lines are sorted by affiliate id', () => {
    expect(payoutLines(rows)).toEqual([
      { affiliateId: 'A', commissions: 1, commissionCents: 500, taxWithheldCents: 50, netPayableCents: 450 },
      { affiliateId: 'B', commissions: 2, commissionCents: 960, taxWithheldCents: 96, netPayableCents: 864 },
    ])
  })

  test('lines are sorted by affiliate id, whatever their input order', () => {
    const ids = (order: string) =>
      payoutLines([...order].map((id) => row(id, 1)))!.map(({ affiliateId }) => affiliateId)
    for (const order of ['BCA', 'CAB', 'ABC', 'DBACE']) expect(ids(order)).toEqual([...order].sort())
  })

  test('aggregated rows count as many rows as they contain', () => {
    const subtotals = [
      { ...row('B', 960, 96), commissions: 2 },
      { ...row('A', 500, 50), commissions: 1 },
    ]
    expect(payoutTotals(subtotals)).toEqual(payoutTotals(rows))
    expect(payoutLines(subtotals)).toEqual(payoutLines(rows))
    expect(heldBackTotals(subtotals)).toEqual(heldBackTotals(rows))
  })

  test('held back', () => {
    expect(heldBackTotals(rows)).toEqual({ commissions: 3, commissionCents: 1460 })
  })

  test('currencies', () => {
    expect(currenciesOf([])).toEqual([])
    expect(currenciesOf(rows)).toEqual(['USD'])
    expect(currenciesOf([...rows, row('A', 1, 0, 'EUR'), row('A', 1, 0, 'EUR')])).toEqual(['EUR', 'USD'])
  })
})

describe('the minimum payout', () => {
  const settings = (
    minimumPayoutCents: number | null,
    defaultMinimumPayoutCents: number | null,
    legacyMinimumPayout: number | null,
    digits = 2,
  ) => resolveMinimumPayout({ minimumPayoutCents, defaultMinimumPayoutCents, legacyMinimumPayout, digits })

  test.each([
    [2500, 2500, 0],
    [25_500, 25.5, 3],
  ])('%i with the legacy setting %j in a currency of %i decimals', (minimumPayoutCents, legacy, digits) => {
    expect(settings(minimumPayoutCents, null, legacy, digits)).toEqual({ ok: true, minimumPayoutCents })
  })

  test.each([
    [2500, 1000, null, 2500],
    [0, 1000, null, 0],
    [null, 1000, null, 1000],
    [null, null, null, 0],
    [2500, 1000, 25, 2500],
    [2550, null, 25.5, 2550],
    [1001, null, 10.01, 1001],
    [null, 1000, 10, 1000],
    [null, null, 0, 0],
  ])(
    'the minimum of the shop %j, server %j, and legacy setting %j is %i',
    (shop, server, legacy, minimumPayoutCents) => {
      expect(settings(shop, server, legacy)).toEqual({ ok: true, minimumPayoutCents })
    },
  )

  test.each([
    [2500, null, 50],
    [2500, null, 25.01],
    [2500, null, 25.001],
    [2500, null, 2500],
    [null, null, 25],
    [null, 1000, 25],
    [0, null, 25],
    [2500, null, -25],
    [2500, null, Number.NaN],
    [2500, null, 1e21],
  ])('the minimum of the shop %j, server %j, and legacy setting %j conflicts', (shop, server, legacy) => {
    expect(settings(shop, server, legacy)).toEqual({ ok: false, reason: 'NEEDS_RECONCILIATION' })
  })
})

describe('debts', () => {
  test('a net below zero is balanced and carried to the instant after the period', () => {
    expect(carryDebts([row('A', -480, -48), row('A', 100, 10), row('B', 500)], PERIOD_END)).toEqual([
      {
        affiliateId: 'A',
        debtCents: 342,
        balancing: { ...row('A', 342), happenedAt: PERIOD_END },
        open: { ...row('A', -342), happenedAt: '2026-11-01T00:00:00.000Z' },
      },
    ])
  })

  test('there is no debt at zero or above', () => {
    expect(carryDebts([row('A', -100), row('A', 100), row('B', 1)], PERIOD_END)).toEqual([])
    expect(carryDebts([], PERIOD_END)).toEqual([])
  })

  test('the open debt never leaves the calendar', () => {
    const [debt] = carryDebts([row('A', -1)], '9999-12-31T23:59:59.999Z')!
    expect(debt!.open.happenedAt).toBe('9999-12-31T23:59:59.999Z')
    const [earlier] = carryDebts([row('A', -1)], '9999-12-31T23:59:59.998Z')!
    expect(earlier!.open.happenedAt).toBe('9999-12-31T23:59:59.999Z')
  })
})

describe('sums above the safe integers', () => {
  const MAX_SAFE = 9_007_199_254_740_991

  test('are rejected, one cent above the limit', () => {
    expect(payoutTotals([row('A', MAX_SAFE), row('B', 0)])).toMatchObject({ netPayableCents: MAX_SAFE })
    expect(payoutTotals([row('A', MAX_SAFE), row('B', 1)])).toBeNull()
    expect(payoutTotals([row('A', MAX_SAFE, -1)])).toBeNull()
    expect(payoutLines([row('A', MAX_SAFE), row('A', 1)])).toBeNull()
    expect(heldBackTotals([row('A', MAX_SAFE), row('A', 1)])).toBeNull()
    expect(carryDebts([row('A', -MAX_SAFE), row('A', -1)], PERIOD_END)).toBeNull()
  })

  test('are allowed as intermediate results', () => {
    expect(payoutTotals([row('A', MAX_SAFE), row('B', 3), row('C', -4)])).toMatchObject({
      commissionCents: MAX_SAFE - 1,
    })
    const large = { ...row('A', 0), commissionAmountCents: 2n ** 60n }
    expect(payoutTotals([large, { ...large, commissionAmountCents: 7n - 2n ** 60n }])).toMatchObject({
      commissionCents: 7,
    })
  })
})

const rows = fc.array(
  fc
    .tuple(fc.constantFrom('A', 'B', 'C'), fc.integer({ min: -1000, max: 1000 }), fc.integer({ min: -100, max: 100 }))
    .map(([affiliateId, cents, tax]) => row(affiliateId, cents, tax)),
  { maxLength: 12 },
)

test('lines add up to the totals', () => {
  fc.assert(
    fc.property(rows, (batch) => {
      const { affiliates, ...totals } = payoutTotals(batch)!
      const lines = payoutLines(batch)!
      expect(lines).toHaveLength(affiliates)
      const sum = { commissions: 0, commissionCents: 0, taxWithheldCents: 0, netPayableCents: 0 }
      for (const line of lines) {
        sum.commissions += line.commissions
        sum.commissionCents += line.commissionCents
        sum.taxWithheldCents += line.taxWithheldCents
        sum.netPayableCents += line.netPayableCents
      }
      expect(sum).toEqual(totals)
    }),
  )
})

test('a balanced batch owes nothing, and no cent is made or lost', () => {
  fc.assert(
    fc.property(rows, (batch) => {
      const debts = carryDebts(batch, PERIOD_END)!
      const balanced = [...batch, ...debts.map((debt) => debt.balancing)]
      expect(payoutLines(balanced)!.every((line) => line.netPayableCents >= 0)).toBe(true)
      for (const { affiliateId, debtCents, balancing, open } of debts) {
        expect(debtCents).toBeGreaterThan(0)
        expect(payoutLines(balanced)!.find((line) => line.affiliateId === affiliateId)!.netPayableCents).toBe(0)
        expect(balancing.commissionAmountCents + open.commissionAmountCents).toBe(0)
      }
      const everything = [...balanced, ...debts.map((debt) => debt.open)]
      expect(payoutTotals(everything)!.netPayableCents).toBe(payoutTotals(batch)!.netPayableCents)
    }),
  )
})
