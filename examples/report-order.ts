import { readFile } from 'node:fs/promises'
import { type ConversionInput, createReferralClient, ReferralError } from '@referral/sdk'
import { credentials } from './credentials.ts'

/*
 * Reports a headless storefront's paid order and prints its attribution and commission. Set REFERRAL_BASE_URL and
 * REFERRAL_API_KEY. The argument is the order's JSON file. Defaults to storefront-order.json.
 */

/** The fields of a store's order that are reported. Amounts are decimal strings, IDs are numbers. */
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

/** Converts the order: amounts to cents, IDs to strings. */
function toConversion(order: StoreOrder): ConversionInput {
  const { customer, shipping_address: place } = order
  return {
    externalOrderId: String(order.id),
    orderName: order.name,
    occurredAt: order.processed_at,
    currency: order.currency,
    // The subtotal before discount, shipping, and tax. The commission is calculated from this amount less the discount.
    amountCents: cents(order.total_line_items_price),
    discountCents: cents(order.total_discounts),
    shippingCents: cents(order.total_shipping_price),
    taxCents: cents(order.total_tax),
    couponCode: order.discount_codes[0]?.code ?? null,
    customerId: customer ? String(customer.id) : null,
    customerEmail: customer?.email ?? null,
    // May contain the referral_click_id.
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

/** Converts `19.99` to 1999, without floating point: 19.99 * 100 is 1998.9999999999998. */
function cents(amount: string): number {
  const [, units, fraction = ''] = /^(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? []
  if (units === undefined) throw new Error(`${amount} must be an amount with at most two decimals.`)
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
  const isRecorded = response.headers.has('X-Order-Already-Recorded') || response.headers.has('Idempotent-Replayed')
  console.error(
    `Order ${order.name} of ${order.total_price} ${order.currency}${isRecorded ? ', reported before' : ''}:`,
  )
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
