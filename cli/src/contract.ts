// Generated from openapi.yaml by scripts/generate.ts. Do not edit.

/** The contract's enums. */
export const enums = {
  AffiliateStatus: ['PENDING', 'ACTIVE', 'APPROVED', 'REJECTED'],
  CommissionStatus: [
    'REJECTED',
    'PENDING',
    'APPROVED',
    'ACCEPTED',
    'PAYABLE',
    'PAID',
    'REVERSED',
    'CANCELED',
    'REFUNDED',
  ],
  ProgramStatus: ['DRAFT', 'PRIVATE', 'PUBLISH'],
  PayoutBatchStatus: ['OPEN', 'PROCESSING', 'PAID', 'FAILED'],
  PayeeMethod: ['PAYPAL', 'WISE', 'SEPA'],
  AliasKind: ['CODE', 'LINK'],
  PayoutLineState: ['READY', 'SENT', 'SETTLED', 'RETURNED', 'BLOCKED'],
  PayoutFileFormat: ['csv', 'paypal', 'wise', 'sepa'],
  CommissionType: ['PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'],
  DiscountType: ['PERCENT', 'FIXED'],
  DeliveryStatus: ['PENDING', 'RETRYING', 'SENT', 'FAILED'],
  RetryPolicy: ['none', 'standard'],
  Scope: [
    'affiliates:read',
    'affiliates:write',
    'commissions:read',
    'coupons:read',
    'coupons:write',
    'payouts:read',
    'payouts:write',
    'programs:read',
    'programs:write',
    'analytics:read',
    'events:write',
    'webhooks:read',
    'webhooks:write',
  ],
  EventType: ['conversion', 'click', 'page_view'],
  McpGroup: [
    'affiliates',
    'commissions',
    'coupons',
    'customers',
    'events',
    'payouts',
    'programs',
    'refunds',
    'webhooks',
  ],
} as const

/** Rows per page: the default and the maximum. */
export const pageLimits = { list: { default: 20, max: 100 }, journey: { default: 100, max: 500 } }
