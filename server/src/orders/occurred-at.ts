import { invalid } from '../contract/errors.ts'
import { type Context, nowIso } from '../core/context.ts'
import { parseBodyInstant } from '../core/time.ts'
import { CLOCK_TOLERANCE_MS } from '../engine/attribution.ts'

/** When an order or a refund took place; defaults to now. @throws ApiError 400 `invalid_body` or `occurred_at_in_future`. */
export function readOccurredAt(ctx: Context, occurredAt: string | null | undefined): string {
  const at = parseBodyInstant('occurredAt', occurredAt || null)
  if (!at) return nowIso(ctx)
  rejectFuture(ctx, at)
  return at
}

/** Rejects an instant in the future, within the tolerance for clocks. @throws ApiError 400 `occurred_at_in_future`. */
export function rejectFuture(ctx: Context, at: string): void {
  if (Date.parse(at) <= ctx.now() + CLOCK_TOLERANCE_MS) return
  throw invalid('occurred_at_in_future', 'occurredAt must not be more than 5 minutes in the future.')
}
