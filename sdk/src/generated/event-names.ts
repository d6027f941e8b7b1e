// Generated from openapi.yaml by `pnpm run generate`. Do not edit.

/** The names of all documented webhook events. */
export const eventNames = ["affiliate.approved","affiliate.rejected","affiliate.status_changed","commission.created","test"] as const
