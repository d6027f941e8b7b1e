import { type Define, group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'

const STATUS = 'concepts/commissions.md#status'
const MOVES = 'reference/errors.md#commission_move_not_allowed'
const goods = { amountCents: 10_000 }

const affiliateByHand = (t: Context): Promise<Json> =>
  t.once('by-hand', () => t.affiliateOf({ autoApproveOrder: false }))

/** A pending commission. */
async function pending(t: Context, given: Json = {}): Promise<{ id: string; externalOrderId: string }> {
  const { discountCode } = await affiliateByHand(t)
  const externalOrderId = t.id('o')
  const { commission } = await t.order({ ...goods, externalOrderId, couponCode: discountCode, ...given })
  return { id: commission.id, externalOrderId }
}
const act = (t: Context, id: string, action: string) => t.owner('POST', `/commissions/${id}/${action}`)
const moved = async (t: Context, id: string, action: string): Promise<Json> =>
  t.expect(await act(t, id, action), 200).data

export const moderation = group(
  'moderation',
  { title: 'Moderation', page: STATUS, profile: 'owner', needs: ['owner'] },
  (rule) => {
    for (const [action, status] of [
      ['approve', 'APPROVED'],
      ['reject', 'REJECTED'],
      ['cancel', 'CANCELED'],
    ] as const)
      rule(action, `${action} makes a PENDING commission ${status}`, async (t) => {
        const { id, externalOrderId } = await pending(t)
        t.equal((await moved(t, id, action)).orderStatus, status, 'orderStatus')
        t.equal((await t.commissionOf(externalOrderId)).orderStatus, status, 'orderStatus in the list')
      })
    rule('reopen', 'reopen evaluates a REJECTED commission again', async (t) => {
      const { id } = await pending(t)
      await moved(t, id, 'reject')
      t.fields(await moved(t, id, 'reopen'), { orderStatus: 'PENDING', commissionAmountCents: 1600 }, 'commission')
    })
    rule(
      'reopen-restricted',
      'reopen returns 409 commission_still_restricted until the cause is gone',
      async (t) => {
        const affiliate = await t.affiliateOf({ autoApproveOrder: false }, { status: 'PENDING' })
        const { commission } = await t.order({ ...goods, couponCode: affiliate.discountCode })
        t.expect(await act(t, commission.id, 'reopen'), 409, 'commission_still_restricted')
        t.expect(await t.patch(`/affiliates?id=${affiliate.id}`, { status: 'APPROVED' }), 200)
        t.fields(
          await moved(t, commission.id, 'reopen'),
          { orderStatus: 'PENDING', commissionAmountCents: 1600 },
          'commission',
        )
      },
      { page: 'concepts/commissions.md#restrictions' },
    )
    rule('reverse', 'reverse makes a PAID commission REVERSED, and records what it takes back', async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      const row = await t.commissionOf(externalOrderId)
      t.equal((await moved(t, row.id, 'reverse')).orderStatus, 'REVERSED', 'orderStatus')
      const adjustment = (await t.rowsOf(affiliate.id)).find((one) => one.trackingMethod === 'ADJUSTMENT')
      t.fields(adjustment, { orderId: `adj:${row.id}:reversal`, commissionAmountCents: -1440 }, 'adjustment')
    })
    const NOT_ALLOWED: [string, string[], string][] = [
      ['approve-twice', ['approve'], 'approve'],
      ['reverse-pending', [], 'reverse'],
      ['reopen-approved', ['approve'], 'reopen'],
      ['approve-canceled', ['cancel'], 'approve'],
      ['approve-rejected', ['reject'], 'approve'],
      ['cancel-twice', ['cancel'], 'cancel'],
    ]
    for (const [name, before, action] of NOT_ALLOWED)
      rule(
        name,
        `${action} after ${before.join(', ') || 'nothing'} returns 409 commission_move_not_allowed`,
        async (t) => {
          const { id } = await pending(t)
          for (const one of before) await moved(t, id, one)
          t.expect(await act(t, id, action), 409, 'commission_move_not_allowed')
        },
        { page: MOVES },
      )
    rule(
      'paid-cannot-be-canceled',
      'A PAID commission cannot be canceled or rejected',
      async (t) => {
        const { id, externalOrderId } = await t.batch()
        await t.pay(id)
        const row = await t.commissionOf(externalOrderId)
        for (const action of ['cancel', 'reject', 'approve'])
          t.expect(await act(t, row.id, action), 409, 'commission_move_not_allowed')
      },
      { page: MOVES },
    )
    rule(
      'adjustment-is-fixed',
      'An adjustment cannot be changed',
      async (t) => {
        const { id, externalOrderId } = await t.batch(9000)
        await t.pay(id)
        const { refund } = t.expect(
          await t.post('/events', { type: 'refund', externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 }),
          200,
        )
        t.expect(await act(t, refund.adjustmentId, 'cancel'), 409, 'commission_is_adjustment')
      },
      { page: 'reference/errors.md#commission_is_adjustment' },
    )
    rule(
      'cancel-in-batch',
      'A commission that is canceled leaves its open batch',
      async (t) => {
        const [affiliate, day] = [await t.affiliate(), t.day()]
        const ids = []
        for (const _ of [1, 2])
          ids.push((await t.order({ ...goods, couponCode: affiliate.discountCode, occurredAt: day })).commission.id)
        const { id } = t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200).data
        await moved(t, ids[0], 'cancel')
        t.equal(t.expect(await t.get('/payouts', { id }), 200).data[0].totals.commissionCents, 1600, 'commissionCents')
      },
      { page: 'concepts/payouts.md#status' },
    )
    rule(
      'unknown',
      'An unknown commission returns 404 commission_not_found',
      async (t) => {
        t.expect(await act(t, 'com_unknown', 'approve'), 404, 'commission_not_found')
      },
      { page: 'reference/errors.md#commission_not_found' },
    )
    rule(
      'refund-too-much',
      'A refund by an owner of more than is left returns 409 refund_exceeds_order',
      async (t) => {
        const { id } = await pending(t)
        t.expect(
          await t.owner('POST', `/commissions/${id}/refund`, { externalRefundId: t.id('r'), amountCents: 10_001 }),
          409,
          'refund_exceeds_order',
        )
      },
      { page: 'concepts/refunds.md#refunds' },
    )
    rule(
      'refund-all',
      'A refund without an amount refunds all that is left',
      async (t) => {
        const { id } = await pending(t)
        const { data } = t.expect(
          await t.owner('POST', `/commissions/${id}/refund`, { externalRefundId: t.id('r') }),
          200,
        )
        t.fields(data, { orderStatus: 'REFUNDED', commissionAmountCents: 0 }, 'commission')
      },
      { page: 'concepts/refunds.md#amount' },
    )
    rule('many', 'moderate changes the commissions that allow it, and lists the others', async (t) => {
      const [a, b] = [await pending(t), await pending(t)]
      await moved(t, b.id, 'cancel')
      const { data } = t.expect(
        await t.owner('POST', '/commissions/moderate', { action: 'approve', ids: [a.id, b.id] }),
        200,
      )
      t.fields(data, { changed: 1, skipped: [{ id: b.id, code: 'commission_move_not_allowed' }] }, 'data')
    })
    batches(rule)
  },
)

function batches(rule: Define): void {
  rule(
    'cancel-batch',
    'Canceling an open batch makes it FAILED, and its commissions can be paid by another one',
    async (t) => {
      const { id, affiliate, day, externalOrderId } = await t.batch()
      t.equal(t.expect(await t.owner('POST', `/payouts/${id}/cancel`), 200).data.status, 'FAILED', 'status')
      t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'APPROVED', payoutBatchId: null }, 'commission')
      t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200)
    },
    { page: 'concepts/payouts.md#status' },
  )
  rule(
    'cancel-paid-batch',
    'A PAID batch cannot be canceled: 409 payout_not_cancelable',
    async (t) => {
      const { id } = await t.batch()
      await t.pay(id)
      t.expect(await t.owner('POST', `/payouts/${id}/cancel`), 409, 'payout_not_cancelable')
    },
    { page: 'reference/errors.md#payout_not_cancelable' },
  )
}

const connect = async (t: Context, kind: string, value: string, affiliateId: string) =>
  t.owner('POST', '/connections', { kind, value, affiliateId })
let products = Date.now() % 1_000_000_000
const product = () => String(7_000_000_000 + products++)
const decided = async (t: Context, body: Json) => (await t.decide({ ...goods, ...body })).attribution

export const connections = group(
  'connections',
  { title: 'Connections and rules', page: 'concepts/attribution.md#evidence', profile: 'owner', needs: ['owner'] },
  (rule) => {
    rule('product', 'A connected product is CONNECTED_PRODUCT with confidence 0.7', async (t) => {
      const [{ id }, productId] = [await t.sharedAffiliate(), product()]
      t.expect(await connect(t, 'product', productId, id), 201)
      t.equal(
        await decided(t, { lineItems: [{ productId, priceCents: 10_000 }] }),
        { affiliateId: id, method: 'CONNECTED_PRODUCT', confidence: 0.7, reasonCode: 'CONNECTED_PRODUCT_MATCH' },
        'attribution',
      )
    })
    rule('global-id', 'A global id (`gid://…`) matches no connected product', async (t) => {
      const [{ id }, productId] = [await t.sharedAffiliate(), product()]
      t.expect(await connect(t, 'product', productId, id), 201)
      t.equal(
        (await decided(t, { lineItems: [{ productId: `gid://shopify/Product/${productId}`, priceCents: 10_000 }] }))
          .affiliateId,
        null,
        'affiliateId',
      )
    })
    rule('variant-before-product', 'A connected variant wins over its connected product', async (t) => {
      const [a, b, productId, variantId] = [await t.affiliate(), await t.affiliate(), product(), product()]
      t.expect(await connect(t, 'product', productId, a.id), 201)
      t.expect(await connect(t, 'variant', variantId, b.id), 201)
      t.equal(
        (await decided(t, { lineItems: [{ productId, variantId, priceCents: 10_000 }] })).affiliateId,
        b.id,
        'affiliateId',
      )
    })
    rule(
      'highest-total',
      'Of several connected products, the affiliate with the highest line total wins',
      async (t) => {
        const [a, b, one, two] = [await t.affiliate(), await t.affiliate(), product(), product()]
        t.expect(await connect(t, 'product', one, a.id), 201)
        t.expect(await connect(t, 'product', two, b.id), 201)
        t.equal(
          (
            await decided(t, {
              amountCents: undefined,
              lineItems: [
                { productId: one, priceCents: 1000 },
                { productId: two, quantity: 2, priceCents: 600 },
              ],
            })
          ).affiliateId,
          b.id,
          'affiliateId',
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'matching-lines-only',
      'An order that was won by a product pays for the matching lines only',
      async (t) => {
        const [{ id }, productId] = [await t.sharedAffiliate(), product()]
        t.expect(await connect(t, 'product', productId, id), 201)
        const { commission } = await t.decide({
          lineItems: [
            { productId, priceCents: 1000 },
            { productId: product(), priceCents: 9000 },
          ],
        })
        t.equal(commission.amountCents, 160, 'amountCents')
      },
      { page: 'concepts/commissions.md#rate' },
    )
    rule(
      'customer',
      'A connected customer is evidence, and wins over a product',
      async (t) => {
        const [a, b, customerId, productId] = [await t.affiliate(), await t.affiliate(), t.id('customer'), product()]
        t.expect(await connect(t, 'customerId', customerId, a.id), 201)
        t.expect(await connect(t, 'product', productId, b.id), 201)
        t.equal(
          (await decided(t, { customerId, lineItems: [{ productId, priceCents: 10_000 }] })).affiliateId,
          a.id,
          'affiliateId',
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'connected-once',
      'Connecting what is connected returns 409 connection_exists',
      async (t) => {
        const [{ id }, productId] = [await t.sharedAffiliate(), product()]
        t.expect(await connect(t, 'product', productId, id), 201)
        t.expect(await connect(t, 'product', productId, id), 409, 'connection_exists')
      },
      { page: 'reference/errors.md#connection_exists' },
    )
    rule('deleted', 'A deleted connection credits nobody', async (t) => {
      const [{ id }, customerId] = [await t.sharedAffiliate(), t.id('customer')]
      const { data } = t.expect(await connect(t, 'customerId', customerId, id), 201)
      t.expect(await t.owner('DELETE', `/connections/${data.id}`), 200)
      t.equal((await decided(t, { customerId })).affiliateId, null, 'affiliateId')
    })
    rule(
      'product-rule',
      'A product rule replaces the rate for its product',
      async (t) => {
        const [affiliate, productId] = [await t.affiliateOf({}), product()]
        t.expect(
          await t.owner('POST', '/product-rules', {
            programId: affiliate.campaignId,
            kind: 'product',
            value: productId,
            commissionPercent: 50,
          }),
          201,
        )
        const lineItems = [
          { productId, priceCents: 1000 },
          { productId: product(), priceCents: 1000 },
        ]
        t.equal(
          (await t.decide({ lineItems, couponCode: affiliate.discountCode })).commission.amountCents,
          660,
          'amountCents',
        )
      },
      { page: 'concepts/commissions.md#rate' },
    )
    rule(
      'discount-over-lines',
      'With product rules the discount is distributed over the lines by their totals',
      async (t) => {
        const [affiliate, productId] = [await t.affiliateOf({ commissionPercent: 10 }), product()]
        t.expect(
          await t.owner('POST', '/product-rules', {
            programId: affiliate.campaignId,
            kind: 'product',
            value: productId,
            commissionPercent: 50,
          }),
          201,
        )
        const lineItems = [
          { productId, priceCents: 3000 },
          { productId: product(), priceCents: 1000 },
        ]
        t.equal(
          (await t.decide({ lineItems, discountCents: 400, couponCode: affiliate.discountCode })).commission
            .amountCents,
          1350 + 90,
          'amountCents',
        )
      },
      { page: 'concepts/commissions.md#rate' },
    )
    rule(
      'geo',
      'With a geo rule, an order to another place is GEO_NOT_ELIGIBLE, and one without a place GEO_UNKNOWN',
      async (t) => {
        const { campaignId, discountCode } = await t.affiliateOf({})
        t.expect(await t.owner('PUT', `/geo-rules/${campaignId}`, { countries: ['US'] }), 200)
        const of = async (shipping?: Json) =>
          (await t.decide({ ...goods, couponCode: discountCode, shipping })).commission.restrictionReasonCode
        t.equal(
          [await of({ country: 'us' }), await of({ country: 'CA' }), await of()],
          [null, 'GEO_NOT_ELIGIBLE', 'GEO_UNKNOWN'],
          'restrictionReasonCode',
        )
      },
      { page: 'concepts/commissions.md#restrictions' },
    )
    removal(rule)
  },
)

/** Changes settings of the shop, and restores them. */
async function withSettings(t: Context, change: Json, work: () => Promise<void>): Promise<void> {
  const before = t.expect(await t.owner('GET', '/settings'), 200).data
  const names = Object.keys(change)
  t.expect(await t.owner('PATCH', '/settings', change), 200)
  try {
    await work()
  } finally {
    await t.owner('PATCH', '/settings', Object.fromEntries(names.map((name) => [name, before[name]])))
  }
}

export const settings = group(
  'settings',
  {
    title: 'Settings',
    page: 'concepts/payouts.md#minimum',
    profile: 'owner',
    needs: ['owner', 'settings'],
    isExclusive: true,
  },
  (rule) => {
    rule(
      'minimum-payout',
      'A total below the minimum payout returns 409 payout_below_threshold, and claims nothing',
      async (t) => {
        const [affiliate, day, externalOrderId] = [await t.affiliate(), t.day(), t.id('o')]
        await t.order({ ...goods, externalOrderId, couponCode: affiliate.discountCode, occurredAt: day })
        await withSettings(
          t,
          { minimumPayoutCents: 1601 },
          async () =>
            void t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 409, 'payout_below_threshold'),
        )
        t.equal((await t.commissionOf(externalOrderId)).orderStatus, 'APPROVED', 'orderStatus')
        await withSettings(
          t,
          { minimumPayoutCents: 1600 },
          async () => void t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200),
        )
      },
    )
    rule(
      'legacy-minimum',
      'A minimum of an earlier version that differs returns 409 payout_threshold_needs_reconciliation',
      async (t) => {
        const [affiliate, day] = [await t.affiliate(), t.day()]
        await t.order({ ...goods, couponCode: affiliate.discountCode, occurredAt: day })
        await withSettings(
          t,
          { minimumPayoutCents: 1000, legacyMinimumPayout: '25.50' },
          async () =>
            void t.expect(
              await t.post('/payouts', t.periodOf(day, affiliate)),
              409,
              'payout_threshold_needs_reconciliation',
            ),
        )
      },
    )
    rule(
      'tax',
      'Tax is withheld from each commission, rounded half up, and deducted from the payout',
      async (t) => {
        const [affiliate, day, externalOrderId] = [await t.affiliate(), t.day(), t.id('o')]
        await withSettings(
          t,
          { taxWithholdingBps: 1050 },
          async () =>
            void (await t.order({
              amountCents: 10_003,
              externalOrderId,
              couponCode: affiliate.discountCode,
              occurredAt: day,
            })),
        )
        t.fields(
          await t.commissionOf(externalOrderId),
          { commissionAmountCents: 1600, taxWithheldCents: 168 },
          'commission',
        )
        const { totals } = t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200).data
        t.fields(totals, { commissionCents: 1600, taxWithheldCents: 168, netPayableCents: 1432 }, 'totals')
      },
      { page: 'concepts/payouts.md#create-a-batch' },
    )
    rule(
      'link-first',
      'With the precedence link-first, a click wins over a coupon',
      async (t) => {
        const [a, b] = [await t.affiliate(), await t.affiliate()]
        const clickId = t.expect(await t.post('/events', { type: 'click', ref: a.slug }), 202).id
        await withSettings(t, { attributionPrecedence: 'link-first' }, async () =>
          t.equal((await decided(t, { couponCode: b.discountCode, clickId })).affiliateId, a.id, 'affiliateId'),
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'customer-first',
      'With the precedence customer-first, a connected customer wins over a coupon',
      async (t) => {
        const [a, b, customerId] = [await t.affiliate(), await t.affiliate(), t.id('customer')]
        t.expect(await connect(t, 'customerId', customerId, a.id), 201)
        await withSettings(t, { attributionPrecedence: 'customer-first' }, async () =>
          t.equal((await decided(t, { couponCode: b.discountCode, customerId })).affiliateId, a.id, 'affiliateId'),
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'first-click',
      'With clickTouch FIRST, the first click of a session counts',
      async (t) => {
        const [a, b, sessionId, day] = [await t.affiliate(), await t.affiliate(), t.id('s'), t.day()]
        for (const [n, { slug }] of [a, b].entries())
          t.expect(
            await t.post('/events', { type: 'click', ref: slug, sessionId, occurredAt: after(day, n * 1000) }),
            202,
          )
        await withSettings(t, { clickTouch: 'FIRST' }, async () =>
          t.equal((await decided(t, { sessionId, occurredAt: after(day, 5000) })).affiliateId, a.id, 'affiliateId'),
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'flat-in-shop-currency',
      'A flat amount is in the currency of the shop, whatever the currency of the order',
      async (t) => {
        const affiliate = await t.affiliateOf({ commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
        const externalOrderId = t.id('o')
        const { currency } = t.expect(await t.owner('GET', '/settings'), 200).data
        await t.order({
          ...goods,
          externalOrderId,
          currency: currency === 'EUR' ? 'CHF' : 'EUR',
          couponCode: affiliate.discountCode,
        })
        t.fields(
          await t.commissionOf(externalOrderId),
          { currency, orderCurrency: currency === 'EUR' ? 'CHF' : 'EUR', commissionAmountCents: 500 },
          'commission',
        )
      },
      { page: 'concepts/commissions.md#rate' },
    )
    rule(
      'api-disabled',
      'With apiEnabled false, /api/v1 returns 503 api_disabled with Retry-After; the docs page and /admin/v1 are available',
      async (t) => {
        await withSettings(t, { apiEnabled: false }, async () => {
          const denied = await t.until(async () => {
            const reply = await t.get('/programs', { limit: 1 })
            return reply.status === 503 ? reply : undefined
          })
          t.ok(denied, '/api/v1 is available')
          if (denied) t.expect(denied, 503, 'api_disabled')
          t.expect(await t.get('/docs', {}, { key: null }), 200)
        })
        const back = await t.until(async () =>
          (await t.get('/programs', { limit: 1 })).status === 200 ? true : undefined,
        )
        t.ok(back, '/api/v1 is not available again')
      },
      { page: 'reference/errors.md#api_disabled' },
    )
    rule(
      'validated',
      'Invalid settings return 400',
      async (t) => {
        for (const body of [
          { taxWithholdingBps: 10_001 },
          { minimumPayoutCents: -1 },
          { clickTouch: 'MIDDLE' },
          { attributionPrecedence: ['COUPON'] },
          { unknown: 1 },
        ])
          t.expect(await t.owner('PATCH', '/settings', body), 400)
      },
      { page: 'reference/errors.md#invalid_body' },
    )
  },
)

/** Removing a rule restores the rate of the program, and any place. */
function removal(rule: Define): void {
  rule(
    'rules-deleted',
    'A deleted product rule or geo rule no longer applies',
    async (t) => {
      const [{ campaignId, discountCode }, productId] = [await t.affiliateOf({}), product()]
      const made = await t.owner('POST', '/product-rules', {
        programId: campaignId,
        kind: 'product',
        value: productId,
        commissionPercent: 50,
      })
      t.expect(await t.owner('PUT', `/geo-rules/${campaignId}`, { countries: ['US'] }), 200)
      t.expect(await t.owner('DELETE', `/product-rules/${t.expect(made, 201).data.id}`), 200)
      t.expect(await t.owner('DELETE', `/geo-rules/${campaignId}`), 200)
      const { commission } = await t.decide({ lineItems: [{ productId, priceCents: 1000 }], couponCode: discountCode })
      t.equal(commission.amountCents, 160, 'amountCents')
    },
    { page: 'concepts/commissions.md#rate' },
  )
  rule('listed', 'Connections, product rules and geo rules are listed', async (t) => {
    const [{ id, campaignId }, productId] = [await t.affiliateOf({}), product()]
    t.expect(await connect(t, 'product', productId, id), 201)
    t.expect(
      await t.owner('POST', '/product-rules', {
        programId: campaignId,
        kind: 'product',
        value: productId,
        commissionPercent: 50,
      }),
      201,
    )
    t.expect(await t.owner('PUT', `/geo-rules/${campaignId}`, { countries: ['US'] }), 200)
    const list = async (path: string, query?: Record<string, string>) =>
      t.expect(await t.owner('GET', path, undefined, { limit: 100, ...query }), 200).data
    t.equal(
      (await list('/connections', { affiliateId: id })).map((one: Json) => one.value),
      [productId],
      'connections of the affiliate',
    )
    t.equal(
      (await list('/product-rules', { programId: campaignId })).map((one: Json) => one.value),
      [productId],
      'product rules of the program',
    )
    t.ok(
      (await list('/geo-rules')).some((one: Json) => one.programId === campaignId),
      'the geo rule is not listed',
    )
  })
}

export const records = group(
  'records',
  { title: 'Audit and explanations', page: 'concepts/index.md#access', profile: 'owner', needs: ['owner'] },
  (rule) => {
    const listed = async (t: Context, action: string): Promise<Json[]> =>
      t.expect(await t.owner('GET', '/audit', undefined, { action, limit: 100 }), 200).data
    for (const [action, work] of Object.entries<(t: Context) => Promise<string>>({
      'affiliate.created': async (t) => (await t.affiliate({ status: 'PENDING' })).id,
      'affiliate.archived': async (t) => {
        const { id } = await t.affiliate()
        t.expect(await t.delete(`/affiliates?id=${id}`), 200)
        return id
      },
      'program.created': async (t) => (await t.program()).id,
      'coupon.assigned': async (t) => (await t.affiliate({ code: t.code() })).id,
      'commission.created': async (t) =>
        (await t.order({ ...goods, couponCode: (await t.sharedAffiliate()).discountCode })).commission.id,
      'payout.created': async (t) => (await t.batch()).id,
      'payout.paid': async (t) => {
        const { id } = await t.batch()
        await t.pay(id)
        return id
      },
    }))
      rule(action.replace('.', '-'), `The change is recorded as ${action}`, async (t) => {
        const id = await work(t)
        t.ok(
          (await listed(t, action)).some((one) => one.subjectId === id || JSON.stringify(one.data).includes(id)),
          `no record ${action} of ${id}`,
        )
      })
    rule('linked', 'Each audit record contains the hash of the previous one', async (t) => {
      const { data } = t.expect(await t.owner('GET', '/audit', undefined, { limit: 50 }), 200)
      for (const [n, one] of data.entries()) {
        const next = data[n + 1]
        if (next) t.equal([one.seq, one.previousHash], [next.seq + 1, next.hash], 'seq and previousHash')
      }
    })
    rule('session', 'The session names the user and the shop of an owner token', async (t) => {
      const { data } = t.expect(await t.owner('GET', '/session'), 200)
      t.equal([data.user.role, data.csrfToken], ['OWNER', null], 'role and csrfToken')
    })
    rule('no-secrets', 'The audit contains no URL and no secret of a webhook subscription', async (t) => {
      const [secret, host] = [`s${t.code()}${t.code()}`, `${t.code().toLowerCase()}.conformance.example`]
      const { data } = t.expect(
        await t.settled(() =>
          t.post('/webhooks', { url: `https://${host}/`, events: ['conformance.nothing'], secret }),
        ),
        200,
      )
      const found = await listed(t, 'webhook.created')
      t.expect(await t.settled(() => t.delete(`/webhooks?id=${data.id}`)), 200)
      t.ok(
        found.some((one) => one.subjectId === data.id),
        'no record webhook.created',
      )
      t.ok(
        !JSON.stringify(found).includes(secret) && !JSON.stringify(found).includes(host),
        'the record contains the URL or the secret',
      )
    })
    rule('payouts-are-audited', 'Listing payouts is recorded as payouts.accessed and payouts.listed', async (t) => {
      const before = (await listed(t, 'payouts.listed'))[0]?.seq ?? 0
      t.expect(await t.get('/payouts', { limit: 1 }), 200)
      for (const action of ['payouts.accessed', 'payouts.listed'])
        t.ok(((await listed(t, action))[0]?.seq ?? 0) > before, `no new record ${action}`)
    })
    rule(
      'explanation',
      'The explanation of an order names the winner and its arithmetic, and the replay is identical',
      async (t) => {
        const { id, discountCode } = await t.sharedAffiliate()
        const externalOrderId = t.id('o')
        await t.order({ ...goods, externalOrderId, couponCode: discountCode })
        const { data } = t.expect(await t.owner('GET', `/orders/${externalOrderId}/explanation`), 200)
        t.equal(
          [data.outcome, data.affiliate?.id, data.replay.identical],
          ['CREDITED', id, true],
          'outcome, affiliate and replay.identical',
        )
      },
      { page: 'concepts/index.md#concepts' },
    )
    rule(
      'explanation-of-nobody',
      'An order without an affiliate is explained, too',
      async (t) => {
        const externalOrderId = t.id('o')
        await t.order({ ...goods, externalOrderId, couponCode: t.code() })
        t.equal(
          t.expect(await t.owner('GET', `/orders/${externalOrderId}/explanation`), 200).data.outcome,
          'NOBODY',
          'outcome',
        )
        t.expect(await t.owner('GET', `/orders/${t.id('unknown')}/explanation`), 404, 'order_not_found')
      },
      { page: 'concepts/index.md#concepts' },
    )
  },
)
