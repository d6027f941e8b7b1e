import type { Define } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'
import { create, order } from './payout-calls.ts'

export function debts(rule: Define): void {
  const page = 'concepts/refunds.md#debts'
  /** A debt of 16.00, reported just now. */
  const debtor = async (t: Context): Promise<Json> => {
    const { id, affiliate, externalOrderId } = await t.batch()
    await t.pay(id)
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 10_000 }), 200)
    const { happenedAt } = (await t.rowsOf(affiliate.id)).find(({ trackingMethod }) => trackingMethod === 'ADJUSTMENT')
    return { ...affiliate, happenedAt }
  }
  const periodOf = ({ happenedAt }: Json, affiliateIds: string[], more: Json = {}) => ({
    periodStart: after(happenedAt, -1000),
    periodEnd: after(happenedAt, 60_000),
    affiliateIds,
    ...more,
  })
  rule(
    'debt',
    'Who owes is paid 0, affects nobody else, and owes the rest after the period',
    async (t) => {
      const [owes, other] = [await debtor(t), await t.affiliate()]
      const { happenedAt } = owes
      await order(t, owes, { amountCents: 2500, occurredAt: happenedAt })
      await order(t, other, { occurredAt: happenedAt })
      const body = periodOf(owes, [owes.id, other.id])
      const unpaid = t.expect(
        await t.get('/payouts/unpaid', { ...body, affiliateIds: undefined, affiliateId: owes.id }),
        200,
      )
      t.fields(unpaid.reasons[0], { reason: 'DEBT', netPayableCents: -1200 }, 'reasons[0]')
      const batch = await create(t, body)
      t.equal([batch.totals.affiliates, batch.totals.netPayableCents], [2, 1600], 'affiliates and netPayableCents')
      const carried = (await t.rowsOf(owes.id)).filter(({ orderId }) => /^adj:.*:carry$/.test(orderId))
      t.equal(
        carried
          .map((row) => [row.commissionAmountCents, row.payoutBatchId, row.happenedAt])
          .sort((a, b) => b[0] - a[0]),
        [
          [1200, batch.id, batch.periodEnd],
          [-1200, null, after(batch.periodEnd, 1)],
        ],
        'amount, batch and time of what is carried',
      )
      await t.pay(batch.id)
      await order(t, owes, { occurredAt: happenedAt })
      const next = await create(t, periodOf(owes, [owes.id], { periodEnd: after(batch.periodEnd, 1) }))
      t.equal([next.totals.commissions, next.totals.netPayableCents], [2, 400], 'commissions and netPayableCents')
    },
    { page },
  )
  rule(
    'debt-alone',
    'A batch of a debt alone pays 0 and carries it, in its currency',
    async (t) => {
      const owes = await debtor(t)
      await order(t, owes, { currency: 'EUR', occurredAt: owes.happenedAt })
      const body = periodOf(owes, [owes.id])
      const euros = await create(t, { ...body, currency: 'EUR' })
      const dollars = await create(t, { ...body, currency: 'USD' })
      t.equal([euros.totals.netPayableCents, dollars.totals.netPayableCents], [1600, 0], 'netPayableCents')
      const left = (await t.rowsOf(owes.id)).filter(({ payoutBatchId }) => payoutBatchId === null)
      t.equal(
        left.map(({ currency, commissionAmountCents }) => [currency, commissionAmountCents]),
        [['USD', -1600]],
        'what is left',
      )
    },
    { page },
  )
}
