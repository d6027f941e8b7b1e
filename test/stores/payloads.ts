/** Real notifications of an online store, with every property, most of which are not read. */

const money = (amount: string, currency: string) => ({
  shop_money: { amount, currency_code: currency },
  presentment_money: { amount, currency_code: currency },
})

const address = {
  first_name: 'Steve',
  address1: '123 Shipping Street',
  phone: '555-555-0100',
  city: 'Los Angeles',
  zip: '90001',
  province: 'California',
  country: 'United States',
  last_name: 'Shipper',
  address2: null,
  company: 'Shipping Company',
  latitude: 34.05,
  longitude: -118.24,
  name: 'Steve Shipper',
  country_code: 'US',
  province_code: 'CA',
}

export interface Line {
  product_id: number | null
  variant_id: number | null
  quantity: number
  price: string
  tax?: string
  /** The line's share of each discount. */
  discounts?: string[]
}

const FIRST_LINE_ID = 8665503117664

const lineItem = (line: Line, index: number, currency: string) => ({
  id: FIRST_LINE_ID + index,
  admin_graphql_api_id: `gid://shopify/LineItem/${FIRST_LINE_ID + index}`,
  attributed_staffs: [{ id: 'gid://shopify/StaffMember/902541635', quantity: 1 }],
  current_quantity: line.quantity,
  fulfillable_quantity: line.quantity,
  fulfillment_service: 'manual',
  fulfillment_status: null,
  gift_card: false,
  grams: 567,
  name: 'IPod Nano - 8GB',
  price: line.price,
  price_set: money(line.price, currency),
  product_exists: true,
  product_id: line.product_id,
  properties: [{ name: '_engraving', value: 'for “Ada” ✓' }],
  quantity: line.quantity,
  requires_shipping: true,
  sku: 'IPOD2008PINK',
  taxable: true,
  title: 'IPod Nano - 8GB',
  total_discount: '0.00',
  total_discount_set: money('0.00', currency),
  variant_id: line.variant_id,
  variant_inventory_management: 'store',
  variant_title: null,
  vendor: null,
  tax_lines: line.tax
    ? [{ channel_liable: false, price: line.tax, price_set: money(line.tax, currency), rate: 0.19, title: 'VAT' }]
    : [],
  duties: [],
  discount_allocations: line.discounts?.map((amount, application) => ({
    amount,
    amount_set: money(amount, currency),
    discount_application_index: application,
  })),
})

export interface OrderGiven {
  id?: number
  /** Inserts digits that exceed the range of numbers unchanged. */
  rawId?: string
  lines?: Line[]
  subtotal?: string
  currency?: string
  codes?: string[]
  notes?: { name: string; value: unknown }[]
  email?: string | null
  customerId?: number | null
  landingSite?: string | null
  taxesIncluded?: boolean
  totalTax?: string
  address?: object | null
  processedAt?: string
  financialStatus?: string
  cancelledAt?: string | null
}

/** The JSON text of a paid order. */
export function orderPayload(given: OrderGiven = {}): string {
  const currency = given.currency ?? 'USD'
  const lines = given.lines ?? [{ product_id: 632910392, variant_id: 808950810, quantity: 1, price: '100.00' }]
  const total = lines.reduce((sum, line) => sum + Number(line.price) * line.quantity, 0).toFixed(2)
  const subtotal = given.subtotal ?? total
  const id = given.id ?? 450789469
  const text = JSON.stringify({
    id,
    admin_graphql_api_id: `gid://shopify/Order/${id}`,
    app_id: null,
    browser_ip: '216.191.105.146',
    buyer_accepts_marketing: true,
    cancel_reason: given.cancelledAt ? 'customer' : null,
    cancelled_at: given.cancelledAt ?? null,
    cart_token: '68778783ad298f1c80c3bafcddeea02f',
    checkout_id: 901414060,
    client_details: {
      accept_language: 'en',
      browser_height: 1320,
      browser_ip: '216.191.105.146',
      session_hash: null,
      user_agent: 'Mozilla/5.0',
    },
    closed_at: null,
    confirmation_number: 'XPAV284CT',
    confirmed: true,
    contact_email: given.email === undefined ? 'jon@example.com' : given.email,
    created_at: '2026-10-20T11:04:05-04:00',
    currency,
    current_subtotal_price: subtotal,
    current_subtotal_price_set: money(subtotal, currency),
    current_total_discounts: '0.00',
    customer_locale: 'en',
    discount_codes: (given.codes ?? []).map((code) => ({ code, amount: '10.00', type: 'percentage' })),
    email: given.email === undefined ? 'jon@example.com' : given.email,
    financial_status: given.financialStatus ?? 'paid',
    fulfillment_status: null,
    landing_site: given.landingSite ?? null,
    landing_site_ref: null,
    location_id: null,
    merchant_of_record_app_id: null,
    name: '#1001',
    note: null,
    note_attributes: given.notes ?? [],
    number: 1,
    order_number: 1001,
    order_status_url: 'https://store.example/orders/b1946ac92492d2347c6235b4d2611184/authenticate?key=xyz',
    payment_gateway_names: ['visa'],
    presentment_currency: currency,
    processed_at: given.processedAt ?? '2026-10-20T11:04:05-04:00',
    referring_site: 'https://www.instagram.com/',
    source_name: 'web',
    subtotal_price: subtotal,
    subtotal_price_set: money(subtotal, currency),
    tags: 'imported, vip',
    tax_exempt: false,
    tax_lines: [{ price: '7.65', rate: 0.085, title: 'State tax', price_set: money('7.65', currency) }],
    taxes_included: given.taxesIncluded ?? false,
    test: true,
    total_discounts: (Number(total) - Number(subtotal)).toFixed(2),
    total_line_items_price: total,
    total_line_items_price_set: money(total, currency),
    total_outstanding: '0.00',
    total_price: subtotal,
    total_shipping_price_set: money('5.00', currency),
    total_tax: given.totalTax ?? '7.65',
    total_tip_received: '0.00',
    total_weight: 567,
    updated_at: '2026-10-20T11:04:05-04:00',
    user_id: null,
    billing_address: address,
    customer:
      given.customerId === null
        ? null
        : {
            id: given.customerId ?? 207119551,
            email: 'customer@example.com',
            state: 'disabled',
            verified_email: true,
            tags: '',
            currency,
          },
    discount_applications: [],
    fulfillments: [],
    line_items: lines.map((line, index) => lineItem(line, index, currency)),
    payment_terms: null,
    refunds: [],
    shipping_address: given.address === undefined ? address : given.address,
    shipping_lines: [
      {
        id: 2718783465968,
        code: null,
        discounted_price: '5.00',
        is_removed: false,
        price: '5.00',
        title: 'Standard',
        tax_lines: [],
      },
    ],
  })
  return given.rawId ? text.replace(`"id":${id},`, `"id":${given.rawId},`) : text
}

/** The JSON text of a canceled order. */
export const canceledPayload = (given: OrderGiven = {}): string =>
  orderPayload({ cancelledAt: '2026-10-22T09:30:00-04:00', financialStatus: 'refunded', ...given })

export interface RefundGiven {
  id?: number
  orderId?: number
  /** `at` is the position of the order's line, which the refund then names. */
  items?: (Line & { subtotal: number; at?: number })[]
  /** Money not related to items, as the store writes it: negative when it went to the buyer. */
  discrepancy?: string
  shipping?: string
}

/** The JSON text of a refund. */
export function refundPayload(given: RefundGiven = {}): string {
  const { id = 8900881860478, orderId = 450789469, items = [] } = given
  const adjustments = [
    ...(given.discrepancy
      ? [
          {
            id: 1,
            order_id: orderId,
            refund_id: id,
            amount: given.discrepancy,
            tax_amount: '0.00',
            kind: 'refund_discrepancy',
            reason: 'Refund discrepancy',
          },
        ]
      : []),
    ...(given.shipping
      ? [
          {
            id: 2,
            order_id: orderId,
            refund_id: id,
            amount: given.shipping,
            tax_amount: '0.00',
            kind: 'shipping_refund',
            reason: 'Shipping refund',
          },
        ]
      : []),
  ]
  return JSON.stringify({
    id,
    order_id: orderId,
    created_at: '2026-10-22T00:00:00-05:00',
    note: 'Things were damaged',
    user_id: 548380009,
    processed_at: '2026-10-22T00:00:00-05:00',
    duties: [],
    total_duties_set: money('0.00', 'USD'),
    return: null,
    admin_graphql_api_id: `gid://shopify/Refund/${id}`,
    refund_line_items: items.map((item, index) => ({
      id: 4878176722762 + index,
      line_item_id: item.at === undefined ? 4878176722762 : FIRST_LINE_ID + item.at,
      location_id: null,
      quantity: item.quantity,
      restock_type: 'no_restock',
      subtotal: item.subtotal,
      total_tax: Number(item.tax ?? 0),
      subtotal_set: money(item.subtotal.toFixed(2), 'USD'),
      line_item: { ...lineItem(item, index, 'USD'), ...(item.at !== undefined && { id: FIRST_LINE_ID + item.at }) },
    })),
    transactions: [{ id: 1068278509, amount: '10.00', kind: 'refund', status: 'success', gateway: 'bogus' }],
    order_adjustments: adjustments,
    refund_shipping_lines: [],
  })
}
