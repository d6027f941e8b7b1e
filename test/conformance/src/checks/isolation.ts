import { randomUUID } from 'node:crypto'
import { group } from '../check.ts'
import type { CallOptions } from '../client.ts'
import type { Context, Json } from '../context.ts'

const page = 'concepts/index.md#terms'

/** A request of the other shop. */
const other = (t: Context, method: string, path: string, body?: unknown, options: CallOptions = {}) =>
  t.call(method, `/api/v1${path}`, { body, key: t.shop.otherKey ?? null, ...options })

/** An approved affiliate of the other shop, in a program of its own. */
const stranger = (t: Context): Promise<Json> =>
  t.once('stranger', async () => {
    const program = t.expect(await other(t, 'POST', '/programs', { name: t.id('P'), autoApproveOrder: true }), 201).data
    const made = t.expect(
      await other(t, 'POST', '/affiliates', { email: t.email('stranger'), name: 'Stranger', campaignId: program.id }),
      201,
    ).data
    return t.expect(await other(t, 'PATCH', `/affiliates?id=${made.id}`, { status: 'APPROVED' }), 200).data
  })

const WHAT: Record<string, string> = {
  'patch-affiliate': 'change an affiliate',
  'delete-affiliate': 'archive an affiliate',
  'join-program': 'create an affiliate in a program',
  'patch-program': 'change a program',
  'assign-coupon': 'assign a code to an affiliate',
  'create-alias': 'create an alias of an affiliate',
  'create-token': 'create a token of an affiliate',
  'pay-batch': 'pay a batch',
  'delete-webhook': 'delete a webhook subscription',
}

/** Each resource that a caller could try to change by the id of another shop. */
const FOREIGN: Record<string, (t: Context) => Promise<[method: string, path: string, body?: Json]>> = {
  'patch-affiliate': async (t) => ['PATCH', `/affiliates?id=${(await t.sharedAffiliate()).id}`, { phone: '1' }],
  'delete-affiliate': async (t) => ['DELETE', `/affiliates?id=${(await t.sharedAffiliate()).id}`],
  'join-program': async (t) => [
    'POST',
    '/affiliates',
    { email: t.email(), name: 'A', campaignId: (await t.sharedProgram()).id },
  ],
  'patch-program': async (t) => ['PATCH', `/programs?id=${(await t.sharedProgram()).id}`, { name: 'x' }],
  'assign-coupon': async (t) => ['POST', '/coupons', { affiliateId: (await t.sharedAffiliate()).id, code: t.code() }],
  'create-alias': async (t) => [
    'POST',
    '/affiliates/aliases',
    { affiliateId: (await t.sharedAffiliate()).id, kind: 'CODE', value: t.code() },
  ],
  'create-token': async (t) => ['POST', '/affiliates/tokens', { affiliateId: (await t.sharedAffiliate()).id }],
  'pay-batch': async (t) => ['PATCH', `/payouts?id=${(await t.batch()).id}&action=pay`],
  'delete-webhook': async (t) => {
    const { data } = t.expect(
      await t.settled(() =>
        t.post('/webhooks', { url: 'https://hooks.conformance.example/', events: ['conformance.nothing'] }),
      ),
      200,
    )
    return ['DELETE', `/webhooks?id=${data.id}`]
  },
}

export const isolation = group('isolation', { title: 'Isolation of shops', page, needs: ['otherKey'] }, (rule) => {
  for (const [name, given] of Object.entries(FOREIGN))
    rule(name, `Another shop cannot ${WHAT[name]}: 404`, async (t) => {
      const [method, path, body] = await given(t)
      t.expect(await other(t, method, path, body), 404)
    })
  rule('lists', 'Another shop lists none of the affiliates, programs, coupons, commissions and payouts', async (t) => {
    const [{ id, email }, { id: batchId }] = [await t.sharedAffiliate(), await t.batch()]
    const found = async (path: string, query: Record<string, string>) =>
      t.expect(await other(t, 'GET', path, undefined, { query }), 200).data
    t.equal(await found('/affiliates', { q: email }), [], 'affiliates')
    t.equal(await found('/affiliates', { id }), [], 'the affiliate by id')
    t.equal(await found('/coupons', { affiliateId: id }), [], 'coupons')
    t.equal(await found('/commissions', { affiliateId: id }), [], 'commissions')
    t.equal(await found('/commissions', { payoutBatchId: batchId }), [], 'commissions of the batch')
    t.equal(await found('/payouts', { id: batchId }), [], 'payouts')
    const { id: programId } = await t.sharedProgram()
    const programs = await found('/programs', { limit: '100' })
    t.ok(!programs.some((program: Json) => program.id === programId), 'the program is listed')
  })
  rule('search', 'A search of one shop does not find affiliates of another', async (t) => {
    const { email } = await stranger(t)
    t.equal(t.expect(await t.get('/affiliates', { q: email }), 200).data, [], 'affiliates')
  })
  rule('analytics', 'Analytics and journeys of another shop are empty', async (t) => {
    const { id, slug } = await t.sharedAffiliate()
    const sessionId = t.id('s')
    t.expect(await t.post('/events', { type: 'click', ref: slug, sessionId }), 202)
    const { totals } = t.expect(await other(t, 'GET', '/analytics', undefined, { query: { affiliateId: id } }), 200)
    t.equal([totals.orders, totals.clicks], [0, 0], 'orders and clicks')
    for (const query of [{ sessionId }, { affiliateId: id }])
      t.equal(t.expect(await other(t, 'GET', '/journey', undefined, { query }), 200).total, 0, 'total of the journey')
  })
  rule('codes', 'A code of another shop credits nobody', async (t) => {
    const { discountCode, slug, id } = await stranger(t)
    for (const evidence of [{ couponCode: discountCode }, { ref: slug }, { ref: id }, { affiliateCode: slug }]) {
      const { attribution } = await t.decide({ amountCents: 1000, ...evidence })
      t.ok(attribution.affiliateId !== id, `${JSON.stringify(evidence)} credits the affiliate of another shop`)
    }
    const sessionId = t.id('s')
    for (const name of [{ ref: slug }, { ref: id }, { affiliateId: id }, { affiliateCode: discountCode }])
      t.expect(await t.post('/events', { type: 'click', sessionId, ...name }), 202)
    const { journey } = t.expect(await t.get('/journey', { sessionId }), 200)
    t.ok(
      journey.every((entry: Json) => entry.affiliateId !== id),
      'a click names the affiliate of another shop',
    )
  })
  rule('clicks', 'A click of another shop credits nobody, and its id can be used again', async (t) => {
    const { slug } = await stranger(t)
    const [clickId, sessionId] = [t.id('click'), t.id('s')]
    const own = t.expect(await other(t, 'POST', '/events', { type: 'click', ref: slug, clickId, sessionId }), 202).id
    for (const evidence of [{ clickId }, { clickId: own }, { sessionId }])
      t.equal(
        (await t.decide({ amountCents: 1000, ...evidence })).attribution.affiliateId,
        null,
        `affiliateId of ${JSON.stringify(evidence)}`,
      )
    const { id, slug: ref } = await t.sharedAffiliate()
    t.expect(await t.post('/events', { type: 'click', ref, clickId }), 202)
    t.equal(
      (await t.decide({ amountCents: 1000, clickId })).attribution.affiliateId,
      id,
      'affiliateId of the own click',
    )
  })
  rule('same-code', 'Two shops can have the same code and the same alias', async (t) => {
    const [{ id: affiliateId, discountCode }, value] = [await t.affiliate(), t.code()]
    const { id } = await stranger(t)
    t.expect(await t.post('/affiliates/aliases', { affiliateId, kind: 'CODE', value }), 200)
    t.expect(await other(t, 'POST', '/affiliates/aliases', { affiliateId: id, kind: 'CODE', value }), 200)
    t.expect(await other(t, 'POST', '/coupons', { affiliateId: id, code: discountCode }), 200)
  })
  rule('same-email', 'Two shops can have affiliates with the same email address', async (t) => {
    const { email } = await t.affiliate()
    t.expect(await other(t, 'POST', '/affiliates', { email, name: 'A' }), 201)
  })
  rule('same-order', 'Two shops can report the same order id', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 1000, couponCode: discountCode })
    const reply = await other(
      t,
      'POST',
      '/events',
      { externalOrderId, amountCents: 2000 },
      { headers: { 'Idempotency-Key': randomUUID() } },
    )
    t.expect(reply, 201)
    t.equal(reply.headers.get('X-Order-Already-Recorded'), null, 'X-Order-Already-Recorded')
  })
  rule('same-key', 'Two shops can use the same Idempotency-Key', async (t) => {
    const [name, options] = [t.id('P'), { headers: { 'Idempotency-Key': randomUUID() } }]
    const own = t.expect(await t.post('/programs', { name }, options), 201).data
    const reply = await other(t, 'POST', '/programs', { name }, options)
    t.ok(t.expect(reply, 201).data.id !== own.id, 'the response of the first shop was replayed')
    t.equal(reply.headers.get('Idempotent-Replayed'), null, 'Idempotent-Replayed')
  })
  rule('refunds', 'A refund of another shop does not reach the order', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 9000, couponCode: discountCode })
    const externalRefundId = t.id('r')
    t.expect(await other(t, 'POST', '/refunds', { externalOrderId, externalRefundId, amountCents: 3000 }), 202)
    t.expect(await other(t, 'DELETE', `/refunds?${new URLSearchParams({ externalOrderId, externalRefundId })}`), 202)
    t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 1440, 'commissionAmountCents')
  })
  rule('payouts', 'A payout of another shop contains none of the commissions', async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    await t.order({ amountCents: 1000, couponCode: affiliate.discountCode, occurredAt: day })
    t.expect(await other(t, 'POST', '/payouts', t.periodOf(day, affiliate)), 404)
  })
  rule('events', 'The feed of another shop contains none of the events', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
    const { text } = await other(t, 'GET', '/webhooks/events', undefined, { query: { limit: 100 } })
    t.ok(!text.includes(commission.id), 'the feed contains the event')
  })
})
