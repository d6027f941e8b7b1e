// Made from openapi.yaml by scripts/generate.ts; change it there.

/** The lists of values that the contract has. */
export const values = {
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
  CommissionType: ['PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'],
  DiscountType: ['PERCENT', 'FIXED'],
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
} as const

/** How many rows come at once: without being asked for, and at most. */
export const rows = { list: { usual: 20, most: 100 }, journey: { usual: 100, most: 500 } }
