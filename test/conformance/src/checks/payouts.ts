import { type Define, group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'

const ERRORS = 'reference/errors.md'
const DAY_MS = 86_400_000

const order = async (t: Context, affiliate: Json, given: Json = {}): Promise<string> => {
  const externalOrderId = t.id('o')
  await t.order({ externalOrderId, amountCents: 10_000, couponCode: affiliate.discountCode, ...given })
  return externalOrderId
}
const create = async (t: Context, body: Json): Promise<Json> => t.expect(await t.post('/payouts', body), 200).data
const batchOf = async (t: Context, id: string): Promise<Json> => t.expect(await t.get('/payouts', { id }), 200).data[0]

export const payouts = group('payouts', { title: 'Payouts', page: 'concepts/payouts.md#create-a-batch' }, (rule) => {
  creating(rule)
  bounds(rule)
  selecting(rule)
  paying(rule)
})

function creating(rule: Define): void {
  rule('created', 'POST returns an OPEN batch with the totals of its commissions', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    for (const amountCents of [10_000, 333]) await order(t, affiliate, { amountCents, occurredAt: day })
    const batch = await create(t, t.periodOf(day, affiliate))
    t.fields(
      batch,
      { status: 'OPEN', periodStart: day, periodEnd: after(day, DAY_MS - 1), currency: 'USD', paidAt: null },
      'data',
    )
    t.equal(
      batch.totals,
      { commissions: 2, affiliates: 1, commissionCents: 1653, taxWithheldCents: 0, netPayableCents: 1653 },
      'totals',
    )
  })
  rule(
    'payable',
    'The commissions of a batch are PAYABLE and name the batch',
    async (t) => {
      const { id, externalOrderId } = await t.batch()
      t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'PAYABLE', payoutBatchId: id }, 'commission')
    },
    { page: 'concepts/payouts.md#status' },
  )
  rule('dry-run', '`dryRun` returns the batch that would be created, without an id, and writes nothing', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    const externalOrderId = await order(t, affiliate, { occurredAt: day })
    const batch = await create(t, t.periodOf(day, affiliate, { dryRun: true }))
    t.equal([batch.id, batch.totals.commissionCents], [null, 1600], 'id and commissionCents')
    t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'APPROVED', payoutBatchId: null }, 'commission')
  })
  rule(
    'nothing',
    'A period without eligible commissions returns 404 no_eligible_commissions',
    async (t) => {
      t.expect(await t.post('/payouts', t.periodOf(t.day(), await t.sharedAffiliate())), 404, 'no_eligible_commissions')
    },
    { page: `${ERRORS}#no_eligible_commissions` },
  )
  rule(
    'once',
    'A commission is in one batch: a second batch of the period returns 404',
    async (t) => {
      const { day, affiliate } = await t.batch()
      t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 404, 'no_eligible_commissions')
    },
    { page: `${ERRORS}#no_eligible_commissions` },
  )
  rule('lines', '`include=lines` adds one line per affiliate', async (t) => {
    const { id, affiliate } = await t.batch()
    const { data } = t.expect(await t.get('/payouts', { id, include: 'lines' }), 200)
    t.equal(data[0]?.lines?.length, 1, 'the number of lines')
    t.fields(
      data[0].lines[0],
      {
        affiliateId: affiliate.id,
        name: affiliate.name,
        email: affiliate.email,
        commissions: 1,
        commissionCents: 1600,
        netPayableCents: 1600,
      },
      'line',
    )
  })
  rule('filters', '`id`, `status` and `payoutBatchId` select batches and their commissions', async (t) => {
    const { id, externalOrderId } = await t.batch()
    t.equal(t.expect(await t.get('/payouts', { id, status: 'PAID' }), 200).data, [], 'the batch among paid ones')
    t.equal((await batchOf(t, id))?.id, id, 'id')
    const { data } = t.expect(await t.get('/commissions', { payoutBatchId: id }), 200)
    t.equal(
      data.map((json: Json) => json.externalOrderId),
      [externalOrderId],
      'the commissions of the batch',
    )
  })
}

function bounds(rule: Define): void {
  rule(
    'required',
    'POST without periodStart or periodEnd returns 400',
    async (t) => {
      for (const body of [{ periodStart: '1990-01-01' }, { periodEnd: '1990-01-01' }, {}])
        t.expect(await t.post('/payouts', body), 400, 'invalid_body')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  for (const [name, periodEnd] of [
    ['equal', '1990-01-02'],
    ['reversed', '1990-01-01'],
  ] as const)
    rule(
      `period-${name}`,
      `periodEnd ${name === 'equal' ? 'equal to' : 'before'} periodStart returns 400 period_invalid`,
      async (t) => {
        t.expect(await t.post('/payouts', { periodStart: '1990-01-02', periodEnd }), 400, 'period_invalid')
      },
      { page: `${ERRORS}#period_invalid` },
    )
  rule('inclusive', 'Both bounds are inclusive, to the millisecond', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    const [start, end] = [after(day, 1000), after(day, 2000)]
    for (const ms of [999, 1000, 2000, 2001]) await order(t, affiliate, { occurredAt: after(day, ms) })
    const batch = await create(t, { periodStart: start, periodEnd: end, affiliateIds: [affiliate.id] })
    t.equal(batch.totals.commissions, 2, 'the number of commissions')
  })
  rule(
    'date-is-midnight',
    'A date alone as periodEnd is midnight UTC and leaves out the rest of the day',
    async (t) => {
      const [affiliate, day] = [await t.affiliate(), t.day()]
      const next = after(day, DAY_MS)
      for (const occurredAt of [day, next, after(next, 1)]) await order(t, affiliate, { occurredAt })
      const batch = await create(t, {
        periodStart: day.slice(0, 10),
        periodEnd: next.slice(0, 10),
        affiliateIds: [affiliate.id],
      })
      t.fields(batch, { periodStart: day, periodEnd: next }, 'data')
      t.equal(batch.totals.commissions, 2, 'the number of commissions')
    },
  )
}

function selecting(rule: Define): void {
  rule('approved-only', 'A PENDING commission is not in a batch', async (t) => {
    const affiliate = await t.affiliateOf({ autoApproveOrder: false })
    const day = t.day()
    await order(t, affiliate, { occurredAt: day })
    t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 404, 'no_eligible_commissions')
  })
  rule(
    'held-back',
    'Commissions of rejected and archived affiliates are not in the batch; heldBack counts them',
    async (t) => {
      const [program, day] = [await t.program(), t.day()]
      const made = [1, 2, 3].map(() => t.affiliate({ campaignId: program.id }))
      const affiliates = await Promise.all(made)
      for (const affiliate of affiliates) await order(t, affiliate, { occurredAt: day })
      t.expect(await t.patch(`/affiliates?id=${affiliates[1].id}`, { status: 'REJECTED' }), 200)
      t.expect(await t.delete(`/affiliates?id=${affiliates[2].id}`), 200)
      const batch = await create(t, { periodStart: day, periodEnd: after(day, 1), programId: program.id })
      t.equal(
        [batch.totals.commissions, batch.heldBack],
        [1, { commissions: 2, commissionCents: 3200 }],
        'commissions and heldBack',
      )
    },
  )
  rule(
    'mixed-currencies',
    'Commissions in several currencies return 409 payout_mixed_currencies, which lists them',
    async (t) => {
      const [affiliate, day] = [await t.affiliate(), t.day()]
      for (const currency of ['USD', 'EUR']) await order(t, affiliate, { currency, occurredAt: day })
      const reply = await t.post('/payouts', t.periodOf(day, affiliate))
      t.expect(reply, 409, 'payout_mixed_currencies')
      t.equal(reply.headers.get('X-Payout-Currencies'), 'EUR, USD', 'X-Payout-Currencies')
    },
    { page: `${ERRORS}#payout_mixed_currencies` },
  )
  rule('one-currency', '`currency` selects the commissions of one currency', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    for (const currency of ['USD', 'EUR']) await order(t, affiliate, { currency, occurredAt: day })
    const batch = await create(t, t.periodOf(day, affiliate, { currency: 'EUR' }))
    t.equal([batch.currency, batch.totals.commissions], ['EUR', 1], 'currency and commissions')
  })
  rule('affiliate-ids', '`affiliateIds` leaves out other affiliates', async (t) => {
    const [a, b, day] = [await t.affiliate(), await t.affiliate(), t.day()]
    for (const affiliate of [a, b]) await order(t, affiliate, { occurredAt: day })
    const batch = await create(t, t.periodOf(day, a))
    t.equal([batch.totals.affiliates, batch.totals.commissions], [1, 1], 'affiliates and commissions')
  })
}

function paying(rule: Define): void {
  const status = { page: 'concepts/payouts.md#status' }
  rule(
    'paid',
    'PATCH with action=pay marks the batch and its commissions as PAID',
    async (t) => {
      const { id, externalOrderId } = await t.batch()
      t.equal(t.expect(await t.patch(`/payouts?id=${id}&action=pay`), 200).ok, true, 'ok')
      const batch = await batchOf(t, id)
      t.ok(
        batch.status === 'PAID' && batch.paidAt,
        `the status of the batch is ${batch.status}, paidAt is ${batch.paidAt}`,
      )
      const row = await t.commissionOf(externalOrderId)
      t.ok(
        row.orderStatus === 'PAID' && row.paidAt,
        `the status of the commission is ${row.orderStatus}, paidAt is ${row.paidAt}`,
      )
    },
    status,
  )
  rule(
    'paid-again',
    'Paying a PAID batch returns 409 payout_already_paid',
    async (t) => {
      const { id } = await t.batch()
      await t.pay(id)
      t.expect(await t.patch(`/payouts?id=${id}&action=pay`), 409, 'payout_already_paid')
    },
    { page: `${ERRORS}#payout_already_paid` },
  )
  rule(
    'unknown',
    'Paying an unknown batch returns 404 payout_not_found',
    async (t) => {
      t.expect(await t.patch('/payouts?id=bat_unknown&action=pay'), 404, 'payout_not_found')
    },
    { page: `${ERRORS}#payout_not_found` },
  )
  for (const [name, query] of [
    ['other-action', 'action=cancel'],
    ['no-action', 'x=1'],
  ] as const)
    rule(
      name,
      `PATCH with ${name === 'no-action' ? 'no action' : 'another action'} returns 400 and pays nothing`,
      async (t) => {
        const { id } = await t.batch()
        t.expect(await t.patch(`/payouts?id=${id}&${query}`), 400, 'invalid_parameter')
        t.equal((await batchOf(t, id)).status, 'OPEN', 'status')
      },
      { page: `${ERRORS}#invalid_parameter` },
    )
  rule(
    'expected-total',
    'Another total than expectedTotalCents returns 409 payout_total_mismatch and pays nothing',
    async (t) => {
      const { id } = await t.batch()
      t.expect(await t.patch(`/payouts?id=${id}&action=pay&expectedTotalCents=1599`), 409, 'payout_total_mismatch')
      t.equal((await batchOf(t, id)).status, 'OPEN', 'status')
      t.expect(await t.patch(`/payouts?id=${id}&action=pay&expectedTotalCents=1600`), 200)
    },
    { page: `${ERRORS}#payout_total_mismatch` },
  )
}
