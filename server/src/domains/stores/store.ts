import type { ApiError } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import type { ShopRow } from '../../database/tables.ts'
import type { Order } from '../../engine/facts.ts'
import type { OrderSource } from '../../engine/normalize.ts'
import type { SecretColumn } from '../accounts/store-connection.ts'
import type { ParseRefund } from '../orders/notices.ts'

/** A store: how it signs notifications, and which calls they become. Pure; the receiver reads and writes. */
export interface StoreModule<Event> {
  /** The prefix for stored order IDs. */
  source: OrderSource
  signature: StoreSignature
  /**
   * Converts an event to calls. Events that do not affect commissions give none.
   *
   * @throws ApiError 400 `invalid_body`.
   */
  toCalls: (ctx: NotifiedShop, event: Event) => StoreCall[]
  /** Reads a refund call's body, which may have waited for its order. */
  parseRefund: ParseRefund
}

/** The shop that a notification is sent to, and its clock. */
export type NotifiedShop = Pick<Context, 'shop' | 'now'>

type Header = (name: string) => string | undefined

/** A signature is an HMAC-SHA256 of a prefix and the raw body. */
export interface StoreSignature {
  column: SecretColumn
  /** The secrets in the column. A notification can be signed with any of them. */
  secretsOf: (stored: string) => string[]
  /** The signature in the headers. Undefined if it is malformed or too old. */
  read: (header: Header, now: number) => { prefix: string; signatures: Buffer[] } | undefined
  invalid: () => ApiError
  /** Rejects another store's notification. */
  requireSource?: (shop: ShopRow, header: Header) => void
}

/** A call that an event becomes. Order IDs are the store's, without the source's prefix. */
export type StoreCall =
  | ({ call: 'order'; sourceUrl?: string | null; isCanceled?: boolean; payments?: string[] } & StoreOrder)
  | { call: 'cancel'; orderId: string; sourceUrl?: string | null }
  | { call: 'evidence'; orderId: string; evidence: Evidence }
  | ({ call: 'customer'; evidence: Evidence; occurredAt: string } & Pick<Order, 'customerId' | 'customerEmail'>)
  | { call: 'payments'; orderId: string; payments: string[] }
  | { call: 'refund'; order: RefundedOrder; refundId: string; body: object }
  | { call: 'cancelRefund'; order: RefundedOrder; refundId: string }

/** A store's order. The first of its codes that belongs to an affiliate is evidence. */
export interface StoreOrder {
  order: Order
  orderName: string | null
  codes: string[]
}

/** A checkout's evidence for an order that another event reports. */
export type Evidence = Pick<Order, 'clickId' | 'ref'> & { codes: string[] }

export const hasEvidence = ({ clickId, ref, codes }: Evidence): boolean =>
  clickId !== null || ref !== null || codes.length > 0

/** The order that a refund belongs to, or the payments that will identify it. */
export type RefundedOrder = { orderId: string } | { payments: string[] }

const MAX_TEXT = 255

/** Text that can match a stored value. Null if it is blank or too long. */
export function matchableText(value: string | number | null | undefined): string | null {
  const text = String(value ?? '').trim()
  return text && text.length <= MAX_TEXT ? text : null
}
