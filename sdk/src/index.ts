export type { Call, SafeResult } from './call.ts'
export { createReferralClient, type RawClient, type ReferralClient } from './client.ts'
export { type Core, createCore, type WithResponse } from './core.ts'
export {
  AbortedError,
  ApiError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  ForbiddenError,
  InternalServerError,
  InvalidResponseError,
  isReferralError,
  MethodNotAllowedError,
  NotFoundError,
  RateLimitError,
  ReferralError,
  ServiceUnavailableError,
  TimeoutError,
  UnauthorizedError,
  UnknownOutcomeError,
} from './errors.ts'
export type * from './models.ts'
export type {
  AppInfo,
  CallOptions,
  ClientOptions,
  EndInfo,
  ErrorInfo,
  Fetch,
  FetchedResponse,
  FetchInit,
  Hooks,
  Logger,
  ReportOptions,
  RequestInfo,
  ResponseInfo,
  RetryInfo,
  WriteOptions,
} from './options.ts'
export type { Page, PagedCall } from './pagination.ts'
export { affiliates } from './resources/affiliates.ts'
export { aliases } from './resources/aliases.ts'
export { analytics } from './resources/analytics.ts'
export { cancellations } from './resources/cancellations.ts'
export { commissions } from './resources/commissions.ts'
export { coupons } from './resources/coupons.ts'
export { customers } from './resources/customers.ts'
export { events } from './resources/events.ts'
export { journey } from './resources/journey.ts'
export { orders } from './resources/orders.ts'
export { type GetPayoutOptions, type PayOptions, payouts } from './resources/payouts.ts'
export { programs } from './resources/programs.ts'
export { refunds } from './resources/refunds.ts'
export { shop } from './resources/shop.ts'
export { generateSecret, webhooks } from './resources/webhooks.ts'
export type { RateLimit } from './retry.ts'
export type { components, operations, paths } from './schema.ts'
export { isKnownEvent, type KnownEvent, type UnknownEvent, type WebhookEvent } from './webhook-events.ts'
