import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { connect, decided, goods } from './owner.ts'

let products = Date.now() % 1_000_000_000

const product = () => String(7_000_000_000 + products++)

/** A rule of 50 percent for a product. */
async function addProductRule(t: Context, programId: string, productId: string): Promise<Json> {
  const rule = { programId, kind: 'product', value: productId, commissionPercent: 50 }
  return t.expect(await t.owner('POST', '/product-rules', rule), 201).data
}

export const connections = group(
  'connections',
  { title: 'Connections and rules', page: 'concepts/attribution.md#evidence', suite: 'owner', needs: ['owner'] },
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
        await addProductRule(t, affiliate.campaignId, productId)
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
        await addProductRule(t, affiliate.campaignId, productId)
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

/** Removing a rule restores the rate of the program, and any place. */
function removal(rule: Define): void {
  rule(
    'rules-deleted',
    'A deleted product rule or geo rule no longer applies',
    async (t) => {
      const [{ campaignId, discountCode }, productId] = [await t.affiliateOf({}), product()]
      const { id } = await addProductRule(t, campaignId, productId)
      t.expect(await t.owner('PUT', `/geo-rules/${campaignId}`, { countries: ['US'] }), 200)
      t.expect(await t.owner('DELETE', `/product-rules/${id}`), 200)
      t.expect(await t.owner('DELETE', `/geo-rules/${campaignId}`), 200)
      const { commission } = await t.decide({ lineItems: [{ productId, priceCents: 1000 }], couponCode: discountCode })
      t.equal(commission.amountCents, 160, 'amountCents')
    },
    { page: 'concepts/commissions.md#rate' },
  )
  rule('listed', 'Connections, product rules and geo rules are listed', async (t) => {
    const [{ id, campaignId }, productId] = [await t.affiliateOf({}), product()]
    t.expect(await connect(t, 'product', productId, id), 201)
    await addProductRule(t, campaignId, productId)
    t.expect(await t.owner('PUT', `/geo-rules/${campaignId}`, { countries: ['US'] }), 200)
    const list = async (path: string, query?: Record<string, string>) =>
      t.expect(await t.owner('GET', path, undefined, { limit: 100, ...query }), 200).data
    t.equal(
      (await list('/connections', { affiliateId: id })).map((json: Json) => json.value),
      [productId],
      'connections of the affiliate',
    )
    t.equal(
      (await list('/product-rules', { programId: campaignId })).map((json: Json) => json.value),
      [productId],
      'product rules of the program',
    )
    t.ok(
      (await list('/geo-rules')).some((json: Json) => json.programId === campaignId),
      'the geo rule is not listed',
    )
  })
}
