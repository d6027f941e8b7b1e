import { randomUUID } from 'node:crypto'
import { type Define, group, onPage } from '../check.ts'
import type { CallOptions, Reply } from '../client.ts'
import { after, type Context, type Json } from '../context.ts'
import { nobody } from './evidence.ts'

const ERRORS = 'reference/errors.md'

/** Properties that an order may have. */
const OPTIONAL =
  'discountCents shippingCents taxCents currency affiliateCode ref clickId sessionId customerEmail customerId lineItems shipping occurredAt processedAt orderName note noteAttributes orderId'.split(
    ' ',
  )

/** What returns 400 in an otherwise valid order. */
const INVALID: Record<string, Json[]> = {
  'order-id': [null, ' ', '', 1001].map((externalOrderId) => ({ externalOrderId })),
  amount: [undefined, null, 10.5, '1000', -1, 2_147_483_648, 2 ** 53].map((amountCents) => ({ amountCents })),
  'other-amounts': ['discountCents', 'shippingCents', 'taxCents'].flatMap((name) =>
    [-1, 0.5, 2_147_483_648].map((value) => ({ [name]: value })),
  ),
  currency: ['usd', 'US', 'DOLLAR', 'UDS', 1].map((currency) => ({ currency })),
  time: ['yesterday', '2026-10-01T10:00:00', '2026-02-29'].map((occurredAt) => ({ occurredAt })),
  type: [{ type: 'sale' }, { couponCode: 16 }, { shipping: 'US' }, { noteAttributes: {} }],
  lines: [
    [],
    [{ priceCents: 100 }, {}],
    [{ priceCents: null }],
    [{ priceCents: 2_147_483_647 }, { priceCents: 1 }],
    [{ priceCents: 2_147_483_647, quantity: 1_000_000 }],
    [{ priceCents: -1 }],
    [{ priceCents: 1, quantity: 0 }],
    [{ priceCents: 1, quantity: -1 }],
    [{ priceCents: 1, quantity: 1.5 }],
    [{ priceCents: 1 }, { priceCents: 1, productId: 7001 }],
    [null],
    Array(1001).fill({ priceCents: 1 }),
  ].map((lineItems) => ({ amountCents: undefined, lineItems })),
  quantity: [{ lineItems: [{ quantity: 1_000_000 }, {}] }],
}

function invalidOrders(rule: Define): void {
  for (const [name, changes] of Object.entries(INVALID))
    rule(`invalid-${name}`, `An order with an invalid ${name.replace('-', ' ')} returns 400`, async (t) => {
      for (const change of changes)
        t.expect(await t.report({ externalOrderId: t.id('o'), amountCents: 100, ...change }), 400, 'invalid_body')
    })
}

export const conversions = group('conversions', { title: 'Orders', page: 'concepts/commissions.md#base' }, (rule) => {
  rule(
    'recorded',
    'An order with the code of an affiliate returns 201 with the attribution and the commission',
    async (t) => {
      const { id, discountCode } = await t.sharedAffiliate()
      const { attribution, commission } = await t.order({ amountCents: 10_000, couponCode: discountCode })
      t.fields(
        attribution,
        { affiliateId: id, method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' },
        'attribution',
      )
      t.fields(
        commission,
        { eligible: true, affiliateId: id, amountCents: 1600, status: 'APPROVED', restrictionReasonCode: null },
        'commission',
      )
    },
  )
  rule('row', 'The order is stored as a commission with the id `api:` and the order id', async (t) => {
    const { id, discountCode } = await t.sharedAffiliate()
    const [externalOrderId, occurredAt] = [t.id('o'), t.day()]
    const { commission } = await t.order({
      externalOrderId,
      orderName: '#1',
      amountCents: 10_000,
      discountCents: 1000,
      shippingCents: 500,
      taxCents: 700,
      couponCode: discountCode,
      occurredAt,
    })
    t.fields(
      await t.commissionOf(externalOrderId),
      {
        id: commission.id,
        affiliateId: id,
        externalOrderId,
        orderId: `api:${externalOrderId}`,
        orderName: '#1',
        orderSubtotalCents: 10_000,
        orderDiscountCents: 1000,
        orderShippingCents: 500,
        orderTaxCents: 700,
        commissionBaseCents: 9000,
        remainingBaseCents: 9000,
        commissionRateBps: 1600,
        commissionAmountCents: 1440,
        taxWithheldCents: 0,
        currency: 'USD',
        orderCurrency: 'USD',
        trackingMethod: 'API',
        attributionMethod: 'COUPON',
        orderStatus: 'APPROVED',
        happenedAt: occurredAt,
        attributionReasonCode: 'COUPON_MATCH',
        restrictionReasonCode: null,
        payoutBatchId: null,
        paidAt: null,
        termsVersion: 1,
        termsRule: null,
        availableAt: occurredAt,
      },
      'commission',
    )
  })
  rule(
    'key-required',
    'A conversion without Idempotency-Key returns 400 idempotency_key_required',
    async (t) => {
      t.expect(
        await t.post('/events', { externalOrderId: t.id('o'), amountCents: 100 }),
        400,
        'idempotency_key_required',
      )
    },
    { page: `${ERRORS}#idempotency_key_required` },
  )
  rule('default-type', '`type` defaults to conversion', async (t) => {
    for (const type of ['conversion', null, undefined])
      t.expect(await t.report({ type, externalOrderId: t.id('o'), amountCents: 100 }), 201)
  })
  rule('null', '`null` counts as not sent', async (t) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    const nothing = Object.fromEntries(OPTIONAL.map((name) => [name, null]))
    const externalOrderId = t.id('o')
    await t.order({ ...nothing, externalOrderId, amountCents: 1000, couponCode })
    t.fields(
      await t.commissionOf(externalOrderId),
      { orderName: null, currency: 'USD', orderDiscountCents: 0, orderShippingCents: 0, commissionAmountCents: 160 },
      'commission',
    )
  })
  invalidOrders(onPage(rule, `${ERRORS}#invalid_body`))
  rule('aliases', '`orderId` and `processedAt` are aliases, and must have the same value', async (t) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    const order = { amountCents: 100, couponCode }
    const [id, second] = [t.id('o'), t.id('o')]
    await t.order({ ...order, externalOrderId: undefined, orderId: id, processedAt: '2020-10-02' })
    t.equal((await t.commissionOf(id)).happenedAt, '2020-10-02T00:00:00.000Z', 'happenedAt')
    for (const ids of [{ externalOrderId: null }, { externalOrderId: '' }, { externalOrderId: ` ${id}` }]) {
      const times = { processedAt: '2020-10-02', occurredAt: '2020-10-02T02:00:00+02:00' }
      const again = await t.report({ ...order, ...times, ...ids, orderId: id })
      t.expect(again, 201)
      t.equal(again.headers.get('X-Order-Already-Recorded'), 'true', 'X-Order-Already-Recorded')
    }
    await t.order({ ...order, externalOrderId: second, orderId: '', occurredAt: '', processedAt: '2020-10-03' })
    t.equal((await t.commissionOf(second)).happenedAt, '2020-10-03T00:00:00.000Z', 'happenedAt')
    for (const two of [{ orderId: second }, { processedAt: '2020-10-01', occurredAt: '2020-10-02' }])
      t.expect(await t.report({ ...order, externalOrderId: id, ...two }), 400, 'invalid_body')
  })
  rule('default-currency', '`currency` defaults to USD, and another one is kept', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 1000, currency: 'EUR', couponCode: discountCode })
    t.fields(await t.commissionOf(externalOrderId), { currency: 'EUR', orderCurrency: 'EUR' }, 'commission')
  })
  rule('line-total', 'Without amountCents, the line items are added up', async (t) => {
    const { discountCode: couponCode } = await t.affiliateOf({ commissionPercent: 100 })
    for (const [lineItems, cents] of [
      [[{ priceCents: 2500, quantity: 2 }, { priceCents: 4000 }], 9000],
      [[{ priceCents: 333, quantity: null }], 333],
      [[{ priceCents: 0 }, { priceCents: 1, quantity: 3 }], 3],
      [[{ priceCents: 2_147_483_647 }], 2_147_483_647],
    ] as const)
      t.equal((await t.decide({ lineItems, couponCode })).commission.amountCents, cents, 'amountCents')
  })
  rule('amount-over-lines', 'amountCents takes precedence over the line items', async (t) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    for (const lineItems of [[{ priceCents: 1 }], [{ priceCents: 50_000 }], [{}, { quantity: 3 }], []]) {
      const { commission } = await t.decide({ amountCents: 10_000, lineItems, couponCode })
      t.equal(commission.amountCents, 1600, 'amountCents')
    }
  })
  rule(
    'future',
    'An order more than 5 minutes in the future returns 400 occurred_at_in_future',
    async (t) => {
      const occurredAt = after(new Date().toISOString(), 600_000)
      t.expect(
        await t.report({ externalOrderId: t.id('o'), amountCents: 100, occurredAt }),
        400,
        'occurred_at_in_future',
      )
    },
    { page: `${ERRORS}#occurred_at_in_future` },
  )
  rule('default-time', 'Without occurredAt an order happened when it was received', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    const reply = await t.report({ externalOrderId, amountCents: 100, couponCode: discountCode })
    t.expect(reply, 201)
    const now = Date.parse(reply.headers.get('Date') ?? new Date().toISOString())
    const { happenedAt, createdAt } = await t.commissionOf(externalOrderId)
    t.ok(
      Math.abs(Date.parse(createdAt) - Date.parse(happenedAt)) < 60_000,
      `happenedAt is ${happenedAt}, createdAt ${createdAt}`,
    )
    // The clock of a test shop may differ.
    if (!t.shop.isTestShop) t.ok(Math.abs(Date.parse(happenedAt) - now) < 60_000, `happenedAt is ${happenedAt}`)
  })
  repeated(onPage(rule, 'concepts/attribution.md#once-per-order'))
  rule(
    'order-id-whitespace',
    'Two order ids that differ in leading and trailing whitespace are one order',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      await t.order({ externalOrderId, amountCents: 100, couponCode: discountCode })
      const again = await t.report({
        externalOrderId: ` ${externalOrderId} `,
        amountCents: 100,
        couponCode: discountCode,
      })
      t.equal(again.headers.get('X-Order-Already-Recorded'), 'true', 'X-Order-Already-Recorded')
    },
  )
  rule('order-id-case', 'Order ids are case-sensitive', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 100, couponCode: discountCode })
    const other = await t.report({
      externalOrderId: externalOrderId.toUpperCase(),
      amountCents: 100,
      couponCode: discountCode,
    })
    t.equal(other.headers.get('X-Order-Already-Recorded'), null, 'X-Order-Already-Recorded')
  })
  dryRuns(rule)
})

/** Reports of one order. */
function repeated(rule: Define): void {
  const wasRecorded = ({ headers }: Reply) => headers.get('X-Order-Already-Recorded')

  rule('nobody', 'An order without evidence returns 201 with nothing attributed, and no commission', async (t) => {
    const externalOrderId = t.id('o')
    const { attribution, commission } = await t.order({ externalOrderId, amountCents: 1000 })
    t.equal(attribution, nobody('NO_EVIDENCE'), 'attribution')
    t.fields(
      commission,
      { id: null, eligible: false, affiliateId: null, amountCents: 0, status: null, restrictionReasonCode: null },
      'commission',
    )
    t.equal(await t.commissionsOf(externalOrderId), [], 'commissions')
  })
  rule('credited-later', 'An order that nobody was credited for can be credited by a later report', async (t) => {
    const [{ id, discountCode: couponCode }, order] = [
      await t.affiliate(),
      { externalOrderId: t.id('o'), amountCents: 1000 },
    ]
    await t.order(order)
    const credited = await t.report({ ...order, couponCode })
    t.equal([credited.body.attribution?.affiliateId, wasRecorded(credited)], [id, null], 'the second report')
    const { discountCode } = await t.sharedAffiliate()
    const third = await t.report({ ...order, couponCode: discountCode })
    t.equal([third.body, wasRecorded(third)], [credited.body, 'true'], 'the third report')
  })
  rule('once', 'An order that is reported again returns the recorded decision, and changes nothing', async (t) => {
    const [a, b, externalOrderId] = [await t.affiliate(), await t.sharedAffiliate(), t.id('o')]
    const order = { externalOrderId, amountCents: 10_000, couponCode: a.discountCode }
    const first = await t.order(order)
    const row = await t.commissionOf(externalOrderId)
    t.expect(await t.patch(`/affiliates?id=${a.id}`, { status: 'REJECTED' }), 200)
    for (const change of [{}, { amountCents: 1 }, { couponCode: b.discountCode, currency: 'EUR' }]) {
      const again = await t.report({ ...order, ...change })
      t.equal(t.expect(again, 201), first, 'the second response')
      t.equal(wasRecorded(again), 'true', 'X-Order-Already-Recorded')
    }
    t.equal(await t.commissionOf(externalOrderId), row, 'commission')
  })
  rule('own-response', 'Each Idempotency-Key of one order replays its own response', async (t) => {
    const order = { externalOrderId: t.id('o'), amountCents: 100, couponCode: (await t.sharedAffiliate()).discountCode }
    const keys = [randomUUID(), randomUUID()].map((key) => ({ headers: { 'Idempotency-Key': key } }))
    for (const key of keys) t.expect(await t.report(order, key), 201)
    const replies = [await t.report(order, keys[0]), await t.report(order, keys[1])]
    t.equal(
      replies.map(({ headers }) => headers.get('Idempotent-Replayed')),
      ['true', 'true'],
      'Idempotent-Replayed',
    )
    t.equal(replies.map(wasRecorded), [null, 'true'], 'X-Order-Already-Recorded')
  })
  rule('first-has-no-header', 'The first report has neither X-Order-Already-Recorded nor a replay', async (t) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    const first = await t.report({ externalOrderId: t.id('o'), amountCents: 100, couponCode })
    t.equal([wasRecorded(first), first.headers.get('Idempotent-Replayed')], [null, null], 'the headers')
  })
  rule('differs', 'A second report with another amount has X-Order-Differs, and the amount remains', async (t) => {
    const { discountCode: couponCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 10_000, couponCode })
    const again = await t.report({ externalOrderId, amountCents: 20_000, couponCode })
    t.expect(again, 201)
    t.equal(again.headers.get('X-Order-Differs'), 'true', 'X-Order-Differs')
    t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 1600, 'commissionAmountCents')
  })
}

function dryRuns(rule: Define): void {
  const dry = (t: Context, body: Json, dryRun: string, options: CallOptions = {}) =>
    t.post('/events', body, { query: { dryRun }, ...options })

  rule('dry-run', '`?dryRun=1` returns 200 with the decision and its trace, and writes nothing', async (t) => {
    const { id, campaignId: programId, discountCode } = await t.sharedAffiliate()
    const [externalOrderId, unknown] = [t.id('o'), t.id('unknown')]
    const order = { externalOrderId, amountCents: 10_000, discountCents: 1000, couponCode: discountCode, ref: unknown }
    const { dryRun, attribution, commission, trace } = await t.decide(order)
    t.equal([dryRun, commission.id], [true, null], 'dryRun and commission.id')
    t.fields(trace, { programId, commissionType: 'PERCENT_OF_SALE', rateBps: 1600, subtotalCents: 10_000 }, 'trace')
    t.fields(trace, { baseCents: 9000, amountCents: 1440, taxWithheldCents: 0, currency: 'USD' }, 'trace')
    t.equal(
      trace.candidates.map((one: Json) => [one.source, one.value, one.affiliateId, one.reasonCode, one.won]),
      [
        ['couponCode', discountCode, id, 'COUPON_MATCH', true],
        ['ref', unknown, null, 'NO_MATCH', false],
      ],
      'candidates',
    )
    t.equal(await t.commissionsOf(externalOrderId), [], 'commissions')
    const recorded = await t.order(order)
    t.equal(recorded.attribution, attribution, 'attribution of the report that follows')
    t.equal({ ...recorded.commission, id: null }, commission, 'commission of the report that follows')
    const again = await dry(t, order, '1')
    t.equal(again.headers.get('X-Order-Already-Recorded'), 'true', 'X-Order-Already-Recorded')
  })
  rule('dry-run-key', 'A dry run does not use up an Idempotency-Key', async (t) => {
    const [order, options] = [
      { externalOrderId: t.id('o'), amountCents: 1 },
      { headers: { 'Idempotency-Key': randomUUID() } },
    ]
    for (const amountCents of [2, 3]) t.expect(await dry(t, { ...order, amountCents }, '1', options), 200)
    t.expect(await t.report(order, options), 201)
  })
  rule('dry-run-invalid', 'A dry run rejects what a report does, and other values of the parameter', async (t) => {
    const order = { externalOrderId: t.id('o'), amountCents: 1 }
    t.expect(await dry(t, { ...order, amountCents: -1 }, '1'), 400, 'invalid_body')
    t.expect(await dry(t, { ...order, occurredAt: '2099-01-01' }, '1'), 400, 'occurred_at_in_future')
    for (const value of ['0', 'true', '']) t.expect(await dry(t, order, value), 400, 'invalid_parameter')
  })
}
