import { createHmac, randomInt } from 'node:crypto'
import { group } from '../check.ts'
import type { Reply } from '../client.ts'
import type { Context, Json } from '../context.ts'

const numericId = (): number => randomInt(1e12, 9e12)

interface Store {
  shopify: (topic: string, body: Json, secret?: string) => Promise<Reply>
  stripe: (event: Json, secret?: string) => Promise<Reply>
}

/** Connects stores that send notifications to the shop. */
async function withStore(t: Context, work: (store: Store) => Promise<void>): Promise<void> {
  const { shopId, ...settings } = t.expect(await t.owner('GET', '/settings'), 200).data
  if ((settings.hasStoreWebhookSecret || settings.hasStripeWebhookSecret) && !t.shop.isTestShop)
    t.skip('would replace the secret of a connected store')
  const [own, ownOfStripe] = [`${t.code()}${t.code()}`, `whsec_${t.code()}${t.code()}${t.code()}${t.code()}`]
  const connect = async (storeWebhookSecret: string | null, stripeWebhookSecret: string | null) =>
    t.expect(await t.owner('PATCH', '/settings', { storeWebhookSecret, stripeWebhookSecret }), 200)
  const send = (path: string, raw: string, headers: Record<string, string>) =>
    t.call('POST', `/integrations/${path}`, { key: null, raw, headers })
  await connect(own, ownOfStripe)
  try {
    await work({
      shopify: (topic, body, secret = own) => {
        const raw = JSON.stringify(body)
        return send(`shopify/${shopId}/${topic.replace('/', '-')}`, raw, {
          'X-Shopify-Topic': topic,
          'X-Shopify-Hmac-Sha256': createHmac('sha256', secret).update(raw).digest('base64'),
        })
      },
      stripe: (event, secret = ownOfStripe) => {
        const [raw, at] = [JSON.stringify(event), Math.floor(Date.now() / 1000)]
        const signature = createHmac('sha256', secret).update(`${at}.${raw}`).digest('hex')
        return send(`stripe/${shopId}`, raw, { 'Stripe-Signature': `t=${at},v1=${signature}` })
      },
    })
  } finally {
    await connect(null, null)
  }
}

export const stores = group(
  'stores',
  { title: 'Store notifications', page: 'stores.md', suite: 'owner', needs: ['owner', 'settings'], isExclusive: true },
  (rule) => {
    rule('shopify', 'A paid order of a store earns, and its refund and cancellation count once', async (t) => {
      const { id: affiliateId, discountCode } = await t.sharedAffiliate()
      const [id, order_id] = [numericId(), numericId()]
      const order = {
        id: order_id,
        name: `#${order_id}`,
        financial_status: 'paid',
        currency: 'USD',
        processed_at: t.day(),
        total_line_items_price: '100.00',
        discount_codes: [{ code: discountCode }],
        line_items: [{ product_id: 7001, variant_id: 9001, quantity: 2, price: '50.00' }],
      }
      const returned = [{ quantity: 1, subtotal: 50, line_item: { product_id: 7001, variant_id: 9001 } }]
      await withStore(t, async ({ shopify }) => {
        for (const [topic, body, orderStatus, commissionAmountCents] of [
          ['orders/paid', order, 'APPROVED', 1600],
          ['refunds/create', { id, order_id, refund_line_items: returned }, 'APPROVED', 800],
          ['orders/cancelled', { id: order_id, cancelled_at: t.day() }, 'CANCELED', 800],
        ] as const)
          for (const _ of [1, 2]) {
            t.expect(await shopify(topic, body), 200)
            t.fields(
              await t.commissionOf(`shopify:${order_id}`),
              { affiliateId, trackingMethod: 'STORE_ORDER', orderStatus, commissionAmountCents },
              `commission after ${topic}`,
            )
          }
      })
    })
    rule('stripe', 'A paid invoice of Stripe earns on its goods, once', async (t) => {
      const [{ id: affiliateId, discountCode: referral_code }, id] = [await t.sharedAffiliate(), `in_${t.code()}`]
      const paid_at = Math.floor(Date.parse(t.day()) / 1000)
      const line = { amount: 10_000, quantity: 1, discount_amounts: [{ amount: 1000 }], taxes: [] }
      const invoice = {
        id,
        currency: 'usd',
        customer: `cus_${t.code()}`,
        total: 9000,
        status_transitions: { paid_at },
        parent: { subscription_details: { metadata: { referral_code } } },
        lines: { has_more: false, data: [line] },
      }
      const event = {
        id: `evt_${t.code()}`,
        type: 'invoice.paid',
        created: paid_at,
        livemode: true,
        data: { object: invoice },
      }
      await withStore(t, async ({ stripe }) => {
        for (const _ of [1, 2]) t.expect(await stripe(event), 200)
        t.expect(await stripe({ ...event, type: 'customer.created' }), 200)
        const row = await t.commissionOf(`stripe:${id}`)
        t.fields(row, { affiliateId, orderSubtotalCents: 10_000, commissionAmountCents: 1440 }, 'commission')
        t.expect(await t.owner('POST', `/commissions/${row.id}/cancel`), 200)
      })
    })
    rule(
      'signature',
      'A notification with the signature of another secret is refused',
      async (t) => {
        await withStore(t, async ({ shopify, stripe }) => {
          const secret = `${t.code()}${t.code()}`
          t.expect(
            await shopify('orders/cancelled', { id: numericId(), cancelled_at: t.day() }, secret),
            401,
            'store_signature_invalid',
          )
          t.expect(await stripe({ id: 'evt_1', type: 'invoice.paid' }, secret), 400, 'stripe_signature_invalid')
        })
      },
      { page: 'reference/errors.md#stripe_signature_invalid' },
    )
  },
)
