import { invalid, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { readOccurredAt } from '../../core/time.ts'
import { decide } from '../../engine/decide.ts'
import type { Decision, Order, OrderLine } from '../../engine/facts.ts'
import { orderKey, storedOrderId, trimToNull } from '../../engine/normalize.ts'
import { toDecision } from '../ledger/commissions.ts'
import { findOrder } from '../ledger/orders.ts'
import { gatherFacts } from './gather-facts.ts'
import { type IncomingOrder, recordOrder } from './record-order.ts'
import { parseStoredRefund } from './refund-reports.ts'

type Schemas = components['schemas']

interface Recorded {
  reply: Schemas['ConversionReply']
  alreadyRecorded: boolean
  /** Set if the order was recorded with a different amount. */
  differs?: boolean
}

/**
 * Records a conversion, once per order.
 *
 * @throws ApiError 400 `idempotency_key_required`, `invalid_body` or `occurred_at_in_future`, 409 `idempotency_key_reused`.
 */
export async function recordConversion(ctx: Context, body: Conversion): Promise<Recorded> {
  if (!ctx.idempotency) {
    throw invalid(
      'idempotency_key_required',
      'Conversions require an Idempotency-Key header, so that a retry does not count the order twice.',
    )
  }
  const incoming = toIncomingOrder(ctx, body)
  return mutate(ctx, async (trx, shop) => {
    const options = { parseRefund: parseStoredRefund }
    const { result, ...written } = await recordOrder({ ...ctx, shop }, trx, incoming, options)
    const reply = toReply(result.decision, result.commissionId)
    return {
      ...written,
      result: { reply, alreadyRecorded: result.alreadyRecorded, differs: result.differs },
      keepResponse: 'forever',
    }
  })
}

/** @throws ApiError 400, same as {@link recordConversion}. */
export function toIncomingOrder(ctx: Context, body: Conversion): IncomingOrder {
  const order = toOrder(ctx, body)
  const orderName = orderKey(body.orderName ?? '') || null
  return { order, orderId: storedOrderId('api', order.externalOrderId), orderName, trackingMethod: 'API' }
}

/**
 * Decides a conversion without recording it. With `alreadyRecorded`, reporting the order again would change nothing.
 *
 * @throws ApiError 400, same as {@link recordConversion}.
 */
export async function dryRunConversion(
  ctx: Context,
  body: Conversion,
): Promise<{ reply: Schemas['ConversionDryRun']; alreadyRecorded: boolean }> {
  const incoming = toIncomingOrder(ctx, body)
  const existing = await findOrder(ctx.db.read, ctx.shop.id, incoming.orderId)
  const decision = decide((await gatherFacts(ctx.db.read, ctx.shop, incoming)).facts)
  const { attribution, eligible, status, restrictionReasonCode, connectsCustomer, ...trace } = toDecision(
    decision,
    incoming.order.currency,
  )
  return {
    reply: { dryRun: true, ...toReply(decision, null), trace },
    alreadyRecorded: Boolean(existing?.commissionId),
  }
}

function toReply(decision: Decision, commissionId: string | null): Omit<Schemas['ConversionReply'], 'dryRun'> {
  const { attribution, eligible, amountCents, status, restrictionReasonCode } = decision
  return {
    attribution,
    commission: {
      id: commissionId,
      eligible,
      affiliateId: attribution.affiliateId,
      amountCents,
      status,
      restrictionReasonCode,
    },
  }
}

export type Conversion = Omit<components['schemas']['ConversionEvent'], 'orderId' | 'processedAt'>

const MAX_CENTS = 2_147_483_647
/** Keeps every amount an exact integer, because this times the largest flat amount is far below 2^53. */
const MAX_QUANTITY = 1_000_000
const CLICK_ATTRIBUTE = 'referral_click_id'
const MAX_CLICK_ID = 255

/**
 * Validates a conversion and converts it to the engine's order.
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`.
 */
function toOrder(ctx: Context, body: Conversion): Order {
  const externalOrderId = trimToNull(body.externalOrderId)
  if (!externalOrderId || !orderKey(externalOrderId))
    throw invalidField('invalid_body', 'externalOrderId', 'is required.')
  const lines = (body.lineItems ?? []).map(toLine)
  const amountCents = body.amountCents ?? null
  checkAmount(amountCents, lines)
  const { country = null, state = null, city = null, postalCode = null } = body.shipping ?? {}
  return {
    externalOrderId,
    orderAt: readOccurredAt(ctx, body.occurredAt),
    currency: body.currency ?? 'USD',
    amountCents,
    discountCents: body.discountCents ?? lines.reduce((sum, line) => sum + (line.discountCents ?? 0), 0),
    shippingCents: body.shippingCents ?? 0,
    taxCents: body.taxCents ?? 0,
    couponCode: trimToNull(body.couponCode),
    affiliateCode: trimToNull(body.affiliateCode),
    ref: trimToNull(body.ref),
    clickId: trimToNull(body.clickId) ?? clickIdFromNotes(body.noteAttributes),
    sessionId: trimToNull(body.sessionId),
    customerId: trimToNull(body.customerId),
    customerEmail: trimToNull(body.customerEmail),
    lines,
    shipping: body.shipping ? { country, state, city, postalCode } : null,
  }
}

const toLine = (line: components['schemas']['LineItem']): OrderLine => ({
  ...(line.id && { id: line.id }),
  productId: line.productId ?? null,
  variantId: line.variantId ?? null,
  quantity: line.quantity ?? 1,
  priceCents: line.priceCents ?? null,
  ...(typeof line.discountCents === 'number' && { discountCents: line.discountCents }),
})

function checkAmount(amountCents: number | null, lines: OrderLine[]): void {
  if (lines.reduce((sum, line) => sum + line.quantity, 0) > MAX_QUANTITY) {
    throw invalidField('invalid_body', 'lineItems', `must not contain more than ${MAX_QUANTITY} items in total.`)
  }
  if (amountCents !== null) return
  const total = lines.reduce((sum, line) => sum + line.quantity * (line.priceCents ?? 0), 0)
  if (total > MAX_CENTS)
    throw invalidField('invalid_body', 'lineItems', `must not add up to more than ${MAX_CENTS} cents.`)
}

/** The click ID in an order's note attributes, as text or as a number. */
export function clickIdFromNotes(
  attributes: components['schemas']['NoteAttribute'][] | null | undefined,
): string | null {
  const values = (attributes ?? []).filter(({ name }) => name === CLICK_ATTRIBUTE).map(({ value }) => value)
  const texts = values.map((value) => (typeof value === 'number' ? String(value) : value))
  const reference = texts.find((text): text is string => typeof text === 'string' && trimToNull(text) !== null)
  // Notes can be of any length. A text one character over the maximum matches no click ID, but still fits the index.
  return reference === undefined ? null : firstCharacters(reference, MAX_CLICK_ID + 1)
}

/** A text's first characters. Surrogate pairs are not split. */
export const firstCharacters = (text: string, count: number): string =>
  [...text.slice(0, 2 * count)].slice(0, count).join('')
