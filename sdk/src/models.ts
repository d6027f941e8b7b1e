import type { components } from './schema.ts'
import type { Input, OmitEach, Open, Query, RequestBody, RequireOne } from './types.ts'

type Schemas = components['schemas']

export type AffiliateStatus = Open<Schemas['AffiliateStatus']>
export type CommissionStatus = Open<Schemas['CommissionStatus']>
export type ProgramStatus = Open<Schemas['ProgramStatus']>
export type PayoutBatchStatus = Open<Schemas['PayoutBatchStatus']>
export type CommissionType = Open<Schemas['CommissionType']>
export type DiscountType = Open<Schemas['DiscountType']>
export type EvidenceKind = Open<Schemas['EvidenceKind']>
export type ReasonCode = Open<Schemas['ReasonCode']>
export type RestrictionReasonCode = Open<Schemas['RestrictionReasonCode']>

/** A person or company that refers customers. */
export interface Affiliate extends Open<Schemas['Affiliate']> {}
/** What an affiliate has earned and was not paid yet. */
export interface AffiliateBalance extends Open<Schemas['AffiliateBalance']> {}
/** A token for one affiliate. Pass it as `affiliateToken`. */
export interface AffiliateToken extends Open<Schemas['AffiliateToken']> {}
/** An additional code or link name of an affiliate. */
export interface Alias extends Open<Schemas['Alias']> {}
/** The terms of a group of affiliates: commission rate and click window. */
export interface Program extends Open<Schemas['Program']> {}
/** What an affiliate earns for one order. All `*Cents` are minor units of `currency`. */
export interface Commission extends Open<Schemas['Commission']> {}
/** A preview of a payout batch. Its `id` is null. */
export interface PayoutPreview extends Open<Schemas['PayoutBatch']> {}
/** Commissions that are paid together. */
export interface PayoutBatch extends PayoutPreview {
  id: string
}
/** Approved balances that a batch does not pay, and why. */
export interface Unpaid extends Open<Schemas['Unpaid']> {}
/** The API key's shop. */
export interface Shop extends Open<Schemas['ShopInfo']> {}
/** A customer of the shop, and the affiliate who referred the customer. */
export interface Customer extends Open<Schemas['Customer']> {
  id: string
}
/** A reported customer, and why the customer is bound or not. */
export interface ReportedCustomer extends Open<Schemas['CustomerReply']> {
  /** The customer was bound before, and nothing was changed. */
  alreadyBound: boolean
}
/** An affiliate's discount code. */
export interface Coupon extends Open<Schemas['Coupon']> {}
/** Totals of one currency over a period. */
export interface Analytics extends Open<Schemas['Analytics']> {}
/** The clicks, page views and orders of a customer, oldest first. */
export interface Journey extends Open<Schemas['Journey']> {}
/** A click, a page view or an order. */
export interface JourneyEntry extends Open<Schemas['JourneyEntry']> {}
/** A subscription to webhook events. Its secret is never returned. */
export interface WebhookSubscription extends Open<Schemas['WebhookSubscription']> {}
/** All subscriptions and the available event names. */
export interface WebhookSubscriptionList extends Open<Schemas['WebhookSubscriptionList']> {}
export interface WebhookEventList extends Open<Schemas['WebhookEventList']> {}
/** The attribution of an order and the resulting commission. */
export interface Conversion extends Pick<Open<Schemas['ConversionReply']>, 'attribution' | 'commission'> {
  /**
   * An earlier report with another idempotency key recorded the order; this is the decision of that report. False for a
   * replay of the same key, which `idempotentReplayed` of `.withResponse()` marks.
   */
  alreadyRecorded: boolean
  /** The earlier report had another amount, discount, shipping, tax or currency. */
  differs: boolean
}
/** A reported order, credited or not. All `*Cents` are minor units of `orderCurrency`. */
export interface Order extends Open<Schemas['Order']> {}
/** Why an order earned a commission, or none. */
export interface OrderExplanation extends Open<Schemas['OrderExplanation']> {}
/** What a refund changed. `warning` is set when less was taken than was refunded. */
export interface ReportedRefund extends Open<Schemas['RefundReportReply']> {}
/** What the cancellation of a refund changed. */
export interface CanceledRefund extends Open<Schemas['RefundCancellationReply']> {}
/** What a cancellation changed. */
export interface ReportedCancellation extends Open<Schemas['CancellationReportReply']> {}
/** A conversion that was not recorded, with the trace of the decision. */
export interface ConversionDryRun extends Open<Schemas['ConversionDryRun']> {}
/** A recorded click or page view. Pass the `id` of a click as `clickId` of the order. */
export interface Touch extends Open<Schemas['TouchReply']> {}
/** The confirmation of an action. `message` is human-readable. */
export interface ActionReply extends Open<Schemas['ActionReply']> {}

export interface AffiliateQuery extends Query<'listAffiliates'> {}
/** Requires `name` or `firstName`. */
export type AffiliateCreate = RequestBody<'createAffiliate'>
export interface AffiliateUpdate extends RequestBody<'updateAffiliate'> {}
export interface AffiliateTokenCreate extends RequestBody<'createAffiliateToken'> {}
export interface AliasQuery extends Query<'listAliases'> {}
export interface AliasCreate extends RequestBody<'createAlias'> {}
export interface ProgramQuery extends Query<'listPrograms'> {}
export type ProgramCreate = RequestBody<'createProgram'>
export interface ProgramTerms extends Open<Schemas['ProgramTerms']> {}
/** The next version of the terms of a program. */
export interface ProgramTermsSet extends RequestBody<'setProgramTerms'> {}
/** Changes of a program. */
export interface ProgramUpdate extends RequestBody<'updateProgram'> {}
export interface CommissionQuery extends Query<'listCommissions'> {}
export interface OrderQuery extends Omit<Query<'listOrders'>, 'credited'> {
  /** Only orders that an affiliate was credited for, or only those that nobody was credited for. */
  credited?: boolean | undefined
}
export interface PayoutQuery extends Query<'listPayouts'> {}
export interface UnpaidQuery extends Query<'getUnpaid'> {}
export interface PayoutCreate extends Omit<RequestBody<'createPayout'>, 'dryRun'> {}
export interface CustomerQuery extends Query<'listCustomers'> {}
/** A customer. Requires `customerId` or `customerEmail`. */
export type CustomerCreate = RequestBody<'createCustomer'>
export interface CouponQuery extends Query<'listCoupons'> {}
export interface CouponAssign extends RequestBody<'assignCoupon'> {}
export interface AnalyticsQuery extends Omit<Query<'getAnalytics'>, 'page' | 'limit'> {}
/** Requires one of `sessionId`, `affiliateId` and `customerEmail`. Entries match all that are given. */
export type JourneyQuery = RequireOne<Query<'getJourney'>, 'sessionId' | 'affiliateId' | 'customerEmail'>
export interface WebhookEventQuery extends Query<'listWebhookEvents'> {}
export interface WebhookCreate
  extends RequireOne<Omit<RequestBody<'createWebhook'>, 'hookUrl' | 'target_url'>, 'url'> {}
/** An order's fields. */
export interface OrderFields
  extends Omit<Input<Schemas['ConversionEvent']>, 'type' | 'orderId' | 'processedAt' | 'externalOrderId'> {
  externalOrderId: string
}
/** An order. Requires `amountCents`, or the price of every line item. */
export type ConversionInput = OrderFields &
  ({ amountCents: number } | { lineItems: (Input<Schemas['LineItem']> & { priceCents: number })[] })
/** Refunded goods of an order. Requires either `amountCents` or `lineItems`. */
export type RefundInput = RequestBody<'reportRefund'>
/** A refund to cancel. */
export interface RefundCancel extends Query<'cancelRefund'> {}
/** An order that was canceled as a whole. */
export interface CancellationInput extends RequestBody<'reportCancellation'> {}
/** A click. Requires one of `ref`, `affiliateCode`, `affiliateId` and `clickId`. */
export type ClickInput = OmitEach<Input<Schemas['ClickEvent']>, 'type'>
export interface PageViewInput extends Omit<Input<Schemas['PageViewEvent']>, 'type'> {}
