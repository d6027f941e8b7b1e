import type { AffiliateStatus, AffiliateUpdate } from '@referral/sdk'
import { PAYEE_FIELDS } from './payees.ts'

/** The export format of another service. */
export interface Provider {
  title: string
  /** The link parameter that contains the ref. */
  linkParameter: string
  /** The affiliate id. Links contain it only when the export has no other code. */
  id?: readonly string[]
  /** The usual column names of each field; `--map` overrides them. */
  columns: Readonly<Record<string, readonly string[]>>
  statuses: Readonly<Record<string, AffiliateStatus>>
}

/** Fields that cannot be imported. They are reported, so that nothing is lost silently. */
const UNSUPPORTED_FIELDS = {
  balance: [
    'balance',
    'currentBalance',
    'unpaidBalance',
    'unpaidCommissions',
    'unpaidEarnings',
    'pendingPayment',
    'amountDue',
    'dueCommissions',
    'totalUnpaid',
    'outstanding',
  ],
}

type OwnField = 'name' | 'firstName' | 'lastName' | 'email' | 'status' | 'campaignId'

/** The usual columns of the fields that are copied unchanged. */
const CONTACT_COLUMNS: Record<Exclude<keyof AffiliateUpdate, OwnField>, readonly string[]> = {
  phone: ['phoneNumber'],
  website: ['websiteUrl', 'site'],
  instagramHandle: ['instagram'],
  tiktokHandle: ['tiktok'],
  youtubeHandle: ['youtube'],
  homeCountry: ['country', 'addressCountry'],
  homeState: ['state', 'region', 'addressState'],
  homeCity: ['city', 'addressCity'],
  homePostalCode: ['postalCode', 'zip', 'zipCode', 'addressPostalCode'],
  homeAddress: ['address', 'address1', 'street'],
}

export const CONTACT_FIELDS = Object.keys(CONTACT_COLUMNS)

const COMMON_FIELDS = {
  ...UNSUPPORTED_FIELDS,
  ...PAYEE_FIELDS,
  email: ['emailAddress', 'affiliateEmail'],
  firstName: ['first'],
  lastName: ['last'],
  name: ['fullName', 'affiliateName', 'affiliate'],
  ...CONTACT_COLUMNS,
}

const STATUSES: Provider['statuses'] = {
  approved: 'APPROVED',
  active: 'APPROVED',
  pending: 'PENDING',
  rejected: 'REJECTED',
}

export const providers: Readonly<Record<string, Provider>> = {
  csv: {
    title: 'CSV',
    linkParameter: 'ref',
    columns: {
      ...COMMON_FIELDS,
      ref: ['refCode', 'linkName', 'linkNames', 'refs'],
      link: ['links', 'affiliateLink', 'referralLink', 'url'],
      coupon: ['coupons', 'code', 'codes', 'couponCode', 'couponCodes', 'discountCode'],
      status: [],
    },
    statuses: STATUSES,
  },
  rewardful: {
    title: 'Rewardful',
    linkParameter: 'via',
    columns: {
      ...COMMON_FIELDS,
      // In this export, `state` is the status of the account, not part of the address.
      homeState: ['addressState'],
      ref: ['token', 'linkToken', 'affiliateToken'],
      link: ['links', 'url', 'affiliateLink', 'linkUrl'],
      coupon: ['couponCode', 'coupons', 'couponToken', 'promotionCode'],
      status: ['state', 'affiliateState'],
    },
    statuses: { active: 'APPROVED', pending: 'PENDING', disabled: 'REJECTED', suspicious: 'REJECTED' },
  },
  tapfiliate: {
    title: 'Tapfiliate',
    linkParameter: 'ref',
    columns: {
      ...COMMON_FIELDS,
      ref: ['referralCode', 'affiliateCode', 'code'],
      link: ['referralLink', 'affiliateLink', 'referralUrl'],
      coupon: ['coupons', 'couponCode', 'couponCodes'],
      status: ['approved', 'approvalStatus'],
    },
    statuses: {
      approved: 'APPROVED',
      active: 'APPROVED',
      true: 'APPROVED',
      yes: 'APPROVED',
      1: 'APPROVED',
      pending: 'PENDING',
      disapproved: 'REJECTED',
      archived: 'REJECTED',
      false: 'REJECTED',
      no: 'REJECTED',
      0: 'REJECTED',
    },
  },
  refersion: {
    title: 'Refersion',
    linkParameter: 'rfsn',
    id: ['affiliateId', 'id'],
    columns: {
      ...COMMON_FIELDS,
      ref: ['rfsn', 'affiliateCode', 'code'],
      link: ['affiliateLink', 'trackingLink', 'referralLink', 'url'],
      coupon: ['coupons', 'couponCode', 'conversionTrigger', 'trigger'],
      status: ['affiliateStatus'],
    },
    statuses: {
      active: 'APPROVED',
      approved: 'APPROVED',
      pending: 'PENDING',
      denied: 'REJECTED',
      disabled: 'REJECTED',
    },
  },
  firstpromoter: {
    title: 'FirstPromoter',
    linkParameter: 'fpr',
    columns: {
      ...COMMON_FIELDS,
      homeState: ['addressState'],
      ref: ['refId', 'defaultRefId', 'refToken', 'referralId', 'referralCode'],
      link: ['referralLink', 'refLink', 'url'],
      coupon: ['promoCode', 'promoCodes', 'couponCode', 'coupons'],
      status: ['state', 'promoterState', 'promoterStatus'],
    },
    statuses: {
      active: 'APPROVED',
      approved: 'APPROVED',
      accepted: 'APPROVED',
      pending: 'PENDING',
      notset: 'PENDING',
      rejected: 'REJECTED',
      blocked: 'REJECTED',
      inactive: 'REJECTED',
      archived: 'REJECTED',
    },
  },
  uppromote: {
    title: 'UpPromote',
    linkParameter: 'sca_ref',
    columns: {
      ...COMMON_FIELDS,
      ref: ['scaRef', 'affiliateCode', 'customAffiliateLinkCode'],
      link: ['affiliateLink', 'defaultAffiliateLink', 'customAffiliateLink', 'referralLink'],
      coupon: ['coupon', 'coupons', 'couponCode', 'defaultCoupon'],
      status: ['affiliateStatus'],
    },
    statuses: {
      active: 'APPROVED',
      approved: 'APPROVED',
      pending: 'PENDING',
      inactive: 'REJECTED',
      denied: 'REJECTED',
    },
  },
  goaffpro: {
    title: 'GoAffPro',
    linkParameter: 'ref',
    columns: {
      ...COMMON_FIELDS,
      ref: ['refCode', 'referralCode', 'affiliateCode'],
      link: ['referralLink', 'affiliateLink', 'refLink'],
      coupon: ['coupon', 'coupons', 'couponCode'],
      status: ['affiliateStatus'],
    },
    statuses: { ...STATUSES, blocked: 'REJECTED' },
  },
}
