import type { components } from './schema.ts'
import type { Body, OmitEach, Open, Query, RequireOne } from './types.ts'

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

/** Somebody who refers customers (section 2.2). */
export interface Affiliate extends Open<Schemas['Affiliate']> {}
/** What an affiliate earns, and how long a click counts (section 2.3). */
export interface Program extends Open<Schemas['Program']> {}
/** What one order earned (section 2.4). All `*Cents` are minor units of `currency`. */
export interface Commission extends Open<Schemas['Commission']> {}
/** A batch that would be made: it has no id yet. */
export interface PayoutPreview extends Open<Schemas['PayoutBatch']> {}
/** Commissions that are paid together (section 2.5). */
export interface PayoutBatch extends PayoutPreview {
  id: string
}
/** The discount code of an affiliate (section 2.6). */
export interface Coupon extends Open<Schemas['Coupon']> {}
/** Sums of one currency over a period (section 4.6). */
export interface Analytics extends Open<Schemas['Analytics']> {}
/** The path of a customer (section 4.7), oldest first. */
export interface Journey extends Open<Schemas['Journey']> {}
/** A click, a page view or an order. */
export interface JourneyEntry extends Open<Schemas['JourneyEntry']> {}
/** Section 2.8. The secret is never given back. */
export interface WebhookSubscription extends Open<Schemas['WebhookSubscription']> {}
/** All subscriptions, and the names of events. */
export interface WebhookSubscriptionList extends Open<Schemas['WebhookSubscriptionList']> {}
/** What the engine decided on an order (section 4.9). */
export interface Conversion extends Pick<Open<Schemas['ConversionReply']>, 'attribution' | 'commission'> {}
/** The same with the way to it; nothing was written. */
export interface ConversionDryRun extends Open<Schemas['ConversionDryRun']> {}
/** A stored click or page view; `id` is the click id to send back. */
export interface Touch extends Open<Schemas['TouchReply']> {}
/** Done. `message` is a sentence for people. */
export interface ActionReply extends Open<Schemas['ActionReply']> {}

export interface AffiliateQuery extends Query<'listAffiliates'> {}
/** `name` or `firstName` is needed. */
export type AffiliateCreate = Body<'createAffiliate'>
export interface AffiliateUpdate extends Body<'updateAffiliate'> {}
export interface ProgramQuery extends Query<'listPrograms'> {}
export type ProgramCreate = Body<'createProgram'>
export interface ProgramUpdate extends Body<'updateProgram'> {}
export interface CommissionQuery extends Query<'listCommissions'> {}
export interface PayoutQuery extends Query<'listPayouts'> {}
export interface PayoutCreate extends Omit<Body<'createPayout'>, 'dryRun'> {}
export interface CouponQuery extends Query<'listCoupons'> {}
export interface CouponAssign extends Body<'assignCoupon'> {}
export interface AnalyticsQuery extends Omit<Query<'getAnalytics'>, 'page' | 'limit'> {}
/** One of `sessionId`, `affiliateId` and `customerEmail` is needed; several narrow further. */
export type JourneyQuery = RequireOne<Query<'getJourney'>, 'sessionId' | 'affiliateId' | 'customerEmail'>
export interface WebhookCreate extends RequireOne<Omit<Body<'createWebhook'>, 'hookUrl' | 'target_url'>, 'url'> {}
/** An order. Without `amountCents` every line item needs its price. */
export interface ConversionInput
  extends RequireOne<Omit<Schemas['ConversionEvent'], 'type' | 'orderId' | 'processedAt'>, 'externalOrderId'> {}
/** A click. One of `ref`, `affiliateCode`, `affiliateId` and `clickId` is needed. */
export type ClickInput = OmitEach<Schemas['ClickEvent'], 'type'>
export interface PageViewInput extends Omit<Schemas['PageViewEvent'], 'type'> {}
