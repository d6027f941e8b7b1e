import { type Context, nowIso } from '../context.ts'
import type { Order, OrderLine } from '../engine/facts.ts'
import { orderKey } from '../engine/order-id.ts'
import { textOf } from '../engine/text.ts'
import { invalid, invalidBody } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import { instantBody } from './instant.ts'

export type Conversion = Omit<components['schemas']['ConversionEvent'], 'orderId' | 'processedAt'>

const MAX_CENTS = 2_147_483_647
/** Keeps every amount an exact integer: this many times the largest flat amount is far below 2^53. */
const MAX_QUANTITY = 1_000_000
const AHEAD_MS = 5 * 60_000
const CLICK_ATTRIBUTE = 'referral_click_id'
const MAX_CLICK_ID = 255

/**
 * A reported conversion as the engine reads it (section 4.9).
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`.
 */
export function toOrder(ctx: Context, body: Conversion): Order {
  const externalOrderId = textOf(body.externalOrderId)
  if (!externalOrderId || !orderKey(externalOrderId)) throw invalidBody('externalOrderId is required.')
  const lines = (body.lineItems ?? []).map(toLine)
  const amountCents = body.amountCents ?? null
  checkAmount(amountCents, lines)
  const { country = null, state = null, city = null, postalCode = null } = body.shipping ?? {}
  return {
    externalOrderId,
    orderAt: orderAt(ctx, body.occurredAt),
    currency: body.currency ?? 'USD',
    amountCents,
    discountCents: body.discountCents ?? 0,
    shippingCents: body.shippingCents ?? 0,
    taxCents: body.taxCents ?? 0,
    couponCode: textOf(body.couponCode),
    affiliateCode: textOf(body.affiliateCode),
    ref: textOf(body.ref),
    clickId: textOf(body.clickId) ?? noteClickId(body.noteAttributes),
    sessionId: textOf(body.sessionId),
    customerId: textOf(body.customerId),
    customerEmail: textOf(body.customerEmail),
    lines,
    shipping: body.shipping ? { country, state, city, postalCode } : null,
  }
}

const toLine = (line: components['schemas']['LineItem']): OrderLine => ({
  productId: line.productId ?? null,
  variantId: line.variantId ?? null,
  quantity: line.quantity ?? 1,
  priceCents: line.priceCents ?? null,
})

function checkAmount(amountCents: number | null, lines: OrderLine[]): void {
  if (lines.reduce((sum, line) => sum + line.quantity, 0) > MAX_QUANTITY) {
    throw invalidBody(`lineItems must not hold more than ${MAX_QUANTITY} pieces in all.`)
  }
  if (amountCents !== null) return
  const total = lines.reduce((sum, line) => sum + line.quantity * (line.priceCents ?? 0), 0)
  if (total > MAX_CENTS) throw invalidBody(`lineItems must not add up to more than ${MAX_CENTS} cents.`)
}

/** When the order was placed, else now; clocks that differ a little are forgiven. */
function orderAt(ctx: Context, occurredAt: string | null | undefined): string {
  const at = instantBody('occurredAt', occurredAt || null)
  if (!at) return nowIso(ctx)
  if (Date.parse(at) > ctx.now() + AHEAD_MS) {
    throw invalid('occurred_at_in_future', 'occurredAt must not be more than 5 minutes ahead of now.')
  }
  return at
}

/** The click reference that an order's notes carry, where an id of digits may be a number. */
export function noteClickId(attributes: components['schemas']['NoteAttribute'][] | null | undefined): string | null {
  const values = (attributes ?? []).filter(({ name }) => name === CLICK_ATTRIBUTE).map(({ value }) => value)
  const texts = values.map((value) => (typeof value === 'number' ? String(value) : value))
  const reference = texts.find((text): text is string => typeof text === 'string' && textOf(text) !== null)
  // A note may hold anything; one character more than a click id can have is enough to match none, and can be indexed.
  return reference === undefined ? null : firstCharacters(reference, MAX_CLICK_ID + 1)
}

/** The text up to a number of characters; a character of two code units is kept whole. */
export const firstCharacters = (text: string, count: number): string =>
  [...text.slice(0, 2 * count)].slice(0, count).join('')
