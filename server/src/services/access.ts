import type { Context } from '../context.ts'
import { mutate } from './mutate.ts'

/**
 * Writes to the audit that a user looked at something; what they asked for is shown only after that.
 *
 * @throws ApiError 503 `audit_unavailable` or `storage_unavailable`.
 */
export const recordAccess = (ctx: Context, action: string, subjectId: string | null): Promise<undefined> =>
  mutate(ctx, async () => ({ result: undefined, audit: { action, subjectId } }))
