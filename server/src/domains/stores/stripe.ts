import { invalid, invalidField } from '../../contract/errors.ts'
import { isCurrency } from '../../contract/is-currency.ts'
import type { components } from '../../contract/schema.d.ts'
import { nowIso } from '../../core/context.ts'
import { minorUnitDigits } from '../../core/currencies.ts'
import type { Order, OrderLine } from '../../engine/facts.ts'
import { orderKey } from '../../engine/normalize.ts'
import { firstCharacters } from '../orders/conversions.ts'
import type { ParseRefund } from '../orders/notices.ts'
import {
  type Evidence,
  hasEvidence,
  matchableText,
  type NotifiedShop,
  type RefundedOrder,
  type StoreCall,
  type StoreModule,
} from './store.ts'

type Schemas = components['schemas']
type StripeEvent = Schemas['StripeEvent']
type StripeObject = Schemas['StripeObject'] & { id: string }
type StripeLine = Schemas['StripeLine']

const TOLERANCE_MS = 300_000
const MAX_SIGNATURES = 5

/**
 * Stripe's events, with invoices and payments in their shape before or since March 2025. Types that do not affect
 * commissions, and amounts of 0, give no calls.
 */
export const stripe: StoreModule<StripeEvent> = {
  source: 'stripe',
  signature: {
    column: 'stripeWebhookSecret',
    secretsOf: (secrets) => secrets.split(/\s+/),
    // Stripe signs with several secrets during a rotation.
    read: (header, now) => {
      const parts = (header('Stripe-Signature') ?? '').split(',').map((part) => part.trim().split('='))
      const time = parts.find(([name]) => name === 't')?.[1] ?? ''
      const signatures = parts
        .filter(([name, value = '']) => name === 'v1' && /^[0-9a-f]{64}$/.test(value))
        .slice(0, MAX_SIGNATURES)
        .map(([, value = '']) => Buffer.from(value, 'hex'))
      const isRecent = /^\d{1,12}$/.test(time) && Math.abs(now - Number(time) * 1000) <= TOLERANCE_MS
      return isRecent && signatures.length > 0 ? { prefix: `${time}.`, signatures } : undefined
    },
    invalid: () =>
      invalid(
        'stripe_signature_invalid',
        'The Stripe-Signature header is missing, older than 300 seconds, or matches no secret. Check stripeWebhookSecret in the settings of this shop.',
      ),
  },
  toCalls: (ctx, event) => (event.livemode === (ctx.shop.isTest === 0) ? toStripeCalls(ctx, event) : []),
  parseRefund: (body, order) => toRefund(body, order),
}

function toStripeCalls(ctx: NotifiedShop, { type, created, data }: StripeEvent): StoreCall[] {
  const { id } = data.object
  if (!id) return []
  const object = { ...data.object, id }
  const at = (seconds: number | null | undefined) => toInstant(ctx, seconds ?? created)
  switch (type) {
    case 'invoice.paid':
      return toInvoiceCalls(object, at(object.status_transitions?.paid_at))
    case 'invoice_payment.paid':
      return linkOf(idOf(object.invoice), [object.payment?.payment_intent, object.payment?.charge])
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return toCheckoutCalls(object, at(object.created))
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return toRefundCalls(object, object, at(object.created))
    case 'charge.refunded': {
      const refunds = Array.isArray(object.refunds) ? [] : (object.refunds?.data ?? [])
      const charge = { payment_intent: object.payment_intent, charge: object.id, currency: object.currency }
      return refunds.flatMap((refund) => toRefundCalls(refund, charge, at(refund.created)))
    }
    case 'charge.dispute.funds_withdrawn':
      return toRefundCalls({ ...object, id: `dispute:${object.id}`, status: null }, object, at(created))
    case 'charge.dispute.funds_reinstated':
      return [{ call: 'cancelRefund', order: paymentsOf(object), refundId: `dispute:${object.id}` }]
    case 'credit_note.created':
    case 'credit_note.voided':
      return toCreditNoteCalls(object, type === 'credit_note.voided', at(object.created))
    default:
      return []
  }
}

/** Goods are the lines less their discounts and included tax. Negative lines, such as prorations, count as a discount. */
function toInvoiceCalls(invoice: StripeObject, orderAt: string): StoreCall[] {
  const { currency, lines } = invoice
  const toCents = centsIn(currency)
  const shippingCents = toCents((invoice.shipping_cost?.amount_total ?? 0) - (invoice.shipping_cost?.amount_tax ?? 0))
  const total = toCents(invoice.total)
  const all = lines?.data ?? []
  const charged = lines?.has_more ? [] : all.filter((line) => netOf(line) > 0).map((line) => toLine(line, toCents))
  const goods = lines?.has_more
    ? toCents(invoice.total_excluding_tax ?? invoice.total) - shippingCents
    : all.reduce((sum, line) => sum + toCents(netOf(line)), 0)
  const amountCents = lines?.has_more
    ? goods + toCents(sumOf(invoice.total_discount_amounts ?? []))
    : charged.reduce((sum, { quantity, priceCents }) => sum + quantity * (priceCents ?? 0), 0)
  const metadata = [
    invoice.metadata,
    invoice.parent?.subscription_details?.metadata,
    invoice.subscription_details?.metadata,
    ...all.map((line) => line.metadata),
  ]
  return toOrderCalls(invoice, evidenceOf(invoice, metadata), {
    payments: idsOf([
      invoice.payment_intent,
      invoice.charge,
      ...(invoice.payments?.data ?? []).flatMap(({ payment }) => [payment?.payment_intent, payment?.charge]),
    ]),
    externalOrderId: invoice.id,
    orderName: invoice.number,
    orderAt,
    amountCents,
    discountCents: amountCents - goods,
    shippingCents,
    taxCents: Math.max(0, total - goods - shippingCents),
    lines: charged,
  })
}

/**
 * A checkout is an order, unless it has an invoice, which then reports the order. A subscription's checkout is also its
 * customer's sign-up, so that later invoices need no evidence.
 */
function toCheckoutCalls(session: StripeObject, orderAt: string): StoreCall[] {
  const evidence = evidenceOf(session, [session.metadata])
  const [customerId, customerEmail] = [matchableText(idOf(session.customer)), emailOf(session)]
  const isSignUp = session.mode === 'subscription' && hasEvidence(evidence) && (customerId || customerEmail)
  const signUp = isSignUp
    ? [{ call: 'customer' as const, evidence, customerId, customerEmail, occurredAt: orderAt }]
    : []
  const invoiceId = idOf(session.invoice)
  if (invoiceId !== null) {
    return [
      ...signUp,
      ...linkOf(invoiceId, [session.payment_intent]),
      ...(hasEvidence(evidence) ? [{ call: 'evidence' as const, orderId: invoiceId, evidence }] : []),
    ]
  }
  const paymentId = idOf(session.payment_intent)
  if (session.mode !== 'payment' || session.payment_status !== 'paid' || paymentId === null) return signUp
  const toCents = centsIn(session.currency)
  const shippingCents = toCents((session.shipping_cost?.amount_total ?? 0) - (session.shipping_cost?.amount_tax ?? 0))
  const taxCents = toCents(session.total_details?.amount_tax)
  const discountCents = toCents(session.total_details?.amount_discount)
  return toOrderCalls(session, evidence, {
    payments: [],
    externalOrderId: paymentId,
    orderName: null,
    orderAt,
    amountCents: toCents(session.amount_total) - taxCents - shippingCents + discountCents,
    discountCents,
    shippingCents,
    taxCents,
    lines: [],
  })
}

type OrderAmounts = Pick<
  Order,
  'externalOrderId' | 'orderAt' | 'discountCents' | 'shippingCents' | 'taxCents' | 'lines'
> & { amountCents: number; orderName: string | null | undefined; payments: string[] }

function toOrderCalls(source: StripeObject, evidence: Evidence, { orderName, payments, ...amounts }: OrderAmounts) {
  const currency = currencyOf(source.currency)
  if (amounts.amountCents - amounts.discountCents <= 0) return []
  // Makes Stripe show the event as failed.
  if (!isCurrency(currency)) throw invalidField('invalid_body', 'data.object.currency', 'must be one of ISO 4217.')
  const { codes, ...links } = evidence
  const order: Order = {
    ...amounts,
    ...links,
    currency,
    couponCode: null,
    affiliateCode: null,
    sessionId: null,
    customerId: matchableText(idOf(source.customer)),
    customerEmail: emailOf(source),
    shipping: toPlace(source.customer_shipping?.address ?? source.customer_details?.address ?? source.customer_address),
  }
  return [{ call: 'order' as const, order, orderName: orderKey(orderName ?? '') || null, codes, payments }]
}

/** A pending refund counts. A failed or canceled one does not. */
function toRefundCalls(
  refund: Pick<StripeObject, 'id' | 'amount' | 'reason' | 'status'>,
  payment: Pick<StripeObject, 'payment_intent' | 'charge' | 'currency'>,
  occurredAt: string,
): StoreCall[] {
  const [order, refundId] = [paymentsOf(payment), refund.id]
  if (order.payments.length === 0) return []
  if (refund.status === 'failed' || refund.status === 'canceled') return [{ call: 'cancelRefund', order, refundId }]
  return toRefundCall({ order, refundId, occurredAt, reason: refund.reason }, payment.currency, refund.amount)
}

/** Counts only the part of a note that no refund covers. */
function toCreditNoteCalls(note: StripeObject, isVoided: boolean, occurredAt: string): StoreCall[] {
  const invoiceId = idOf(note.invoice)
  if (invoiceId === null) return []
  const [order, refundId] = [{ orderId: invoiceId }, `credit_note:${note.id}`]
  if (isVoided) return [{ call: 'cancelRefund', order, refundId }]
  const listed = Array.isArray(note.refunds) ? note.refunds : undefined
  // Before March 2025, a note has one refund's ID, which covers everything that was not paid elsewhere.
  const single = idOf(note.refund) === null ? 0 : (note.total ?? 0) - (note.out_of_band_amount ?? 0)
  const refunded = listed ? listed.reduce((sum, { amount_refunded: cents }) => sum + (cents ?? 0), 0) : single
  return toRefundCall({ order, refundId, occurredAt, reason: note.reason }, note.currency, (note.total ?? 0) - refunded)
}

function toRefundCall(
  { order, refundId, occurredAt, reason }: RefundSource,
  currency: string | null | undefined,
  amount: number | null | undefined,
): StoreCall[] {
  const amountCents = centsIn(currency)(amount)
  if (amountCents <= 0) return []
  const text = firstCharacters(reason?.trim() ?? '', MAX_REASON) || null
  const body: StoredRefund = { amountCents, currency: currencyOf(currency), reason: text, occurredAt }
  return [{ call: 'refund', order, refundId, body }]
}

interface RefundSource {
  order: RefundedOrder
  refundId: string
  occurredAt: string
  reason: string | null | undefined
}

interface StoredRefund {
  amountCents: number
  currency: string
  reason: string | null
  occurredAt: string
}

/** A refund's share of what was paid is its share of the goods, rounded up, so that a full refund leaves nothing. */
const toRefund: ParseRefund = (text, { goodsCents, paidCents }) => {
  const { amountCents, currency, reason, occurredAt }: StoredRefund = JSON.parse(text)
  return {
    amountCents:
      amountCents < paidCents
        ? Number((BigInt(amountCents) * BigInt(goodsCents) + BigInt(paidCents) - 1n) / BigInt(paidCents))
        : goodsCents,
    currency,
    lineItems: [],
    reason,
    occurredAt,
    alreadyHappened: true,
  }
}

const MAX_REASON = 1000

function linkOf(orderId: string | null, payments: Schemas['StripeId'][] | (Schemas['StripeId'] | undefined)[]) {
  const ids = idsOf(payments)
  return orderId === null || ids.length === 0 ? [] : [{ call: 'payments' as const, orderId, payments: ids }]
}

const paymentsOf = ({ payment_intent, charge }: Pick<StripeObject, 'payment_intent' | 'charge'>) => ({
  payments: idsOf([payment_intent, charge]),
})

const netOf = ({ amount, discount_amounts: discounts, tax_amounts: oldTaxes, taxes }: StripeLine): number =>
  (amount ?? 0) -
  sumOf(discounts ?? []) -
  sumOf((oldTaxes ?? []).filter(({ inclusive }) => inclusive)) -
  sumOf((taxes ?? []).filter(({ tax_behavior: behavior }) => behavior === 'inclusive'))

const sumOf = (amounts: { amount?: number | null }[]): number =>
  amounts.reduce((sum, { amount }) => sum + (amount ?? 0), 0)

/** Larger quantities are metered units, which no rate counts. */
const MAX_QUANTITY = 10_000

/** The line before its discount, with a price per piece if it divides evenly. */
function toLine(line: StripeLine, toCents: (amount: number) => number): OrderLine {
  const discountCents = toCents(sumOf(line.discount_amounts ?? []))
  const cents = toCents(netOf(line)) + discountCents
  const pieces = Math.max(1, line.quantity ?? 1)
  const quantity = pieces <= MAX_QUANTITY && cents % pieces === 0 ? pieces : 1
  return {
    id: matchableText(line.id),
    productId: idOf(line.pricing?.price_details?.product ?? line.price?.product),
    variantId: null,
    quantity,
    priceCents: cents / quantity,
    discountCents,
  }
}

/** Each key's first text counts. The codes are tried in turn. */
function evidenceOf(source: StripeObject, metadata: (Schemas['StripeMetadata'] | undefined)[]): Evidence {
  const first = (name: 'referral_click_id' | 'referral_ref' | 'referral_code') =>
    metadata.map((source) => matchableText(source?.[name])).find((text) => text !== null) ?? null
  const codes = [source.discount, ...(source.discounts ?? [])].map((discount) => {
    const promotion = typeof discount === 'object' ? discount?.promotion_code : null
    return typeof promotion === 'object' ? matchableText(promotion?.code) : null
  })
  return {
    clickId: first('referral_click_id') ?? matchableText(source.client_reference_id),
    ref: first('referral_ref'),
    codes: [first('referral_code'), ...codes].filter((code) => code !== null),
  }
}

const emailOf = ({ customer_email: email, customer_details: details }: StripeObject): string | null =>
  matchableText(email ?? details?.email)

const idOf = (value: Schemas['StripeId'] | undefined): string | null =>
  matchableText(typeof value === 'object' ? value?.id : value)

const idsOf = (values: (Schemas['StripeId'] | undefined)[]): string[] => [
  ...new Set(values.map(idOf).filter((id) => id !== null)),
]

const toPlace = (address: Schemas['StripeAddress'] | undefined): Order['shipping'] =>
  address
    ? {
        country: matchableText(address.country),
        state: matchableText(address.state),
        city: matchableText(address.city),
        postalCode: matchableText(address.postal_code),
      }
    : null

const currencyOf = (text: string | null | undefined): string => (text ?? '').toUpperCase()

/** Currencies whose amounts Stripe sends without decimals. Three have three decimals, all others two. */
const WITHOUT_DECIMALS = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
const WITH_THREE_DECIMALS = new Set('BHD JOD KWD OMR TND'.split(' '))

/** Converts Stripe's units to the currency's minor unit, rounded half away from zero: 100 of ISK are 1. */
function centsIn(text: string | null | undefined): (amount: number | null | undefined) => number {
  const currency = currencyOf(text)
  const two = WITH_THREE_DECIMALS.has(currency) ? 3 : 2
  const factor = 10 ** (minorUnitDigits(currency) - (WITHOUT_DECIMALS.has(currency) ? 0 : two))
  return (amount) => Math.sign(amount ?? 0) * Math.round(Math.abs(amount ?? 0) * factor)
}

/** A time in the future becomes the time of receipt. */
function toInstant(ctx: NotifiedShop, seconds: number): string {
  const ms = seconds * 1000
  return ms < 0 || ms > ctx.now() ? nowIso(ctx) : new Date(ms).toISOString()
}
