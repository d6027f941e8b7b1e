// Generated from openapi.yaml by `pnpm run generate`. Do not edit.

/** Every webhook event that is described. */
export const eventNames = ["affiliate.approved","affiliate.rejected","affiliate.status_changed","commission.created","test"] as const
