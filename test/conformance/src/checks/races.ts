import { randomUUID } from 'node:crypto'
import { group } from '../check.ts'
import type { Reply } from '../client.ts'
import type { Json } from '../context.ts'

const statuses = (replies: Reply[]) =>
  replies
    .map(({ status }) => status)
    .sort()
    .join(' ')
const COUNT = 8

/** Requests that are sent at the same time. */
export const races = group(
  'races',
  { title: 'Concurrent requests', page: 'concepts/attribution.md#once-per-order' },
  (rule) => {
    rule(
      'same-key',
      'Concurrent conversions with one key are executed once, and all return the same 201',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const [externalOrderId, key] = [t.id('o'), randomUUID()]
        const replies = await t.together(COUNT, () =>
          t.report(
            { externalOrderId, amountCents: 1000, couponCode: discountCode },
            { headers: { 'Idempotency-Key': key } },
          ),
        )
        t.equal(statuses(replies), Array(COUNT).fill(201).join(' '), 'the statuses')
        t.equal(new Set(replies.map(({ text }) => text)).size, 1, 'the number of different bodies')
        const replayed = replies.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true')
        t.equal(replayed.length, COUNT - 1, 'the number of replays')
      },
      { page: 'reference/errors.md#idempotency_key_reused' },
    )
    rule(
      'same-key-other-bodies',
      'Of concurrent conversions with one key and different bodies, one succeeds',
      async (t) => {
        const [externalOrderId, key] = [t.id('o'), randomUUID()]
        const replies = await t.together(COUNT, (n) =>
          t.report({ externalOrderId, amountCents: 1000 + n }, { headers: { 'Idempotency-Key': key } }),
        )
        t.equal(statuses(replies), [201, ...Array(COUNT - 1).fill(409)].join(' '), 'the statuses')
      },
      { page: 'reference/errors.md#idempotency_key_reused' },
    )
    rule('same-order', 'An order that is reported concurrently with different keys is recorded once', async (t) => {
      const affiliate = await t.affiliate()
      const externalOrderId = t.id('o')
      const replies = await t.together(COUNT, () =>
        t.report({ externalOrderId, amountCents: 1000, couponCode: affiliate.discountCode }),
      )
      t.equal(statuses(replies), Array(COUNT).fill(201).join(' '), 'the statuses')
      t.equal(new Set(replies.map(({ body }) => body.commission?.id)).size, 1, 'the number of different commissions')
      t.equal((await t.rowsOf(affiliate.id)).length, 1, 'the number of commissions')
    })
    rule('same-click-id', 'Of concurrent clicks of two affiliates with one id, those of one keep it', async (t) => {
      const [a, b, clickId, sessionId] = [await t.affiliate(), await t.affiliate(), t.id('click'), t.id('s')]
      const send = (n: number) => t.post('/events', { type: 'click', ref: [a, b][n % 2].slug, clickId, sessionId })
      t.equal(statuses(await t.together(4, send)), '202 202 202 202', 'the statuses')
      const { journey } = t.expect(await t.get('/journey', { sessionId }), 200)
      const kept: Json[] = journey.filter((entry: Json) => entry.clickId === clickId)
      t.equal([kept.length, new Set(kept.map(({ affiliateId }) => affiliateId)).size], [2, 1], 'clicks and affiliates')
      const { attribution } = await t.decide({ amountCents: 1000, clickId })
      t.equal(attribution.affiliateId, kept[0]?.affiliateId, 'affiliateId')
    })
    rule(
      'same-affiliate',
      'Of concurrent affiliates with one email address, one is created and the others get 409',
      async (t) => {
        const email = t.email()
        const replies = await t.together(COUNT, () => t.post('/affiliates', { email, name: 'Ada' }))
        t.equal(statuses(replies), [201, ...Array(COUNT - 1).fill(409)].join(' '), 'the statuses')
      },
      { page: 'reference/errors.md#email_taken' },
    )
    rule(
      'same-code',
      'Of concurrent assignments of one code to several affiliates, one succeeds',
      async (t) => {
        const affiliates = await Promise.all([1, 2, 3, 4].map(() => t.affiliate()))
        const code = t.code()
        const replies = await t.together(4, (n) => t.post('/coupons', { affiliateId: affiliates[n].id, code }))
        t.equal(statuses(replies), '200 409 409 409', 'the statuses')
      },
      { page: 'reference/errors.md#discount_code_taken' },
    )
    rule(
      'same-alias',
      'Of concurrent aliases and codes of one name, one affiliate has the name',
      async (t) => {
        const [affiliates, value] = [await Promise.all([1, 2, 3, 4].map(() => t.affiliate())), t.code()]
        const replies = await t.together(COUNT, (n) => {
          const affiliateId = affiliates[n >> 1].id
          return n % 2
            ? t.post('/coupons', { affiliateId, code: value })
            : t.post('/affiliates/aliases', { affiliateId, kind: 'CODE', value: value.toLowerCase() })
        })
        t.ok(
          replies.every(({ status }) => [200, 409].includes(status)),
          `the statuses are ${statuses(replies)}`,
        )
        const holders = replies.flatMap(({ status, body }) => (status === 200 ? [body.data.affiliateId] : []))
        t.equal(new Set(holders).size, 1, 'the number of affiliates with the name')
        const { attribution } = await t.decide({ amountCents: 1000, couponCode: value })
        t.equal(attribution.affiliateId, holders[0], 'affiliateId')
      },
      { page: 'reference/errors.md#alias_taken' },
    )
    rule(
      'same-period',
      'Of concurrent payouts of one period, one gets each commission',
      async (t) => {
        const [affiliate, day] = [await t.affiliate(), t.day()]
        for (const _ of [1, 2, 3])
          await t.order({ amountCents: 1000, couponCode: affiliate.discountCode, occurredAt: day })
        const replies = await t.together(6, () => t.post('/payouts', t.periodOf(day, affiliate)))
        const created = replies.filter(({ status }) => status === 200)
        t.equal(created.length, 1, 'the number of batches')
        t.ok(
          replies.every(({ status }) => [200, 404, 409].includes(status)),
          `the statuses are ${statuses(replies)}`,
        )
        t.equal(created[0]?.body.data.totals.commissionCents, 480, 'commissionCents of the batch')
      },
      { page: 'concepts/payouts.md#create-a-batch' },
    )
    rule(
      'paid-once',
      'Of concurrent payments of one batch, one succeeds and the others get 409',
      async (t) => {
        const { id } = await t.batch()
        const replies = await t.together(6, () => t.patch(`/payouts?id=${id}&action=pay`))
        t.equal(statuses(replies), '200 409 409 409 409 409', 'the statuses')
      },
      { page: 'reference/errors.md#payout_already_paid' },
    )
    rule(
      'archived-once',
      'Of concurrent DELETE requests of one affiliate, one succeeds',
      async (t) => {
        const { id } = await t.affiliate()
        const replies = await t.together(4, () => t.delete(`/affiliates?id=${id}`))
        t.equal(replies.filter(({ status }) => status === 200).length, 1, 'the number of 200')
        t.ok(
          replies.every(({ status }) => [200, 404, 409].includes(status)),
          `the statuses are ${statuses(replies)}`,
        )
      },
      { page: 'reference/errors.md#concurrent_change' },
    )
    rule(
      'same-refund',
      'A refund id that is reported concurrently is applied once',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const [externalOrderId, externalRefundId] = [t.id('o'), t.id('r')]
        await t.order({ externalOrderId, amountCents: 9000, couponCode: discountCode })
        const replies = await t.together(6, () =>
          t.post('/refunds', { externalOrderId, externalRefundId, amountCents: 3000 }),
        )
        t.equal(statuses(replies), '200 200 200 200 200 200', 'the statuses')
        t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 960, 'commissionAmountCents')
      },
      { page: 'concepts/refunds.md#amount' },
    )
    rule(
      'no-lost-update',
      'Concurrent changes of different fields of a program all take effect, or return 409',
      async (t) => {
        const { id } = await t.program()
        const changes = [
          { description: 'changed' },
          { cookieDurationDays: 7 },
          { status: 'PRIVATE' },
          { autoApproveAffiliate: true },
        ]
        const replies = await t.together(changes.length, (n) => t.patch(`/programs?id=${id}`, changes[n]))
        t.ok(
          replies.every(({ status }) => [200, 409].includes(status)),
          `the statuses are ${statuses(replies)}`,
        )
        const { data } = t.expect(await t.patch(`/programs?id=${id}`, {}), 200)
        for (const [n, change] of changes.entries()) if (replies[n]?.status === 200) t.fields(data, change, 'program')
      },
      { page: 'reference/errors.md#concurrent_change' },
    )
  },
)
