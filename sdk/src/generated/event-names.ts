// Generated from openapi.yaml by `pnpm run generate`. Do not edit.

/** The names of all documented webhook events. */
export const eventNames = ["affiliate.approved","affiliate.rejected","affiliate.status_changed","commission.created","customer.bound","commission.approved","commission.rejected","commission.refunded","commission.reversed","commission.paid","payout.created","payout.paid","payout.failed","test"] as const
