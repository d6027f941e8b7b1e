import { randomUUID } from 'node:crypto'
import { type Define, group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'
import { debts } from './debts.ts'
import { create, order } from './payout-calls.ts'

const ERRORS = 'reference/errors.md'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const batchOf = async (t: Context, id: string): Promise<Json> => t.expect(await t.get('/payouts', { id }), 200).data[0]

export const payouts = group('payouts', { title: 'Payouts', page: 'concepts/payouts.md#create-a-batch' }, (rule) => {
  creating(rule)
  bounds(rule)
  selecting(rule)
  debts(rule)
  paying(rule)
})

function creating(rule: Define): void {
  rule('created', 'POST returns an OPEN batch with the totals of its commissions', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    for (const amountCents of [10_000, 333]) await order(t, affiliate, { amountCents, occurredAt: day })
    const batch = await create(t, t.periodOf(day, affiliate))
    t.fields(
      batch,
      {
        status: 'OPEN',
        progress: null,
        periodStart: day,
        periodEnd: after(day, DAY_MS - 1),
        includeEarlier: false,
        currency: 'USD',
        heldBack: { commissions: 0, commissionCents: 0 },
        onHold: { commissions: 0, commissionCents: 0, nextAvailableAt: null },
        failureReason: null,
        paidAt: null,
      },
      'data',
    )
    t.equal(
      batch.totals,
      { commissions: 2, affiliates: 1, commissionCents: 1653, taxWithheldCents: 0, netPayableCents: 1653 },
      'totals',
    )
    t.equal(await batchOf(t, batch.id), batch, 'the batch in the list')
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
    const body = t.periodOf(day, affiliate)
    const headers = { 'Idempotency-Key': randomUUID() }
    const dry = await t.post('/payouts', { ...body, dryRun: true }, { headers })
    const { lines, createdAt, updatedAt, ...preview } = t.expect(dry, 200).data
    t.equal([preview.id, lines.length, lines[0]?.netPayableCents], [null, 1, 1600], 'id, lines and netPayableCents')
    t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'APPROVED', payoutBatchId: null }, 'commission')
    // A dry run stores no response under the key, and null is a value that was not sent.
    const nothing = { dryRun: null, currency: null, programId: null }
    const made = t.expect(await t.post('/payouts', { ...body, ...nothing }, { headers }), 200).data
    t.fields(made, { ...preview, id: made.id }, 'data')
    t.expect(await t.post('/payouts', { ...body, dryRun: true }), 404, 'no_eligible_commissions')
  })
  rule(
    'nothing',
    'A period without eligible commissions, or with one of 0 only, returns 404 no_eligible_commissions',
    async (t) => {
      const [affiliate, day] = [await t.affiliate(), t.day()]
      t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 404, 'no_eligible_commissions')
      await order(t, affiliate, { amountCents: 1, occurredAt: day })
      t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 404, 'no_eligible_commissions')
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
  rule('lines', '`include=lines` adds one line per affiliate, archived or not', async (t) => {
    const { id, affiliate } = await t.batch()
    t.expect(await t.delete(`/affiliates?id=${affiliate.id}`), 200)
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
    for (const query of [{ include: 'rows' }, { id: '' }])
      t.expect(await t.get('/payouts', query), 400, 'invalid_parameter')
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
  for (const [name, ...ends] of [
    ['equal', '1990-01-02', '1990-01-02T00:00:00.0009Z'],
    ['reversed', '1990-01-01', '1990-01-02T01:00:00+02:00'],
  ] as const)
    rule(
      `period-${name}`,
      `periodEnd ${name === 'equal' ? 'equal to' : 'before'} periodStart returns 400 period_invalid`,
      async (t) => {
        for (const periodEnd of ends)
          t.expect(await t.post('/payouts', { periodStart: '1990-01-02', periodEnd }), 400, 'period_invalid')
      },
      { page: `${ERRORS}#period_invalid` },
    )
  rule(
    'period-malformed',
    'A bound that is no date, does not exist, or has no offset returns 400 invalid_body',
    async (t) => {
      for (const periodEnd of ['1990-02-30', '1990-01-31T25:00:00Z', '1990-01-31T12:00:00', 'yesterday'])
        t.expect(await t.post('/payouts', { periodStart: '1989-01-01', periodEnd }), 400, 'invalid_body')
    },
    { page: `${ERRORS}#invalid_body` },
  )
  rule('inclusive', 'Both bounds are inclusive, to the millisecond', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    const [start, end] = [after(day, 1000), after(day, 2000)]
    for (const ms of [999, 1000, 2000, 2001]) await order(t, affiliate, { occurredAt: after(day, ms) })
    // The same instants in other time zones.
    const [periodStart, periodEnd] = [
      `${after(start, 2 * HOUR_MS).slice(0, -1)}+02:00`,
      `${after(end, -5 * HOUR_MS).slice(0, -1)}-05:00`,
    ]
    const batch = await create(t, { periodStart, periodEnd, affiliateIds: [affiliate.id] })
    t.fields(batch, { periodStart: start, periodEnd: end }, 'data')
    t.equal(batch.totals.commissions, 2, 'the number of commissions')
  })
  rule(
    'include-earlier',
    '`includeEarlier` adds the approved commissions from before the period',
    async (t) => {
      const [affiliate, day] = [await t.affiliate(), t.day()]
      for (const occurredAt of [after(day, -DAY_MS), day, after(day, DAY_MS)]) await order(t, affiliate, { occurredAt })
      const batch = await create(t, t.periodOf(day, affiliate, { includeEarlier: true }))
      t.fields(batch, { includeEarlier: true, periodStart: day }, 'data')
      t.equal(batch.totals.commissions, 2, 'the number of commissions')
    },
    { page: 'concepts/payouts.md#months' },
  )
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
      await order(t, affiliates[1], { currency: 'EUR', occurredAt: day })
      t.expect(await t.patch(`/affiliates?id=${affiliates[0].id}`, { status: 'PENDING' }), 200)
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
  rule(
    'affiliate-ids',
    '`affiliateIds`, `programId` and `currency` select commissions, alone and together',
    async (t) => {
      const [a, b, day] = [await t.affiliateOf({}), await t.affiliateOf({}), t.day()]
      for (const [affiliate, currency, amountCents] of [
        [a, 'USD', 10_000],
        [b, 'USD', 1000],
        [a, 'EUR', 100],
      ] as const)
        await order(t, affiliate, { amountCents, currency, occurredAt: day })
      const total = async (filter: Json) =>
        (await create(t, { periodStart: day, periodEnd: after(day, 1), dryRun: true, ...filter })).totals
          .commissionCents
      const both = [a.id, b.id]
      t.equal(
        [
          await total({ affiliateIds: both, currency: 'USD' }),
          await total({ affiliateIds: both, currency: 'EUR' }),
          await total({ affiliateIds: [b.id, 'aff_unknown'] }),
          await total({ programId: b.campaignId }),
          await total({ affiliateIds: both, programId: a.campaignId, currency: 'USD' }),
        ],
        [1760, 16, 160, 160, 1600],
        'commissionCents',
      )
    },
  )
  rule(
    'unpaid',
    'What a batch leaves is unpaid as LATE or HELD_BACK, with its affiliates, and includeEarlier pays the late part',
    async (t) => {
      const [affiliate, day] = [await t.affiliateOf({}), t.day()]
      const rejected = await t.affiliate({ campaignId: affiliate.campaignId })
      await order(t, affiliate, { amountCents: 5000, occurredAt: after(day, -DAY_MS) })
      for (const one of [affiliate, rejected]) await order(t, one, { occurredAt: day })
      t.expect(await t.patch(`/affiliates?id=${rejected.id}`, { status: 'REJECTED' }), 200)
      const held = { affiliateId: rejected.id, name: rejected.name, commissions: 1, netPayableCents: 1600 }
      const period = { periodStart: day, periodEnd: after(day, DAY_MS - 1), programId: affiliate.campaignId }
      const sums = async (more: Json = {}) => {
        const { reasons, affiliates, truncated } = t.expect(await t.get('/payouts/unpaid', { ...period, ...more }), 200)
        t.equal([affiliates.length, truncated], [reasons.length, false], 'the number of affiliates and truncated')
        t.fields(affiliates.find(({ reason }: Json) => reason === 'HELD_BACK') ?? held, held, 'the affiliate')
        return Object.fromEntries(reasons.map(({ reason, netPayableCents }: Json) => [reason, netPayableCents]))
      }
      const left = { LATE: 800, HELD_BACK: 1600 }
      t.equal(await sums(), left, 'sums before the batch')
      await create(t, period)
      t.equal(await sums(), left, 'sums after the batch')
      t.equal(await sums({ includeEarlier: '1' }), { HELD_BACK: 1600 }, 'sums with includeEarlier')
      t.equal(await sums({ affiliateId: affiliate.id }), { LATE: 800 }, 'sums of an affiliate')
      const reversed = { ...period, periodEnd: after(day, -1) }
      t.expect(await t.get('/payouts/unpaid', reversed), 400, 'period_invalid')
    },
    { page: 'concepts/payouts.md#unpaid-balances' },
  )
}

function paying(rule: Define): void {
  const status = { page: 'concepts/payouts.md#status' }
  rule(
    'paid',
    'PATCH with action=pay marks the batch and its commissions as PAID',
    async (t) => {
      const { id, externalOrderId, affiliate, day } = await t.batch()
      const later = await order(t, affiliate, { occurredAt: day })
      const before = await batchOf(t, id)
      t.fields(t.expect(await t.patch(`/payouts?id=${id}&action=pay`), 200), { ok: true, id }, 'body')
      const { paidAt, updatedAt } = await batchOf(t, id)
      t.ok(paidAt, 'paidAt of the batch is missing')
      t.fields(await batchOf(t, id), { ...before, status: 'PAID', paidAt, updatedAt }, 'batch')
      t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'PAID', paidAt, payoutBatchId: id }, 'commission')
      t.fields(
        await t.commissionOf(later),
        { orderStatus: 'APPROVED', paidAt: null, payoutBatchId: null },
        'a later one',
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
    ['action-in-upper-case', 'action=PAY'],
    ['fraction', 'action=pay&expectedTotalCents=1.5'],
    ['no-action', 'x=1'],
  ] as const)
    rule(
      name,
      `PATCH with ${name === 'no-action' ? 'no action' : `\`${query}\``} returns 400 and pays nothing`,
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
      for (const cents of [1599, 1601, 0, -1600])
        t.expect(
          await t.patch(`/payouts?id=${id}&action=pay&expectedTotalCents=${cents}`),
          409,
          'payout_total_mismatch',
        )
      t.equal((await batchOf(t, id)).status, 'OPEN', 'status')
      t.expect(await t.patch(`/payouts?id=${id}&action=pay&expectedTotalCents=1600`), 200)
    },
    { page: `${ERRORS}#payout_total_mismatch` },
  )
}
