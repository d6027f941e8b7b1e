import type { components } from './schema.ts'
import type { Body, Open, Query, RequireOne } from './types.ts'

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
export interface JourneyEntry extends Open<Schemas['JourneyEntry']> {}
/** Section 2.8. The secret is never given back. */
export interface WebhookSubscription extends Open<Schemas['WebhookSubscription']> {}
export interface WebhookSubscriptionList extends Open<Schemas['WebhookSubscriptionList']> {}
/** What the engine decided on an order (section 4.9). */
export interface Conversion extends Open<Schemas['ConversionReply']> {}
/** The same with the way to it; nothing was written. */
export interface ConversionDryRun extends Open<Schemas['ConversionDryRun']> {}
/** A stored click or page view; `id` is the click id to send back. */
export interface Touch extends Open<Schemas['TouchReply']> {}
/** Done. `message` is a sentence for people. */
export interface ActionReply extends Open<Schemas['ActionReply']> {}

export type AffiliateQuery = Query<'listAffiliates'>
export type AffiliateCreate = RequireOne<Body<'createAffiliate'>, 'name' | 'firstName'>
export type AffiliateUpdate = Body<'updateAffiliate'>
export type ProgramQuery = Query<'listPrograms'>
export type ProgramCreate = Body<'createProgram'>
export type ProgramUpdate = Body<'updateProgram'>
export type CommissionQuery = Query<'listCommissions'>
export type PayoutQuery = Query<'listPayouts'>
export type PayoutCreate = Omit<Body<'createPayout'>, 'dryRun'>
export type CouponQuery = Query<'listCoupons'>
export type CouponAssign = Body<'assignCoupon'>
export type AnalyticsQuery = Omit<Query<'getAnalytics'>, 'page' | 'limit'>
export type JourneyQuery = RequireOne<Query<'getJourney'>, 'sessionId' | 'affiliateId' | 'customerEmail'>
export type WebhookCreate = RequireOne<Omit<Body<'createWebhook'>, 'hookUrl' | 'target_url'>, 'url'>
/** An order. Without `amountCents` every line item needs its price. */
export type ConversionInput = RequireOne<
  Omit<Schemas['ConversionEvent'], 'type' | 'orderId' | 'processedAt'>,
  'externalOrderId'
>
export type ClickInput = RequireOne<
  Omit<Schemas['ClickEvent'], 'type'>,
  'ref' | 'affiliateCode' | 'affiliateId' | 'clickId'
>
export type PageViewInput = Omit<Schemas['PageViewEvent'], 'type'>
