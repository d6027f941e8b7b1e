// Generated from openapi.yaml by `pnpm run generate`. Do not edit.

/** The version of this package. */
export const version = '0.1.0'

/** Method, path and what may be sent again (`x-retry`), by operation. */
export const operations = {
  listAffiliates: ['GET', '/api/v1/affiliates', 'safe'],
  createAffiliate: ['POST', '/api/v1/affiliates', 'keyed'],
  updateAffiliate: ['PATCH', '/api/v1/affiliates', 'repeatable'],
  archiveAffiliate: ['DELETE', '/api/v1/affiliates', 'repeatable'],
  listPrograms: ['GET', '/api/v1/programs', 'safe'],
  createProgram: ['POST', '/api/v1/programs', 'keyed'],
  updateProgram: ['PATCH', '/api/v1/programs', 'repeatable'],
  listCommissions: ['GET', '/api/v1/commissions', 'safe'],
  listPayouts: ['GET', '/api/v1/payouts', 'safe'],
  createPayout: ['POST', '/api/v1/payouts', 'keyed'],
  payPayout: ['PATCH', '/api/v1/payouts', 'repeatable'],
  listCoupons: ['GET', '/api/v1/coupons', 'safe'],
  assignCoupon: ['POST', '/api/v1/coupons', 'keyed'],
  getAnalytics: ['GET', '/api/v1/analytics', 'safe'],
  getJourney: ['GET', '/api/v1/journey', 'safe'],
  listWebhooks: ['GET', '/api/v1/webhooks', 'safe'],
  createWebhook: ['POST', '/api/v1/webhooks', 'keyed'],
  deleteWebhook: ['DELETE', '/api/v1/webhooks', 'repeatable'],
  recordEvent: ['POST', '/api/v1/events', 'keyed'],
  getDocs: ['GET', '/api/v1/docs', 'safe'],
} as const

/** Every webhook event that is described. */
export const eventNames = [
  'affiliate.approved',
  'affiliate.rejected',
  'affiliate.status_changed',
  'commission.created',
  'test',
] as const
