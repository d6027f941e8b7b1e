import { group } from '../check.ts'
import { after, type Json } from '../context.ts'

const ERRORS = 'reference/errors.md'
const invalid = { page: `${ERRORS}#invalid_body` }

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
        payoutBatchId: null,
        paidAt: null,
      },
      'commission',
    )
  })
  rule('stored-id-filter', 'The filter externalOrderId accepts the stored id', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 100, couponCode: discountCode })
    t.equal((await t.commissionOf(`api:${externalOrderId}`)).externalOrderId, externalOrderId, 'externalOrderId')
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
    t.expect(await t.report({ type: 'conversion', externalOrderId: t.id('o'), amountCents: 100 }), 201)
    t.expect(await t.report({ externalOrderId: t.id('o'), amountCents: 100 }), 201)
  })
  rule(
    'unknown-type',
    'An unknown type returns 400',
    async (t) => {
      t.expect(await t.report({ type: 'sale', externalOrderId: t.id('o'), amountCents: 100 }), 400)
    },
    invalid,
  )
  rule(
    'order-id-required',
    'An order without an id returns 400',
    async (t) => {
      for (const body of [{}, { externalOrderId: null }, { externalOrderId: ' ' }])
        t.expect(await t.report({ ...body, amountCents: 100 }), 400, 'invalid_body')
    },
    invalid,
  )
  rule(
    'amount-required',
    'An order without amountCents and lineItems returns 400',
    async (t) => {
      t.expect(await t.report({ externalOrderId: t.id('o') }), 400, 'invalid_body')
      t.expect(await t.report({ externalOrderId: t.id('o'), lineItems: [{ productId: '1' }] }), 400)
    },
    invalid,
  )
  for (const [name, amountCents] of [
    ['fraction', 10.5],
    ['text', '1000'],
    ['negative', -1],
    ['too-large', 2_147_483_648],
  ] as const)
    rule(
      `amount-${name}`,
      `amountCents ${JSON.stringify(amountCents)} returns 400`,
      async (t) => {
        t.expect(await t.report({ externalOrderId: t.id('o'), amountCents }), 400, 'invalid_body')
      },
      invalid,
    )
  rule(
    'other-amounts',
    'discountCents, shippingCents and taxCents must be integers of at least 0',
    async (t) => {
      for (const name of ['discountCents', 'shippingCents', 'taxCents'])
        for (const value of [-1, 0.5])
          t.expect(await t.report({ externalOrderId: t.id('o'), amountCents: 100, [name]: value }), 400, 'invalid_body')
    },
    invalid,
  )
  rule('aliases', '`orderId` and `processedAt` are aliases of externalOrderId and occurredAt', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const [orderId, processedAt] = [t.id('o'), t.day()]
    await t.order({ externalOrderId: undefined, orderId, amountCents: 100, couponCode: discountCode, processedAt })
    t.equal((await t.commissionOf(orderId)).happenedAt, processedAt, 'happenedAt')
  })
  rule('default-currency', '`currency` defaults to USD, and another one is kept', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 1000, currency: 'EUR', couponCode: discountCode })
    t.fields(await t.commissionOf(externalOrderId), { currency: 'EUR', orderCurrency: 'EUR' }, 'commission')
  })
  rule(
    'currency-format',
    '`currency` must be a currency of ISO 4217',
    async (t) => {
      for (const currency of ['usd', 'US', 'DOLLAR', 'UDS', 1])
        t.expect(await t.report({ externalOrderId: t.id('o'), amountCents: 100, currency }), 400, 'invalid_body')
    },
    invalid,
  )
  rule('line-total', 'Without amountCents, the line items are added up', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const { commission } = await t.order({
      lineItems: [
        { productId: '1', quantity: 3, priceCents: 1000 },
        { productId: '2', priceCents: 2000 },
      ],
      couponCode: discountCode,
    })
    t.equal(commission.amountCents, 800, 'amountCents')
  })
  rule('amount-over-lines', 'amountCents takes precedence over the line items', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const { commission } = await t.order({
      amountCents: 10_000,
      lineItems: [{ productId: '1', priceCents: 1000 }],
      couponCode: discountCode,
    })
    t.equal(commission.amountCents, 1600, 'amountCents')
  })
  rule(
    'quantity',
    'A quantity of 0, below 0 or with a fraction returns 400',
    async (t) => {
      for (const quantity of [0, -1, 1.5])
        t.expect(
          await t.report({ externalOrderId: t.id('o'), lineItems: [{ productId: '1', priceCents: 100, quantity }] }),
          400,
          'invalid_body',
        )
    },
    invalid,
  )
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
  rule(
    'nobody',
    'An order without evidence returns 201 with nothing attributed, and has no commission',
    async (t) => {
      const externalOrderId = t.id('o')
      const { attribution, commission } = await t.order({ externalOrderId, amountCents: 1000 })
      t.equal(attribution, { affiliateId: null, method: null, confidence: 0, reasonCode: 'NO_EVIDENCE' }, 'attribution')
      t.fields(
        commission,
        { id: null, eligible: false, affiliateId: null, amountCents: 0, status: null, restrictionReasonCode: null },
        'commission',
      )
      t.equal(await t.commissionsOf(externalOrderId), [], 'commissions')
    },
    { page: 'concepts/attribution.md#once-per-order' },
  )
  rule(
    'credited-later',
    'An order that nobody was credited for can be credited by a later report',
    async (t) => {
      const { id, discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      await t.order({ externalOrderId, amountCents: 1000 })
      t.equal(
        (await t.order({ externalOrderId, amountCents: 1000, couponCode: discountCode })).attribution.affiliateId,
        id,
        'affiliateId',
      )
    },
    { page: 'concepts/attribution.md#once-per-order' },
  )
  rule(
    'once',
    'An order that is reported again returns the recorded decision with X-Order-Already-Recorded, and changes nothing',
    async (t) => {
      const [a, b, externalOrderId] = [await t.affiliate(), await t.affiliate(), t.id('o')]
      const first = await t.order({ externalOrderId, amountCents: 10_000, couponCode: a.discountCode })
      const again = await t.report({ externalOrderId, amountCents: 10_000, couponCode: b.discountCode })
      t.equal(t.expect(again, 201), first, 'the second response')
      t.equal(again.headers.get('X-Order-Already-Recorded'), 'true', 'X-Order-Already-Recorded')
      t.equal((await t.commissionOf(externalOrderId)).affiliateId, a.id, 'affiliateId')
    },
    { page: 'concepts/attribution.md#once-per-order' },
  )
  rule(
    'first-has-no-header',
    'The first report of an order has neither X-Order-Already-Recorded nor Idempotent-Replayed',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const { headers } = await t.report({ externalOrderId: t.id('o'), amountCents: 100, couponCode: discountCode })
      t.equal(
        [headers.get('X-Order-Already-Recorded'), headers.get('Idempotent-Replayed')],
        [null, null],
        'the headers',
      )
    },
    { page: 'concepts/attribution.md#once-per-order' },
  )
  rule(
    'differs',
    'A second report with another amount has X-Order-Differs, and the amount remains',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      await t.order({ externalOrderId, amountCents: 10_000, couponCode: discountCode })
      const again = await t.report({ externalOrderId, amountCents: 20_000, couponCode: discountCode })
      t.expect(again, 201)
      t.equal(again.headers.get('X-Order-Differs'), 'true', 'X-Order-Differs')
      t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 1600, 'commissionAmountCents')
    },
    { page: 'concepts/attribution.md#once-per-order' },
  )
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
  rule(
    'dry-run',
    '`?dryRun=1` returns 200 with the decision and its trace, requires no key, and writes nothing',
    async (t) => {
      const { id, discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      const decision = await t.decide({ externalOrderId, amountCents: 10_000, couponCode: discountCode })
      t.equal(
        [decision.dryRun, decision.attribution.affiliateId, decision.commission.amountCents],
        [true, id, 1600],
        'dryRun, affiliateId and amountCents',
      )
      t.ok(
        decision.trace?.candidates?.some((candidate: Json) => candidate.won),
        'the trace must contain the winner',
      )
      t.equal(await t.commissionsOf(externalOrderId), [], 'commissions')
    },
  )
  rule('filters', 'Commissions can be listed by status, program and period, newest happenedAt first', async (t) => {
    const affiliate = await t.affiliateOf({})
    const day = t.day()
    const orders = [t.id('old'), t.id('new')]
    for (const [n, externalOrderId] of orders.entries())
      await t.order({
        externalOrderId,
        amountCents: 100,
        couponCode: affiliate.discountCode,
        occurredAt: after(day, n * 1000),
      })
    const ids = async (query: Record<string, string>) =>
      t.expect(await t.get('/commissions', query), 200).data.map((json: Json) => json.externalOrderId)
    t.equal(await ids({ programId: affiliate.campaignId }), [...orders].reverse(), 'orders of the program')
    t.equal(await ids({ programId: affiliate.campaignId, status: 'PENDING' }), [], 'pending orders')
    t.equal(
      await ids({ programId: affiliate.campaignId, from: after(day, 1) }),
      [orders[1]],
      'orders from the second on',
    )
  })
})
