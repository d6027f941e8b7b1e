// Generated from openapi.yaml by `pnpm run generate`. Do not edit.

/** The documented events, distinguished by `event`. */
export type KnownEvent =
  | AffiliateApprovedEvent
  | AffiliateRejectedEvent
  | AffiliateStatusChangedEvent
  | CommissionCreatedEvent
  | CustomerBoundEvent
  | CommissionApprovedEvent
  | CommissionRejectedEvent
  | CommissionRefundedEvent
  | CommissionReversedEvent
  | CommissionPaidEvent
  | PayoutCreatedEvent
  | PayoutPaidEvent
  | PayoutFailedEvent
  | TestEvent

export const eventNames = [
  'affiliate.approved',
  'affiliate.rejected',
  'affiliate.status_changed',
  'commission.created',
  'customer.bound',
  'commission.approved',
  'commission.rejected',
  'commission.refunded',
  'commission.reversed',
  'commission.paid',
  'payout.created',
  'payout.paid',
  'payout.failed',
  'test',
] as const

export interface AffiliateApprovedEvent {
  event: 'affiliate.approved'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: AffiliateEventData
}

export interface AffiliateRejectedEvent {
  event: 'affiliate.rejected'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: AffiliateEventData
}

export interface AffiliateStatusChangedEvent {
  event: 'affiliate.status_changed'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: AffiliateEventData
}

export interface CommissionCreatedEvent {
  event: 'commission.created'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: Commission & {
    attribution: Attribution
  }
}

export interface CustomerBoundEvent {
  event: 'customer.bound'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: Customer
}

export interface CommissionApprovedEvent {
  event: 'commission.approved'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: CommissionEventData
}

export interface CommissionRejectedEvent {
  event: 'commission.rejected'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: CommissionEventData
}

export interface CommissionRefundedEvent {
  event: 'commission.refunded'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: CommissionEventData & {
    refund: Refund
  }
}

export interface CommissionReversedEvent {
  event: 'commission.reversed'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: CommissionEventData
}

export interface CommissionPaidEvent {
  event: 'commission.paid'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: CommissionEventData
}

export interface PayoutCreatedEvent {
  event: 'payout.created'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: PayoutEventData
}

export interface PayoutPaidEvent {
  event: 'payout.paid'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: PayoutEventData
}

export interface PayoutFailedEvent {
  event: 'payout.failed'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: PayoutEventData
}

export interface TestEvent {
  event: 'test'
  timestamp: Instant
  shop_id: string
  /** Only in events of a test shop. */
  test?: true
  data: {
    test: true
    message: string
  }
}

/** ISO 8601 in UTC with milliseconds. */
export type Instant = string

export type AffiliateEventData = AffiliateSelf & {
  previousStatus: AffiliateStatus
}

export interface Commission {
  id: string
  affiliateId: string
  /** The affiliate's program when the order was recorded. */
  programId: string | null
  /** Your order ID; null for an adjustment. */
  externalOrderId: string | null
  /** The stored order ID, unique in your shop: `api:` and your ID for orders of the API. */
  orderId: string
  orderName: string | null
  /** The currency of `commissionAmountCents` and `taxWithheldCents`: the order's for percentages, the shop's for flat rates. */
  currency: string
  /** The currency of the order's amounts, of `commissionBaseCents` and of `remainingBaseCents`. */
  orderCurrency: string
  commissionType: CommissionType | null
  commissionBaseCents: Cents
  /** The part of `commissionBaseCents` that is left after the refunds that reduced `commissionAmountCents`. At a single percentage rate, the amount is `commissionRateBps` of it, unless the terms cap it. A refund of a paid commission is an adjustment and does not change it. */
  remainingBaseCents: number
  /** The rate of the program, or of the terms rule that matched; 0 for flat types. */
  commissionRateBps: number
  commissionAmountCents: Cents
  taxWithheldCents: Cents
  orderSubtotalCents: Cents
  orderDiscountCents: Cents
  orderShippingCents: Cents
  orderTaxCents: Cents
  trackingMethod: 'API' | 'STORE_ORDER' | 'ADJUSTMENT' | (string & {})
  attributionMethod: EvidenceKind | null
  attributionReasonCode: ReasonCode | null
  restrictionReasonCode: RestrictionReasonCode | null
  orderStatus: CommissionStatus
  payoutBatchId: string | null
  /** The version of the program's terms that decided; null without a program, for an adjustment, and for orders that were recorded before programs had terms. */
  termsVersion: number | null
  /** The index of the terms rule that matched; null for none. */
  termsRule: number | null
  /** From when a payout batch can include the commission: `happenedAt` plus the terms' `holdDays`. */
  availableAt: string
  happenedAt: Instant
  paidAt: string | null
  createdAt: Instant
  updatedAt: Instant
}

export interface Attribution {
  affiliateId: string | null
  method: EvidenceKind | null
  /** From 0 (no affiliate) to 1. */
  confidence: number
  reasonCode: ReasonCode
}

/** A customer of the shop, and the affiliate who referred the customer. */
export interface Customer {
  /** Null in a dry run of a new customer. */
  id: string | null
  /** Your ID. Null when the customer is known by an email address only. */
  customerId: string | null
  /** The affiliate the customer is bound to. */
  affiliateId: string | null
  /** The affiliate's program when the customer was bound. */
  programId: string | null
  boundAt: Instant | null
  boundBy: CustomerBoundBy | null
  /** The first credited order in the shop, whichever affiliate was credited. */
  firstOrderAt: Instant | null
  /** Credited orders in the shop, at most 10,000, and imported ones. Orders that were rejected, canceled, reversed or refunded in full do not count. */
  orders: number
  /** From this instant on, the terms pay the affiliate nothing for this customer's orders. It is `firstOrderAt` plus the months until the rules end the commission, in the shop's time zone, where a month that lacks the day ends on its last day. If the terms pay only for the first order, it is `firstOrderAt` itself. The version in force at `firstOrderAt` applies if customers keep it, otherwise today's. Null without a credited order or an affiliate, and if the terms have no such end. */
  commissionEndsAt: Instant | null
  createdAt: Instant
}

export type CommissionEventData = Commission & {
  /** Null for a new commission. */
  previousStatus: CommissionStatus | null
}

/** A refund, or the cancellation of one: its `externalRefundId` is the refund's with `:canceled`, and its amounts have the opposite sign. */
export interface Refund {
  id: string
  externalRefundId: string
  /** The requested amount. */
  amountCents: number | null
  lineItems: Array<RefundedLine>
  reason: string | null
  /** The refunded goods, net of discount. */
  goodsCents: number
  /** The change in commission: at most 0 for a refund, unless it names the line that an earlier refund of its variant or product was counted on. */
  commissionCents: number
  /** The change in tax withheld. */
  taxCents: number
  /** The adjustment row for a paid commission. */
  adjustmentId: string | null
  /** When the goods were refunded. A statement lists the refund at this time, unless an adjustment lists it. */
  occurredAt: Instant
  createdAt: Instant
}

export type PayoutEventData = PayoutBatch & {
  /** Null for a new batch. */
  previousStatus: PayoutBatchStatus | null
}

/** The fields of `Affiliate` that an affiliate's token, webhooks, and the event feed show. */
export interface AffiliateSelf {
  id: string
  name: string
  firstName: string | null
  lastName: string | null
  email: string
  phone: string | null
  website: string | null
  status: AffiliateStatus
  /** The program the affiliate belongs to. */
  campaignId: string | null
  /** Generated from the name on creation; links contain it as `ref`. */
  slug: string
  discountCode: string
  instagramHandle: string | null
  tiktokHandle: string | null
  youtubeHandle: string | null
  homeCountry: string | null
  homeState: string | null
  homeCity: string | null
  homePostalCode: string | null
  homeAddress: string | null
  createdAt: Instant
  updatedAt: Instant
  deletedAt: string | null
}

export type AffiliateStatus = 'PENDING' | 'ACTIVE' | 'APPROVED' | 'REJECTED' | (string & {})

export type CommissionType = 'PERCENT_OF_SALE' | 'FLAT_PER_ORDER' | 'FLAT_PER_ITEM' | (string & {})

/** Minor units of the currency. */
export type Cents = number

/** The kind of evidence that named the affiliate. */
export type EvidenceKind = 'COUPON' | 'DIRECT_LINK' | 'CONNECTED_CUSTOMER' | 'CONNECTED_PRODUCT' | (string & {})

/** Why this affiliate was credited, or why none was. */
export type ReasonCode =
  | 'COUPON_MATCH'
  | 'AFFILIATE_CODE_MATCH'
  | 'CLICK_MATCH'
  | 'REF_MATCH'
  | 'CONNECTED_CUSTOMER_ID_MATCH'
  | 'CONNECTED_CUSTOMER_EMAIL_MATCH'
  | 'CONNECTED_PRODUCT_MATCH'
  | 'NO_EVIDENCE'
  | 'NO_MATCH'
  | 'CLICK_NOT_FOUND'
  | 'CLICK_EXPIRED'
  | 'CLICK_AFTER_ORDER'
  | (string & {})

/** Why an attributed order earns nothing or, for `POSSIBLE_DUPLICATE`, why it awaits approval. */
export type RestrictionReasonCode =
  | 'AFFILIATE_ARCHIVED'
  | 'AFFILIATE_REJECTED'
  | 'AFFILIATE_NOT_APPROVED'
  | 'PROGRAM_MISSING'
  | 'SELF_REFERRAL'
  | 'GEO_UNKNOWN'
  | 'GEO_NOT_ELIGIBLE'
  | 'TERMS_NOT_MET'
  | 'ZERO_BASE'
  | 'POSSIBLE_DUPLICATE'
  | (string & {})

/** `ACCEPTED` is reserved: it is handled like `APPROVED`, but this version does not set it. */
export type CommissionStatus =
  | 'REJECTED'
  | 'PENDING'
  | 'APPROVED'
  | 'ACCEPTED'
  | 'PAYABLE'
  | 'PAID'
  | 'REVERSED'
  | 'CANCELED'
  | 'REFUNDED'
  | (string & {})

/** `SIGNUP`: by a report of the customer. `ORDER`: by the first credited order in a program with lifetime commission. `OWNER`: by hand. `IMPORT`: moved from another service. */
export type CustomerBoundBy = 'SIGNUP' | 'ORDER' | 'OWNER' | 'IMPORT' | (string & {})

export interface RefundedLine {
  /** The ID of the order's line. */
  id?: string | null
  variantId: string | null
  productId: string | null
  quantity: number
  /** The reported value of the units, net of discount. */
  amountCents?: number | null
}

export interface PayoutBatch {
  /** Null for a dry run. */
  id: string | null
  status: PayoutBatchStatus
  /** Null unless the batch is `PROCESSING`. Each commission has its earlier status until it moves, and the new one afterwards. While the batch is being created, `totals` contain what has moved, and `affiliates` is 0; while it is being paid or canceled, they stay unchanged. */
  progress:
    | {
        /** The batch's status once its commissions have moved. */
        becomes: 'OPEN' | 'PAID' | 'FAILED' | (string & {})
        movedCommissions: number
        /** How many commissions were to move when it started. */
        commissions: number
      }
    | {
        /** The batch's status once its commissions have moved. */
        becomes: 'OPEN' | 'PAID' | 'FAILED' | (string & {})
        movedCommissions: number
        /** How many commissions were to move when it started. */
        commissions: number
      }
  periodStart: Instant
  periodEnd: Instant
  /** Whether the batch also contains commissions from before `periodStart`. */
  includeEarlier: boolean
  currency: string
  totals: PayoutTotals
  /** Commissions of archived or rejected affiliates, which are not in the batch. */
  heldBack: {
    commissions: number
    commissionCents: Cents
  }
  /** Commissions on hold under their program's terms when the batch was created. A later batch pays them, with `includeEarlier` or a period that includes them. */
  onHold: {
    commissions: number
    commissionCents: Cents
    /** When the first commission on hold becomes available. */
    nextAvailableAt: string | null
  }
  minimumPayoutCents: Cents
  failureReason: string | null
  /** The payees. Only with `include=lines`, and in a dry run with a key that has the scope `payouts:read`: there, the 1,000 with the largest amounts. */
  lines?: Array<PayoutLine>
  /** The part of `netPayableCents` that payment files contain, including returned payments. Only with `include=lines`. */
  sentCents?: number
  /** The part of `netPayableCents` whose payments were returned: the next batch pays it. Only with `include=lines`. */
  returnedCents?: number
  createdAt: Instant
  updatedAt: Instant
  paidAt: string | null
}

/** `PROCESSING` while a batch of more than 500 commissions is being created, paid, or canceled. `progress` says how many commissions have moved. The request that started it responds when it is done; after a crash, the server completes it. */
export type PayoutBatchStatus = 'OPEN' | 'PROCESSING' | 'PAID' | 'FAILED' | (string & {})

export interface PayoutTotals {
  commissions: number
  affiliates: number
  commissionCents: Cents
  taxWithheldCents: Cents
  /** `commissionCents` less `taxWithheldCents`. */
  netPayableCents: number
}

export interface PayoutLine {
  affiliateId: string
  name: string
  email: string
  commissions: number
  commissionCents: Cents
  taxWithheldCents: Cents
  netPayableCents: Cents
}
