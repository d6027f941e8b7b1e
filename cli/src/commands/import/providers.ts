import type { AffiliateStatus, AffiliateUpdate } from '@referral/sdk'
import { PAYEE_FIELDS } from './payees.ts'

/** Another service's export format. */
export interface Provider {
  title: string
  /** The link parameter that contains the ref. */
  linkParameter: string
  /** The affiliate ID. Links contain it only if the export has no other code. */
  id?: readonly string[]
  /** Each field's usual column names; `--map` overrides them. */
  columns: Readonly<Record<string, readonly string[]>>
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

/** Usual columns for fields that are copied unchanged. */
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

/** The services' names for an affiliate's status, without spaces and punctuation. */
export const STATUSES: Readonly<Record<string, AffiliateStatus>> = {
  ...statuses('APPROVED', 'active approved accepted enabled true yes 1'),
  ...statuses('PENDING', 'pending notset new invited unconfirmed'),
  ...statuses(
    'REJECTED',
    'rejected disapproved denied declined disabled inactive deactivated suspicious blocked banned suspended archived',
  ),
  ...statuses('REJECTED', 'false no 0'),
}

function statuses(status: AffiliateStatus, words: string): Record<string, AffiliateStatus> {
  return Object.fromEntries(words.split(' ').map((word) => [word, status]))
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
  },
  rewardful: {
    title: 'Rewardful',
    linkParameter: 'via',
    columns: {
      ...COMMON_FIELDS,
      // In this export, `state` is the account's status, not part of the address.
      homeState: ['addressState'],
      ref: ['token', 'linkToken', 'affiliateToken'],
      link: ['links', 'url', 'affiliateLink', 'linkUrl'],
      coupon: ['couponCode', 'coupons', 'couponToken', 'promotionCode'],
      status: ['state', 'affiliateState'],
    },
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
  },
  tolt: {
    title: 'Tolt',
    linkParameter: 'via',
    columns: {
      ...COMMON_FIELDS,
      ref: ['linkValue', 'referralCode', 'refCode'],
      link: ['links', 'referralLink', 'partnerLink', 'url'],
      coupon: ['promotionCode', 'promoCode', 'couponCode'],
      status: ['partnerStatus'],
    },
  },
  dub: {
    title: 'Dub',
    linkParameter: 'via',
    columns: {
      ...COMMON_FIELDS,
      ref: ['key', 'linkKey', 'username'],
      link: ['links', 'url', 'referralLink'],
      coupon: ['discountCode', 'couponCode'],
      status: [],
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
  },
}
