import type { ApiError } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import type { ShopRow } from '../../database/tables.ts'
import type { Order } from '../../engine/facts.ts'
import type { OrderSource } from '../../engine/normalize.ts'
import type { SecretColumn } from '../accounts/store-connection.ts'
import type { ParseRefund } from '../orders/notices.ts'

/** A store: how it signs its notifications, and what they ask of the engine. Pure: the receiver reads and writes. */
export interface StoreModule<Event> {
  /** The prefix of stored order ids. */
  source: OrderSource
  signature: StoreSignature
  /**
   * Converts an event to calls of the engine; none for an event that means nothing for commissions.
   *
   * @throws ApiError 400 `invalid_body`.
   */
  toCalls: (ctx: NotifiedShop, event: Event) => StoreCall[]
  /** Reads the body of a refund call, which may have waited for its order. */
  parseRefund: ParseRefund
}

/** The shop that a notification is sent to, and its clock. */
export type NotifiedShop = Pick<Context, 'shop' | 'now'>

type Header = (name: string) => string | undefined

/** A signature is an HMAC-SHA256 of a prefix and the raw body. */
export interface StoreSignature {
  column: SecretColumn
  /** The secrets in the column; a notification is signed with any of them. */
  secretsOf: (stored: string) => string[]
  /** What the headers contain; undefined when it is malformed or too old. */
  read: (header: Header, now: number) => { prefix: string; signatures: Buffer[] } | undefined
  invalid: () => ApiError
  /** Rejects a notification of another store. */
  requireSource?: (shop: ShopRow, header: Header) => void
}

/** What an event asks of the engine. Ids of orders are those of the store, without the prefix of the source. */
export type StoreCall =
  | ({ call: 'order'; sourceUrl?: string | null; isCanceled?: boolean; payments?: string[] } & StoreOrder)
  | { call: 'cancel'; orderId: string; sourceUrl?: string | null }
  | { call: 'evidence'; orderId: string; evidence: Evidence }
  | ({ call: 'customer'; evidence: Evidence; occurredAt: string } & Pick<Order, 'customerId' | 'customerEmail'>)
  | { call: 'payments'; orderId: string; payments: string[] }
  | { call: 'refund'; order: RefundedOrder; refundId: string; body: object }
  | { call: 'cancelRefund'; order: RefundedOrder; refundId: string }

/** An order of a store. The first of its codes that belongs to an affiliate is evidence. */
export interface StoreOrder {
  order: Order
  orderName: string | null
  codes: string[]
}

/** What a checkout knows of the affiliate of an order that another event reports. */
export type Evidence = Pick<Order, 'clickId' | 'ref'> & { codes: string[] }

export const hasEvidence = ({ clickId, ref, codes }: Evidence): boolean =>
  clickId !== null || ref !== null || codes.length > 0

/** The order that a refund belongs to, or the payments that its order will be known by. */
export type RefundedOrder = { orderId: string } | { payments: string[] }

const MAX_TEXT = 255

/** Text that can match a stored value; null when blank or longer than any. */
export function matchableText(value: string | number | null | undefined): string | null {
  const text = String(value ?? '').trim()
  return text && text.length <= MAX_TEXT ? text : null
}
