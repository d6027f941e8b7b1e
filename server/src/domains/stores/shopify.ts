import { ApiError, invalidBody, invalidField } from '../../contract/errors.ts'
import { isCurrency } from '../../contract/is-currency.ts'
import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { minorUnitDigits } from '../../core/currencies.ts'
import type { Order, OrderLine } from '../../engine/facts.ts'
import { toSafeNumber } from '../../engine/money.ts'
import { orderKey } from '../../engine/normalize.ts'
import type { RefundLine } from '../../engine/refund.ts'
import { requireDomain } from '../accounts/store-connection.ts'
import type { RefundInput } from '../commissions/refunds.ts'
import { clickIdFromNotes, firstCharacters } from '../orders/conversions.ts'
import { type StoreOrder as IncomingOrder, matchableText, type NotifiedShop, type StoreModule } from './store.ts'

type Schemas = components['schemas']
type StoreOrder = Schemas['StoreOrder']
type StoreRefund = Schemas['StoreRefund']

/** A notification by its topic. */
type ShopifyEvent =
  | { topic: 'orders/paid'; body: StoreOrder }
  | { topic: 'orders/cancelled'; body: Schemas['StoreCancellation'] }
  | { topic: 'refunds/create'; body: StoreRefund }

/** An HMAC-SHA256 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/

/** Orders, cancellations, and refunds in Shopify's format. */
export const shopify: StoreModule<ShopifyEvent> = {
  source: 'shopify',
  signature: {
    column: 'storeWebhookSecret',
    secretsOf: (secret) => [secret],
    read: (header) => {
      const signature = header('X-Shopify-Hmac-Sha256')
      if (!signature)
        throw new ApiError(
          401,
          'store_signature_missing',
          'The signature is missing. Send it in the header X-Shopify-Hmac-Sha256.',
        )
      return SIGNATURE.test(signature) ? { prefix: '', signatures: [Buffer.from(signature, 'base64')] } : undefined
    },
    invalid: () =>
      new ApiError(
        401,
        'store_signature_invalid',
        'The signature does not match. Check the secret of store notifications in the settings of this shop.',
      ),
    requireSource: (shop, header) => requireDomain(shop, header('X-Shopify-Shop-Domain')),
  },
  toCalls: (ctx, { topic, body }) => {
    switch (topic) {
      case 'orders/paid': {
        const { order_status_url: sourceUrl, cancelled_at } = body
        return [{ call: 'order', sourceUrl, isCanceled: Boolean(cancelled_at), ...toStoreOrder(ctx, body) }]
      }
      case 'orders/cancelled':
        return [{ call: 'cancel', orderId: requireId('id', body.id), sourceUrl: body.order_status_url }]
      case 'refunds/create': {
        const order = { orderId: requireId('order_id', body.order_id) }
        return [{ call: 'refund', order, refundId: requireId('id', body.id), body: minimalRefund(ctx, body) }]
      }
    }
  },
  parseRefund: (body, order) => toStoreRefund(JSON.parse(body), order),
}

const MAX_QUANTITY = 1_000_000
const MAX_TEXT = 255
/** Parsing a query string takes more than linear time: 13 seconds for two million characters. */
const MAX_LANDING_SITE = 8192
const MAX_INSTANT = 64
const MAX_CENTS = 1_000_000_000_000

/** An order's or refund's ID in a notification, as text. @throws ApiError 400 `invalid_body` when it is blank. */
function requireId(name: string, id: string | number): string {
  const text = String(id).trim()
  if (!orderKey(text))
    throw invalidField('invalid_body', name, `must be an integer or text of 1 to ${MAX_TEXT} characters.`)
  return text
}

/**
 * Converts an order in Shopify's format to the engine's order, with the store's own amounts, discount and currency.
 *
 * @throws ApiError 400 `invalid_body` when the price of the goods is missing or invalid.
 */
function toStoreOrder(ctx: NotifiedShop, body: StoreOrder): IncomingOrder {
  const currency = body.currency || ctx.shop.currency
  if (!isCurrency(currency)) throw invalidField('invalid_body', 'currency', 'must be an ISO 4217 currency, like USD.')
  const lines = (body.line_items ?? [])
    .filter(({ quantity }) => quantity !== 0)
    .map((line) => toLine(line, currency, body.taxes_included === true))
  if (lines.reduce((sum, line) => sum + line.quantity, 0) > MAX_QUANTITY) {
    throw invalidField('invalid_body', 'line_items', `must not contain more than ${MAX_QUANTITY} items.`)
  }
  const cents = (amount: Schemas['StoreMoney'] | undefined) => Math.max(0, centsOf(amount, currency) ?? 0)
  const emails = [body.email, body.contact_email, body.customer?.email]
    .map(matchableText)
    .filter((email) => email !== null)
  const [customerEmail = null, ...otherEmails] = new Set(emails)
  return {
    order: {
      externalOrderId: requireId('id', body.id),
      orderAt: readTime(ctx, body.processed_at ?? body.created_at),
      currency,
      ...goodsOf(body, lines, currency),
      shippingCents: cents(body.total_shipping_price_set?.shop_money?.amount),
      taxCents: cents(body.total_tax),
      couponCode: null,
      affiliateCode: null,
      ref: refOfLandingSite(body.landing_site),
      clickId: clickIdFromNotes(body.note_attributes),
      sessionId: null,
      customerId: matchableText(body.customer?.id),
      customerEmail,
      // A buyer may use different addresses at checkout and in the account.
      ...(otherEmails.length > 0 && { otherEmails }),
      lines,
      shipping: toShippingAddress(body.shipping_address),
    },
    orderName: orderKey(matchableText(body.name) ?? '') || null,
    codes: (body.discount_codes ?? []).flatMap(({ code }) => matchableText(code) ?? []),
  }
}

function toLine(line: Schemas['StoreLine'], currency: string, isTaxIncluded: boolean): OrderLine {
  const { discount_allocations: discounts, tax_lines: taxes } = line
  const total = (amounts: (Schemas['StoreMoney'] | undefined)[]) =>
    amounts.reduce<number>((sum, amount) => sum + Math.max(0, centsOf(amount, currency) ?? 0), 0)
  return {
    id: matchableText(line.id),
    productId: matchableText(line.product_id),
    variantId: matchableText(line.variant_id),
    quantity: Math.max(1, line.quantity ?? 1),
    priceCents: centsOf(line.price, currency),
    ...(discounts && { discountCents: total(discounts.map(({ amount }) => amount)) }),
    ...(isTaxIncluded && { includedTaxCents: total((taxes ?? []).map(({ price }) => price)) }),
  }
}

/**
 * Goods before discount, and the discount on them. The discount is the difference from the subtotal, which excludes
 * discounts on shipping. If prices include tax, the tax is subtracted from the goods.
 */
function goodsOf(body: StoreOrder, lines: OrderLine[], currency: string): Pick<Order, 'amountCents' | 'discountCents'> {
  const taxes = lines.reduce((sum, { includedTaxCents = 0 }) => sum + includedTaxCents, 0)
  const priced = lines.reduce((sum, line) => sum + BigInt(line.quantity) * BigInt(line.priceCents ?? 0), 0n)
  const isPriced = lines.length > 0 && lines.every(({ priceCents }) => priceCents !== null)
  const gross = centsOf(body.total_line_items_price, currency) ?? (isPriced ? toSafeNumber(priced) : null)
  const subtotal = centsOf(body.subtotal_price, currency)
  if (gross === null || gross < 0 || gross > MAX_CENTS)
    throw invalidField(
      'invalid_body',
      'total_line_items_price',
      `must be an amount from 0 to ${MAX_CENTS} minor units. Send the price of the goods.`,
    )
  const discount = subtotal === null ? (centsOf(body.total_discounts, currency) ?? 0) : gross - subtotal
  const amountCents = Math.max(0, gross - taxes)
  return { amountCents, discountCents: Math.max(0, discount) }
}

/** An amount in minor units; null when missing or malformed. @throws ApiError 400 when it exceeds the largest exact integer. */
function centsOf(amount: Schemas['StoreMoney'] | undefined, currency: string): number | null {
  const minor = minorUnits(amount, currency)
  if (minor === null) return null
  const cents = toSafeNumber(minor)
  if (cents === null) throw invalidBody(`Amounts must be at most ${Number.MAX_SAFE_INTEGER} minor units.`)
  return cents
}

/** The address in the form that geo rules compare: codes such as `US` and `CA`. */
function toShippingAddress(address: StoreOrder['shipping_address']): Order['shipping'] {
  if (!address) return null
  const { country_code, province_code, city, zip } = address
  return {
    country: matchableText(country_code),
    state: matchableText(province_code),
    city: matchableText(city),
    postalCode: matchableText(zip),
  }
}

/**
 * When an order was placed or a refund took place. A missing, invalid, or future time becomes the time of receipt.
 * Nothing is rejected, so no tolerance is needed.
 */
function readTime(ctx: NotifiedShop, text: string | null | undefined): string {
  const at = text && text.length <= MAX_INSTANT ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) || at > ctx.now() || at < 0 ? nowIso(ctx) : new Date(at).toISOString()
}

/** The `ref` on the visitor's first page: `/hats?ref=nisa-karim`. */
function refOfLandingSite(site: string | null | undefined): string | null {
  const base = 'https://store.invalid'
  if (!site || site.length > MAX_LANDING_SITE || !URL.canParse(site, base)) return null
  const ref = matchableText(new URL(site, base).searchParams.get('ref'))
  return ref?.includes('\0') ? null : ref
}

const MAX_REASON = 1000

/**
 * Converts a refund in Shopify's format to the engine's refund. Returned items count at their subtotal, which includes
 * tax if prices do. Other refunded goods count at their amount, which stores write as a negative discrepancy. Shipping
 * does not count.
 */
function toStoreRefund(
  body: StoreRefund,
  { currency, isTaxIncluded }: { currency: string; isTaxIncluded: boolean },
): RefundInput {
  const items = body.refund_line_items.filter(({ quantity }) => (quantity ?? 0) > 0)
  const goodsCentsOf = ({ subtotal, total_tax: tax }: StoreRefundLine): bigint | null => {
    const value = minorUnits(subtotal, currency)
    return value === null ? null : value - (isTaxIncluded ? (minorUnits(tax, currency) ?? 0n) : 0n)
  }
  const lineItems = items.map((item) => toRefundLine(item, goodsCentsOf(item)))
  const discrepancy = (body.order_adjustments ?? [])
    .filter(({ kind }) => kind === 'refund_discrepancy')
    .map(({ amount }) => -(minorUnits(amount, currency) ?? 0n))
    .reduce((sum, cents) => sum + cents, 0n)
  const itemsTotal = items.reduce((sum, item) => sum + (goodsCentsOf(item) ?? 0n), 0n)
  const isItemsOnly = discrepancy === 0n && lineItems.length > 0 && lineItems.every(hasId)
  return {
    refundId: requireId('id', body.id),
    amountCents: isItemsOnly ? null : clampToSafeInteger(itemsTotal + discrepancy),
    lineItems: lineItems.filter(hasId),
    reason: reasonOf(body),
    occurredAt: body.created_at ?? null,
    alreadyHappened: true,
  }
}

/** Clamping is safe: every order is below the largest exact integer, and a refund is limited to what is left. */
function clampToSafeInteger(cents: bigint): number {
  if (cents <= 0n) return 0
  return toSafeNumber(cents) ?? Number.MAX_SAFE_INTEGER
}

/** The refund fields needed to read it again, without personal data and with a valid time. */
const minimalRefund = (
  ctx: NotifiedShop,
  {
    id,
    order_id,
    processed_at,
    created_at,
    note,
    refund_line_items: items,
    order_adjustments: adjustments,
  }: StoreRefund,
): StoreRefund => ({
  id,
  order_id,
  created_at: readTime(ctx, processed_at ?? created_at),
  note: reasonOf({ note }),
  refund_line_items: items.map(({ quantity, line_item_id, subtotal, total_tax, line_item: item }) => ({
    quantity,
    line_item_id: line_item_id ?? item?.id,
    subtotal,
    total_tax,
    line_item: { product_id: item?.product_id, variant_id: item?.variant_id },
  })),
  order_adjustments: adjustments?.map(({ kind, amount }) => ({ kind, amount })),
})

const reasonOf = ({ note }: Pick<StoreRefund, 'note'>): string | null =>
  firstCharacters(note?.trim() ?? '', MAX_REASON) || null

type StoreRefundLine = StoreRefund['refund_line_items'][number]

const toRefundLine = (
  { quantity, line_item_id, line_item: item }: StoreRefundLine,
  value: bigint | null,
): RefundLine => ({
  id: matchableText(line_item_id ?? item?.id),
  variantId: matchableText(item?.variant_id),
  productId: matchableText(item?.product_id),
  quantity: quantity ?? 0,
  amountCents: value === null ? null : clampToSafeInteger(value),
})

/** Items without any ID count by amount only. */
const hasId = ({ id, variantId, productId }: RefundLine) => Boolean(id || variantId || productId)

/**
 * An amount in currency units, `"199.65"` or `199.65`, in minor units: exact, decimals beyond the currency's rounded
 * half away from zero. Null when it is malformed.
 */
function minorUnits(amount: string | number | null | undefined, currency: string): bigint | null {
  const match = /^([+-]?)(\d{1,13})(?:\.(\d*))?$/.exec(String(amount ?? '').trim())
  if (!match) return null
  const [, sign, units = '0', fraction = ''] = match
  const digits = minorUnitDigits(currency)
  const padded = fraction.padEnd(digits + 1, '0')
  const minor = BigInt(units + padded.slice(0, digits)) + (Number(padded[digits]) >= 5 ? 1n : 0n)
  return sign === '-' ? -minor : minor
}
