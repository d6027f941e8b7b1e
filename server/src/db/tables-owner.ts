/** What the owner's side keeps: sessions, refunds, streams and the audit. */
export interface SessionRow {
  /** SHA-256 of the cookie's secret. */
  tokenHash: string
  shopId: string
  userId: string
  createdAt: string
  expiresAt: string
}

/** A link that signs its user in once. */
export interface SignInLinkRow {
  tokenHash: string
  shopId: string
  userId: string
  expiresAt: string
}

/** One refund of a commission's order; every amount is computed from all of them and the recorded decision. */
export interface RefundRow {
  id: string
  shopId: string
  commissionId: string
  /** Unique for a commission: the same one again changes nothing. */
  externalRefundId: string
  /** As it was asked for; null: what the line items stand for, or all that was left. */
  amountCents: number | null
  /** JSON list of `{ variantId, productId, quantity }`. */
  lineItems: string
  reason: string | null
  /** Goods net of discount that it took. */
  goodsCents: number
  /** What it changed, never positive. */
  commissionCents: number
  taxCents: number
  /** The row that carries the change of a paid commission. */
  adjustmentId: string | null
  createdAt: string
}

/**
 * Running totals of the refunds of a commission, so that the next refund need not read the earlier ones; see
 * `RefundedGoods`.
 */
export interface RefundTotalsRow {
  shopId: string
  commissionId: string
  /** Goods net of discount, in cents: the sum of `goodsCents` of its refunds. */
  goodsCents: number
  /** JSON list of pieces by line of the order. */
  pieces: string
  /** JSON list of cents by part of the order. */
  pointed: string
  everything: 0 | 1
}

/** A cancellation or refund that a store told of an order without a commission; it counts once there is one. */
export interface StoreNoticeRow {
  shopId: string
  orderId: string
  kind: 'canceled' | 'refund'
  /** The refund's id; empty for a cancellation. */
  noticeId: string
  body: string
  createdAt: string
}

/** Somebody who listens to the shop's events over a connection of their own; nothing is posted anywhere. */
export interface StreamRow {
  id: string
  shopId: string
  events: string
  /** Sealed, as a subscription's. */
  secret: string
  createdAt: string
  /** Events are kept for it until then. */
  expiresAt: string
  /** Who opened it. */
  userId: string | null
  /** The connection that reads it, and how long that counts as open without another sign of life. */
  connection: string | null
  connectedUntil: string | null
}

/** An event that one of these streams is to be sent. */
export interface StreamDeliveryRow {
  id: string
  streamId: string
  /** Counted in the order of commits, which the ids of several processes need not keep. */
  seq: number
  eventId: string
}

export interface AuditRow {
  id: string
  shopId: string
  /** Counted from 1 in each shop, without gaps. */
  seq: number
  actor: string
  action: string
  subjectId: string | null
  data: string
  requestId: string
  createdAt: string
  /** The hash of the row before it in its shop; empty for the first. */
  previousHash: string
  hash: string
}
