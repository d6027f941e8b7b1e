import { readFile } from 'node:fs/promises'
import { type ConversionInput, createReferralClient, ReferralError } from '@referral/sdk'
import { credentials } from './credentials.ts'

/*
 * What a headless checkout does when an order is paid: it reports the order, and gets back who referred it and what
 * that earns. Run it with REFERRAL_BASE_URL and REFERRAL_API_KEY set; the order is the JSON file you name, or
 * storefront-order.json.
 */

/** The part of a store's order that is reported. Money is decimal text, ids are numbers. */
interface StoreOrder {
  id: number
  name: string
  currency: string
  processed_at: string
  total_line_items_price: string
  total_discounts: string
  total_shipping_price: string
  total_tax: string
  total_price: string
  note_attributes: { name: string; value: string }[]
  discount_codes: { code: string }[]
  customer: { id: number; email: string | null } | null
  shipping_address: { country_code: string; province_code: string | null; city: string; zip: string | null } | null
  line_items: {
    product_id: number | null
    variant_id: number | null
    quantity: number
    price: string
    title: string
    sku: string | null
  }[]
}

/** The order as the API reads it: cents instead of decimal text, ids as text. */
function toConversion(order: StoreOrder): ConversionInput {
  const { customer, shipping_address: place } = order
  return {
    externalOrderId: String(order.id),
    orderName: order.name,
    occurredAt: order.processed_at,
    currency: order.currency,
    // The goods before discount, shipping and tax: commission is paid on this, less the discount.
    amountCents: cents(order.total_line_items_price),
    discountCents: cents(order.total_discounts),
    shippingCents: cents(order.total_shipping_price),
    taxCents: cents(order.total_tax),
    couponCode: order.discount_codes[0]?.code ?? null,
    customerId: customer ? String(customer.id) : null,
    customerEmail: customer?.email ?? null,
    // Carries referral_click_id when the storefront put one there.
    noteAttributes: order.note_attributes,
    lineItems: order.line_items.map((line) => ({
      productId: line.product_id === null ? null : String(line.product_id),
      variantId: line.variant_id === null ? null : String(line.variant_id),
      quantity: line.quantity,
      priceCents: cents(line.price),
      title: line.title,
      sku: line.sku,
    })),
    shipping: place && {
      country: place.country_code,
      state: place.province_code,
      city: place.city,
      postalCode: place.zip,
    },
  }
}

/** `19.99` as 1999, digit by digit: 19.99 * 100 is 1998.9999999999998. */
function cents(amount: string): number {
  const [, units, fraction = ''] = /^(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? []
  if (units === undefined) throw new Error(`${amount} is not an amount with at most two decimals.`)
  return Number(units + fraction.padEnd(2, '0'))
}

const money = (amountCents: number, currency: string) => `${(amountCents / 100).toFixed(2)} ${currency}`

async function main() {
  const { baseUrl, apiKey } = credentials()
  const file = process.argv[2] ?? new URL('storefront-order.json', import.meta.url)
  const order: StoreOrder = JSON.parse(await readFile(file, 'utf8'))

  const client = createReferralClient({ baseUrl, apiKey })
  const { data: decision, response } = await client.events.conversion(toConversion(order)).withResponse()

  const { attribution, commission } = decision
  const isKnown = response.headers.has('X-Order-Already-Recorded') || response.headers.has('Idempotent-Replayed')
  console.error(`Order ${order.name} of ${order.total_price} ${order.currency}${isKnown ? ', reported before' : ''}:`)
  if (attribution.affiliateId === null) console.error(`nobody referred it (${attribution.reasonCode}).`)
  else {
    const why = commission.restrictionReasonCode ? `, because ${commission.restrictionReasonCode}` : ''
    const earned = `${money(commission.amountCents, order.currency)}, ${commission.status}${why}`
    console.error(`referred by ${attribution.affiliateId} (${attribution.reasonCode}), who earns ${earned}.`)
  }
  console.log(JSON.stringify(decision, null, 2))
}

try {
  await main()
} catch (error) {
  const id = error instanceof ReferralError && error.requestId ? ` (request ${error.requestId})` : ''
  console.error(`${error instanceof Error ? error.message : error}${id}`)
  process.exitCode = 1
}
