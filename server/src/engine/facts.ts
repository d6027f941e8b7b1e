/**
 * The input and output of the engine. Both are plain JSON: facts are stored with the order, and the same facts give the
 * same decision byte for byte, which a replay verifies.
 */

export type EvidenceKind = 'COUPON' | 'DIRECT_LINK' | 'CONNECTED_CUSTOMER' | 'CONNECTED_PRODUCT'
export type CommissionType = 'PERCENT_OF_SALE' | 'FLAT_PER_ORDER' | 'FLAT_PER_ITEM'
export type AffiliateStatus = 'PENDING' | 'ACTIVE' | 'APPROVED' | 'REJECTED'

export interface OrderLine {
  /** The line's own ID, which refunds may name. Missing in facts of earlier versions. */
  id?: string | null
  productId: string | null
  variantId: string | null
  quantity: number
  /** Unit price. Null if the caller sent none. */
  priceCents: number | null
  /** The line's own discount. Missing when only the order's discount is known, which its lines share. */
  discountCents?: number | null
  /** Tax included in the price, after the discount. Missing if prices do not include tax. */
  includedTaxCents?: number
}

export interface Place {
  country: string | null
  state: string | null
  city: string | null
  postalCode: string | null
}

/** An order as reported, with names and aliases resolved. All amounts in minor units of `currency`. */
export interface Order {
  externalOrderId: string
  /** `occurredAt`, or the time of receipt. */
  orderAt: string
  currency: string
  /** Goods before discount, shipping, and tax. Null for the sum of the line totals. */
  amountCents: number | null
  discountCents: number
  shippingCents: number
  taxCents: number
  couponCode: string | null
  affiliateCode: string | null
  ref: string | null
  clickId: string | null
  sessionId: string | null
  customerId: string | null
  customerEmail: string | null
  /** The buyer's other addresses, used only to detect self-referral. */
  otherEmails?: string[]
  lines: OrderLine[]
  shipping: Place | null
}

export interface Click {
  clickId: string
  /** Null if the click named an unknown reference. */
  affiliateId: string | null
  clickAt: string
}

/** The affiliate ID that each piece of evidence resolved to when the facts were gathered; null when not sent or unknown. */
export interface Matches {
  couponCode: string | null
  affiliateCode: string | null
  click: Click | null
  sessionClicks: Click[]
  ref: string | null
  customerId: string | null
  customerEmail: string | null
  /** Affiliate ID by `variant:<id>` and `product:<id>`. */
  products: Record<string, string>
  /** The aliases that matched instead of an official code or slug, by the order's field. Missing when there are none. */
  aliases?: Partial<Record<AliasedSource, string>>
}

/** The order fields that may contain an affiliate's alias. */
export type AliasedSource = 'couponCode' | 'affiliateCode' | 'ref'

export interface AffiliateFact {
  id: string
  email: string
  status: AffiliateStatus
  archived: boolean
  programId: string | null
  /** The affiliate's credited orders before this one, for the periods that the program's terms ask for. */
  counted?: Partial<Record<TermsPeriod, CountedOrders>>
}

/** The order's calendar month in the shop's time zone, or ever. */
export type TermsPeriod = 'MONTH' | 'ALL_TIME'

export interface CountedOrders {
  orders: number
  /** Goods after discount, of orders in the shop's currency. */
  revenueCents: number
}

/** The customer's credited orders in the shop before this one. */
export interface CustomerFact {
  orders: number
  /** Null before the first order. */
  firstOrderAt: string | null
  /** Whole calendar months since the first order, in the shop's time zone. Missing when no terms ask for it. */
  month?: number
}

/** Inclusive bounds. */
export interface TermsRange {
  from?: number
  to?: number
}

/** All given conditions must hold. */
export interface TermsCondition {
  customerOrder?: TermsRange
  customerMonth?: TermsRange
  affiliateIds?: string[]
  affiliateOrders?: TermsRange & { period: TermsPeriod }
  affiliateRevenueCents?: TermsRange & { period: TermsPeriod }
  orderSubtotalCents?: TermsRange
}

export interface TermsRule {
  when: TermsCondition
  /** Like a program's rate. Null earns nothing. */
  rate: number | null
  /** The maximum that one order earns, before tax. */
  maxCommissionCents?: number
}

/** One version of a program's terms. */
export interface TermsFact {
  version: number
  /** Effective from this time until the next version. */
  createdAt: string
  /** The type of the rules' rates. */
  commissionType: CommissionType
  /** The currency of all amounts in the rules. */
  currency: string
  holdDays: number
  /** Whether a customer keeps the version of the first credited order. */
  appliesTo: 'ORDERS' | 'CUSTOMERS'
  rules: TermsRule[]
}

/** Basis points for PERCENT_OF_SALE, cents for the flat types. */
export interface Rate {
  commissionType: CommissionType
  rate: number
}

/** A different rate for one product or variant; exactly one of the two IDs is set. */
export interface ProductRule extends Rate {
  productId: string | null
  variantId: string | null
}

/** An empty list does not restrict. */
export interface GeoRule {
  countries: string[]
  states: string[]
  cities: string[]
  postalPrefixes: string[]
}

export interface ProgramFact extends Rate {
  id: string
  cookieDurationDays: number
  autoApproveOrder: boolean
  lifetimeCommission: boolean
  productRules: ProductRule[]
  geoRule: GeoRule | null
  /**
   * The versions in force at the customer's first credited order and at this order. Missing before the first version.
   */
  terms?: TermsFact[]
}

export interface EngineSettings {
  precedence: EvidenceKind[]
  clickTouch: 'LAST' | 'FIRST'
  taxWithholdingBps: number
  /** The shop's currency, which flat rates are in. Missing in facts of earlier versions. */
  currency?: string
}

export interface Facts {
  order: Order
  settings: EngineSettings
  matches: Matches
  /** The affiliates named in `matches`. */
  affiliates: Record<string, AffiliateFact>
  /** The programs of those affiliates. */
  programs: Record<string, ProgramFact>
  /** The stored ID of a credited order from another source with the same ID or name. Missing if there is none. */
  duplicateOf?: string
  /** Missing if there were no credited orders before this one. */
  customer?: CustomerFact
}

export type MatchCode =
  | 'COUPON_MATCH'
  | 'AFFILIATE_CODE_MATCH'
  | 'CLICK_MATCH'
  | 'REF_MATCH'
  | 'CONNECTED_CUSTOMER_ID_MATCH'
  | 'CONNECTED_CUSTOMER_EMAIL_MATCH'
  | 'CONNECTED_PRODUCT_MATCH'
export type MissCode = 'NO_EVIDENCE' | 'NO_MATCH' | 'CLICK_NOT_FOUND' | 'CLICK_EXPIRED' | 'CLICK_AFTER_ORDER'
export type ReasonCode = MatchCode | MissCode

export type RestrictionCode =
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

/** One piece of evidence, whether it won or not. Explanations show all of them. */
export interface Candidate {
  kind: EvidenceKind
  /** The field it came from: `couponCode`, `affiliateCode`, `clickId`, `ref`, `sessionId`, `customerId`, `customerEmail`, `variantId`, `productId`. */
  source: string
  value: string
  affiliateId: string | null
  confidence: number
  reasonCode: ReasonCode
  won: boolean
  /** The alias that matched; missing when an official code or slug did. */
  alias?: string
}

/** The part of an order that is paid at one rate. Stored, so that refunds do not depend on the current rate. */
export interface RateGroup extends Rate {
  baseCents: number
  quantity: number
  amountCents: number
  /** Indexes into `order.lines`. Empty for amounts outside the lines. */
  lines: number[]
  /** Set if the group earns nothing because its rate is in a different currency than the rest of the commission. */
  unpaidReasonCode?: 'CURRENCY_MISMATCH'
}

export interface Attribution {
  affiliateId: string | null
  method: EvidenceKind | null
  confidence: number
  reasonCode: ReasonCode
}

export interface Decision {
  engineVersion: string
  attribution: Attribution
  candidates: Candidate[]
  /** Null without an affiliate. No commission is written then. */
  status: 'APPROVED' | 'PENDING' | 'REJECTED' | null
  restrictionReasonCode: RestrictionCode | null
  eligible: boolean
  programId: string | null
  commissionType: CommissionType | null
  /** The rate of the program or of its terms' rule, in basis points. 0 for the flat types. */
  rateBps: number
  subtotalCents: number
  baseCents: number
  amountCents: number
  taxWithheldCents: number
  /** The currency of amount and tax: the shop's for flat rates, otherwise the order's. Missing when the facts lack the shop's. */
  currency?: string
  groups: RateGroup[]
  /** Whether this order connects its customer to the affiliate for later orders (lifetime commission). */
  connectsCustomer: boolean
  /** Missing if the program has no terms of its own. */
  terms?: DecidedTerms
}

/** The version of the terms that decided. */
export interface DecidedTerms {
  version: number
  /** The index of the first matching rule. Null if none matches. */
  rule: number | null
  /** From when a batch can include the commission. */
  availableAt: string
}
