import { type Define, group, onPage } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { connect, decided, goods } from './owner.ts'

let products = Date.now() % 1_000_000_000

const product = () => String(7_000_000_000 + products++)

/** A rule of 50 percent for a product. */
async function addProductRule(t: Context, programId: string, productId: string, more: Json = {}): Promise<Json> {
  const rule = { programId, kind: 'product', value: productId, commissionPercent: 50, ...more }
  return t.expect(await t.owner('POST', '/product-rules', rule), 201).data
}

/** A program of 16% with product rules, and what its orders would earn. */
async function ruledProgram(t: Context) {
  const { discountCode: couponCode, campaignId } = await t.affiliateOf({})
  const [half, variant, once, other] = [product(), product(), product(), product()]
  await addProductRule(t, campaignId, half)
  await addProductRule(t, campaignId, variant, {
    kind: 'variant',
    commissionType: 'FLAT_PER_ITEM',
    commissionPercent: 2.5,
  })
  await addProductRule(t, campaignId, once, { commissionType: 'FLAT_PER_ORDER', commissionPercent: 1 })
  const pays = async (lineItems: Json[], more: Json = {}): Promise<number> =>
    (await t.decide({ lineItems, couponCode, ...more })).commission.amountCents
  return { half, variant, once, other, pays }
}

function productRules(rule: Define): void {
  rule(
    'product-rule',
    'A product rule replaces the rate for its product, and a variant rule that of its variant',
    async (t) => {
      const { half, variant, other, pays } = await t.once('product rules', () => ruledProgram(t))
      const quantity = 3
      t.equal(
        [
          await pays([
            { productId: half, priceCents: 1000 },
            { productId: other, priceCents: 1000 },
          ]),
          await pays([{ productId: half, variantId: variant, quantity, priceCents: 1000 }]),
          await pays([{ productId: half, variantId: other, quantity, priceCents: 1000 }]),
          await pays([{ productId: `gid://shopify/Product/${half}`, priceCents: 1000 }]),
        ],
        [500 + 160, 750, 1500, 160],
        'amountCents',
      )
    },
  )
  rule(
    'discount-over-lines',
    'With product rules the discount is distributed over the lines by their totals',
    async (t) => {
      const { half, other, pays } = await t.once('product rules', () => ruledProgram(t))
      const lines = [
        { productId: half, priceCents: 3000 },
        { productId: other, priceCents: 1000 },
      ]
      // 750 of the first line, 250 of the second.
      t.equal(await pays(lines, { discountCents: 1000 }), 1125 + 120, 'amountCents')
    },
  )
  rule('lines-without-price', 'Lines without a price share what is left of amountCents, by quantity', async (t) => {
    const { half, other, pays } = await t.once('product rules', () => ruledProgram(t))
    const lines = [{ productId: other, priceCents: 4000 }, { productId: half }, { productId: other, quantity: 2 }]
    // 2,000 for the single piece at 50%, the other 8,000 at 16%.
    t.equal(await pays(lines, { amountCents: 10_000 }), 1000 + 1280, 'amountCents')
  })
  rule(
    'flat-product-rule',
    'A product rule with a flat rate per order pays once, in addition to the rest',
    async (t) => {
      const { once, other, pays } = await t.once('product rules', () => ruledProgram(t))
      const lines = [
        { productId: once, quantity: 5, priceCents: 100 },
        { productId: once, priceCents: 100 },
        { productId: other, priceCents: 1000 },
      ]
      t.equal(await pays(lines), 100 + 160, 'amountCents')
    },
  )
}

function geoRules(rule: Define): void {
  rule('geo', 'An order to another place is GEO_NOT_ELIGIBLE, and one without a place GEO_UNKNOWN', async (t) => {
    const { campaignId, discountCode: couponCode } = await t.affiliateOf({})
    const where = { countries: ['US', 'CA'], postalPrefixes: ['90', '10'] }
    t.expect(await t.owner('PUT', `/geo-rules/${campaignId}`, where), 200)
    for (const [shipping, code] of [
      [{ country: 'US', state: 'CA', city: 'Los Angeles', postalCode: '90001' }, null],
      [{ country: ' us ', postalCode: ' 10115' }, null],
      [{ country: 'DE', postalCode: '10115' }, 'GEO_NOT_ELIGIBLE'],
      [{ country: 'US', postalCode: '80001' }, 'GEO_NOT_ELIGIBLE'],
      [{ country: 'DE', postalCode: null }, 'GEO_UNKNOWN'],
      [{ country: '', postalCode: '90001' }, 'GEO_UNKNOWN'],
      [{}, 'GEO_UNKNOWN'],
      [null, 'GEO_UNKNOWN'],
    ] as const) {
      const { commission } = await t.decide({ ...goods, couponCode, shipping })
      t.equal(commission.restrictionReasonCode, code, `restrictionReasonCode of ${JSON.stringify(shipping)}`)
    }
  })
}

export const connections = group(
  'connections',
  { title: 'Connections and rules', page: 'concepts/attribution.md#evidence', suite: 'owner', needs: ['owner'] },
  (rule) => {
    const ranking = onPage(rule, 'concepts/attribution.md#ranking')
    rule('product', 'A connected product is CONNECTED_PRODUCT with confidence 0.7', async (t) => {
      const [{ id }, productId] = [await t.sharedAffiliate(), product()]
      t.expect(await connect(t, 'product', productId, id), 201)
      t.equal(
        await decided(t, { lineItems: [{ productId, priceCents: 10_000 }] }),
        { affiliateId: id, method: 'CONNECTED_PRODUCT', confidence: 0.7, reasonCode: 'CONNECTED_PRODUCT_MATCH' },
        'attribution',
      )
    })
    rule(
      'global-id',
      'Ids are compared exactly: a global id, whitespace or a zero in front match nothing',
      async (t) => {
        const [{ id }, productId] = [await t.sharedAffiliate(), product()]
        t.expect(await connect(t, 'product', productId, id), 201)
        for (const given of [
          { productId: `gid://shopify/Product/${productId}` },
          { productId: ` ${productId}` },
          { productId: `0${productId}` },
          { productId: product(), variantId: productId },
        ]) {
          const { affiliateId } = await decided(t, { lineItems: [{ ...given, priceCents: 10_000 }] })
          t.equal(affiliateId, null, `affiliateId of ${JSON.stringify(given)}`)
        }
      },
    )
    rule('variant-before-product', 'A connected variant wins over its connected product', async (t) => {
      const [a, b, productId, variantId] = [await t.affiliate(), await t.affiliate(), product(), product()]
      t.expect(await connect(t, 'product', productId, a.id), 201)
      t.expect(await connect(t, 'variant', variantId, b.id), 201)
      for (const [variant, { id }] of [
        [variantId, b],
        [product(), a],
      ]) {
        const { affiliateId } = await decided(t, { lineItems: [{ productId, variantId: variant, priceCents: 10_000 }] })
        t.equal(affiliateId, id, 'affiliateId')
      }
    })
    ranking(
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
    ranking('customer', 'A connected customer is evidence, and wins over a product', async (t) => {
      const [a, b, customerId, productId] = [await t.affiliate(), await t.affiliate(), t.id('customer'), product()]
      t.expect(await connect(t, 'customerId', customerId, a.id), 201)
      t.expect(await connect(t, 'product', productId, b.id), 201)
      t.equal(
        (await decided(t, { customerId, lineItems: [{ productId, priceCents: 10_000 }] })).affiliateId,
        a.id,
        'affiliateId',
      )
    })
    rule(
      'connected-once',
      'Connecting what is connected returns 409 connection_exists',
      async (t) => {
        const [{ id }, productId] = [await t.sharedAffiliate(), product()]
        t.expect(await connect(t, 'product', productId, id), 201)
        t.expect(await connect(t, 'product', productId, id), 409, 'connection_exists')
        const name = t.code()
        t.expect(await connect(t, 'customerEmail', `Käufer${name}@bücher.example`, id), 201)
        t.expect(
          await connect(t, 'customerEmail', `KÄUFER${name}@xn--bcher-kva.example.`, id),
          409,
          'connection_exists',
        )
        const path = `/connections?kind=customerEmail&value=käufer${name}@BÜCHER.example`
        t.equal(t.expect(await t.owner('GET', path), 200).pagination.total, 1, 'the connections of the address')
      },
      { page: 'reference/errors.md#connection_exists' },
    )
    rule('deleted', 'A deleted connection credits nobody', async (t) => {
      const [{ id }, customerId] = [await t.sharedAffiliate(), t.id('customer')]
      const { data } = t.expect(await connect(t, 'customerId', customerId, id), 201)
      t.expect(await t.owner('DELETE', `/connections/${data.id}`), 200)
      t.equal((await decided(t, { customerId })).affiliateId, null, 'affiliateId')
    })
    productRules(onPage(rule, 'concepts/commissions.md#rate'))
    geoRules(onPage(rule, 'concepts/commissions.md#restrictions'))
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
