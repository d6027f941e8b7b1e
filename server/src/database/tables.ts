import type { components } from '../contract/schema.d.ts'
import type { Role } from '../contract/spec.ts'
import type { TermsFact } from '../engine/facts.ts'
import type { AliasRow, ConnectionRow, CustomerRow, PayeeRow } from './affiliate-tables.ts'
import type { AuditHeadRow, AuditRow, ErasureRow } from './audit-tables.ts'
import type { BatchProcess, CandidateFilter, PayoutBatchRow, PayoutFileRow, PayoutLineRow } from './payout-tables.ts'
import type { DeliveryRow, SubscriptionRow, WebhookEventRow } from './webhook-tables.ts'

export type {
  AliasRow,
  AuditHeadRow,
  AuditRow,
  BatchProcess,
  CandidateFilter,
  ConnectionRow,
  CustomerRow,
  DeliveryRow,
  ErasureRow,
  PayeeRow,
  PayoutBatchRow,
  PayoutFileRow,
  PayoutLineRow,
  SubscriptionRow,
  WebhookEventRow,
}

/**
 * The rows as stored, identical on SQLite and PostgreSQL: text IDs, ISO 8601 text with milliseconds, integer cents,
 * booleans as 0 and 1, lists and objects as JSON text. Columns are named as in openapi.yaml, so a row is nearly a response.
 */
export type Flag = 0 | 1
type Schemas = components['schemas']

export interface ShopRow {
  id: string
  name: string
  plan: 'FREE' | 'STARTER' | 'GROWTH' | 'PROFESSIONAL' | 'ENTERPRISE'
  currency: string
  apiEnabled: Flag
  defaultProgramId: string | null
  minimumPayoutCents: number | null
  /** JSON object of cents by currency code, for currencies other than the shop's. */
  minimumPayoutCentsByCurrency: string
  /** JSON object of cents by currency code: the minimum per affiliate in a batch. */
  minimumAffiliatePayoutCentsByCurrency: string
  /** An IANA name. */
  timeZone: string
  /** The minimum in earlier versions' format: decimal currency units as text. */
  legacyMinimumPayout: string | null
  taxWithholdingBps: number
  attributionPrecedence: string
  clickTouch: 'LAST' | 'FIRST'
  storeWebhookSecret: string | null
  stripeWebhookSecret: string | null
  /** The domain of the only store whose notifications are accepted, or null for any. Its aliases are a JSON list. */
  storeDomain: string | null
  storeDomainAliases: string
  /** The host names of the shop's pages, a JSON list. */
  siteDomains: string
  /** The key for the hashes stored instead of customers' email addresses. */
  emailHashKey: string
  /** Incremented by every change to the shop's subscriptions. */
  webhooksVersion: number
  /** Incremented when a person's erasure starts and ends, so that nothing read earlier is shown. */
  erasureVersion: number
  /** Requests per minute and API key. Null for the plan's limit. */
  requestsPerMinute: number | null
  /** How many active keys the shop can have. Null for the general limit. */
  maxActiveKeys: number | null
  suspendedAt: string | null
  /** When the deletion of its rows started, which cannot be undone. */
  deletionStartedAt: string | null
  /** SHA-256 of the latest complete export since the shop was suspended. */
  exportDigest: string | null
  isTest: Flag
  /** The shop whose owner created this test shop. Null for a shop created by the operator. */
  testOf: string | null
  /** How far a test shop's clock is ahead of the server's, in milliseconds. 0 for other shops. */
  clockOffsetMs: number
  version: number
  createdAt: string
  updatedAt: string
}

export interface UserRow {
  id: string
  shopId: string
  email: string
  /** The address in comparable form. */
  emailKey: string
  role: Role
  tokenHash: string
  /** When the last accepted passkey challenge was issued. Older challenges are rejected. */
  challengeAt: string | null
  lastSignInAt: string | null
  createdAt: string
  revokedAt: string | null
}

export interface ApiKeyRow {
  id: string
  shopId: string
  label: string
  prefix: string
  secretHash: string
  scopes: string
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
  revokedAt: string | null
  /** The key whose rate limit window this key shares. Null for its own window. */
  limitSubject: string | null
  /** The secret before the last rotation, valid until `previousSecretUntil`; both null without an overlap. */
  previousSecretHash: string | null
  previousSecretUntil: string | null
}

type ProgramFlag = 'autoApproveAffiliate' | 'autoApproveOrder' | 'lifetimeCommission' | 'discountEnabled'
type ProgramColumns = Omit<Schemas['Program'], ProgramFlag | 'isDefault' | 'affiliateCount'> & Record<ProgramFlag, Flag>

export interface ProgramRow extends ProgramColumns {
  shopId: string
  /** The current version of the terms. Version 1 has no row. */
  termsVersion: number
  version: number
}

type AffiliateColumns = Schemas['Affiliate']
export interface AffiliateRow extends AffiliateColumns {
  shopId: string
  /** Normalized for uniqueness and search, so that both databases compare identically. */
  emailKey: string
  codeKey: string
  searchText: string
  /** Tokens and page links that were issued at this instant or before are revoked. */
  tokensRevokedAt: string | null
  version: number
}

type CommissionColumns = Schemas['Commission']
export interface CommissionRow extends CommissionColumns {
  shopId: string
  /** Shared by both rows of a carried debt: the ID of the row that balances the batch. */
  debtId: string | null
  /** The ID of the order's customer. Null for an adjustment. */
  customer: string | null
  version: number
}

/** A reported order, attributed or not, with its facts and decision as JSON. */
export interface OrderRow {
  shopId: string
  orderId: string
  commissionId: string | null
  orderAt: string
  /** The order's name as the merchant knows it, if it was reported. */
  orderName: string | null
  orderCurrency: string
  /** Goods after discount. Derived from the facts, so that lists can be filtered by it. */
  goodsCents: number
  facts: string
  decision: string
  createdAt: string
  updatedAt: string
}

type JourneyColumns = Omit<
  Schemas['JourneyEntry'],
  'attributed' | 'commissionStatus' | 'orderCurrency' | 'refundedCents'
>
export interface JourneyRow extends JourneyColumns {
  shopId: string
  customerEmailKey: string | null
  /** The stored order ID of a conversion; unique, so an order appears in the journey once. */
  orderId: string | null
  createdAt: string
}

/** How an affiliate is paid. `details` are sealed. */
export interface ProductRuleRow {
  id: string
  shopId: string
  programId: string
  kind: 'product' | 'variant'
  value: string
  commissionType: ProgramRow['commissionType']
  rate: number
  createdAt: string
}

/** One version of a program's terms. Never changed. */
export interface ProgramTermsRow extends Omit<TermsFact, 'rules'> {
  shopId: string
  programId: string
  /** Whether a rule has an amount in `currency`. */
  hasAmounts: number
  /** JSON of `TermsRule[]`. */
  rules: string
}

export interface GeoRuleRow {
  programId: string
  shopId: string
  countries: string
  states: string
  cities: string
  postalPrefixes: string
  updatedAt: string
}

interface IdempotencyKeyRow {
  shopId: string
  key: string
  fingerprint: string
  result: string
  expiresAt: string | null
  createdAt: string
}

/** A setting of the whole installation, such as `apiEnabled`. */
interface InstallationSettingRow {
  name: string
  value: string
}

export interface Tables {
  shops: ShopRow
  users: UserRow
  sessions: SessionRow
  signInLinks: SignInLinkRow
  passkeys: PasskeyRow
  apiKeys: ApiKeyRow
  programs: ProgramRow
  affiliates: AffiliateRow
  affiliateAliases: AliasRow
  payees: PayeeRow
  commissions: CommissionRow
  orders: OrderRow
  refunds: RefundRow
  refundTotals: RefundTotalsRow
  orderNotices: OrderNoticeRow
  orderPayments: OrderPaymentRow
  journey: JourneyRow
  connections: ConnectionRow
  customers: CustomerRow
  productRules: ProductRuleRow
  geoRules: GeoRuleRow
  programTerms: ProgramTermsRow
  payoutBatches: PayoutBatchRow
  payoutFiles: PayoutFileRow
  payoutLines: PayoutLineRow
  subscriptions: SubscriptionRow
  webhookEvents: WebhookEventRow
  deliveries: DeliveryRow
  idempotencyKeys: IdempotencyKeyRow
  audits: AuditRow
  auditHeads: AuditHeadRow
  erasures: ErasureRow
  installationSettings: InstallationSettingRow
  rowCounts: RowCountRow
}

export interface SessionRow {
  /** SHA-256 of the cookie's secret. */
  tokenHash: string
  shopId: string
  userId: string
  /** Shown in forms instead of the hash. */
  id: string
  method: SignInMethod
  /** Who created the sign-in link, as in the audit log. Null without a link. */
  linkCreatedBy: string | null
  /** The kind of browser and system, such as `Firefox on Linux`. */
  browser: string
  /** Roughly where the sign-in came from, such as `203.0.113.0/24`. */
  network: string
  createdAt: string
  expiresAt: string
}

/** How a user signed in. */
export type SignInMethod = 'token' | 'link' | 'passkey' | 'oidc'

/** A one-time sign-in link. */
export interface SignInLinkRow {
  tokenHash: string
  shopId: string
  userId: string
  /** The caller's name in the audit. */
  createdBy: string
  expiresAt: string
}

/** A passkey of a user. It signs in alone, so it must verify the user. */
export interface PasskeyRow {
  shopId: string
  id: string
  userId: string
  /** The ID that the authenticator chose, in base64url. */
  credentialId: string
  /** The COSE key in base64url. */
  publicKey: string
  /** The signature counter after the last sign-in. Always 0 for passkeys that are synchronized between devices. */
  counter: number
  /** JSON list of the ways to reach the authenticator, such as `["internal"]`. */
  transports: string
  name: string
  createdAt: string
  lastUsedAt: string | null
}

/**
 * One refund of a commission's order. Amounts are computed from all refunds and the recorded decision. Canceling a
 * refund adds an entry with the refund's ID plus `:canceled`, and amounts with the opposite sign.
 */
export interface RefundRow {
  id: string
  shopId: string
  commissionId: string
  /** Unique per commission, so that a repeated refund changes nothing. */
  externalRefundId: string
  /** The requested amount. Null for the line items' value, or for everything that was left. */
  amountCents: number | null
  /** JSON list of `{ variantId, productId, quantity }`. */
  lineItems: string
  reason: string | null
  /** The refunded goods, net of discount. */
  goodsCents: number
  /** The commission's change. */
  commissionCents: number
  taxCents: number
  /** The commission row that adjusts a paid commission. */
  adjustmentId: string | null
  /** When it counts in statements, unless an adjustment counts instead. */
  occurredAt: string
  createdAt: string
}

/**
 * Running totals of the refunds of a commission, so that the next refund need not read the earlier ones; see
 * `RefundedGoods`.
 */
export interface RefundTotalsRow {
  shopId: string
  commissionId: string
  /** Goods net of discount, in cents: the total of its refunds' `goodsCents`. */
  goodsCents: number
  /** `RefundedGoods` as JSON. Null if an earlier version stored the row. */
  totals: string | null
  /** The status before nothing was left. A canceled refund restores it. */
  statusBefore: CommissionRow['orderStatus'] | null
}

/**
 * A refund or canceled refund of an order without a commission, applied once there is one, or any cancellation of an
 * order.
 */
export interface OrderNoticeRow {
  shopId: string
  orderId: string
  /** A checkout's `evidence` waits for the order to be reported. */
  kind: 'canceled' | 'canceledRefund' | 'evidence' | 'refund'
  /** The refund's ID. Empty for the other kinds. */
  noticeId: string
  body: string
  createdAt: string
}

/** The order that a store's payment belongs to. Refunds name only the payment. */
export interface OrderPaymentRow {
  shopId: string
  /** The store's ID: `pi_…` or `ch_…`. */
  paymentId: string
  orderId: string
}

/**
 * A list's row counts by scope, program, status, and currencies, with commission totals, maintained by triggers
 * (migrations/0001-start/row-counts.ts).
 */
export interface RowCountRow {
  shopId: string
  list: 'commissions' | 'affiliates' | 'payoutBatches' | 'deliveries' | 'clicks'
  /** Empty for all, an affiliate's ID, or `day:YYYY-MM-DD`. */
  scope: string
  /** Empty if there is no program. */
  programId: string
  status: string
  /** The commissions' currency. Empty for other lists, as is the orders' currency. */
  currency: string
  orderCurrency: string
  rows: number
  /** The number of rows that are orders, not adjustments. */
  orders: number
  /** Goods before discounts, in the orders' currency. */
  goodsCents: number
  /** The amount earned. A returned payment is not earned again. */
  commissionCents: number
  /** The amount paid after tax. A returned payment counts only once it is paid again. */
  paidCents: number
}
