import type { Transaction } from '../../../database/database.ts'
import { updateRows } from '../../../database/rows.ts'
import type { ClaimedDelivery, Destination } from '../claim-queries.ts'
import { type FinishedDelivery, recordResults } from '../delivery-queries.ts'
import { findSubscription } from '../queries.ts'
import type { Outcome } from './outcome.ts'
import { RESPONSIVE, UNRESPONSIVE } from './plan-claims.ts'

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000]
/** How long to wait after each failed attempt; after the last one the delivery has failed. */
const DELAYS_MS = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS]
/** Each delay is varied by up to this part, so that the retries of an outage do not arrive at once. */
const JITTER = 0.1
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS
/** A subscription is disabled after this long without a successful delivery. */
const MAX_FAILING_MS = 5 * 24 * HOUR_MS
const GONE = 410

/** The end of an attempt. */
export interface EndedAttempt
  extends Outcome,
    Pick<ClaimedDelivery, 'shopId' | 'id' | 'subscriptionId' | 'attempts'>,
    Pick<Destination, 'failingSince' | 'maxInFlight'> {
  durationMs: number
  /** In the time of the shop. */
  endedAt: string
}

/** A subscription to disable. */
export interface Unreachable {
  shopId: string
  id: string
  reason: 'gone' | 'failing'
}

/**
 * When to attempt a failed delivery again, in the time of the shop (milliseconds since 1970); undefined when it was the last attempt.
 *
 * @param random from 0 to 1
 */
export function nextAttemptAt(
  { attempts, endedAt, retryAfterMs = 0 }: Pick<EndedAttempt, 'attempts' | 'endedAt' | 'retryAfterMs'>,
  random = Math.random(),
): number | undefined {
  const delay = DELAYS_MS[attempts - 1]
  if (delay === undefined) return undefined
  const varied = delay * (1 - JITTER + 2 * JITTER * random)
  return Date.parse(endedAt) + Math.round(Math.max(varied, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)))
}

/**
 * Records ended attempts: a failed delivery to a subscription with retries is due again later, unless that was its last
 * attempt. Also records since when a subscription has been failing, and how many of its deliveries may be in flight. The policy
 * is that of the time of recording.
 *
 * @returns the subscriptions to disable
 */
export async function recordAttempts(trx: Transaction, ended: EndedAttempt[]): Promise<Unreachable[]> {
  const results: FinishedDelivery[] = []
  const unreachable: Unreachable[] = []
  const bySubscription = Map.groupBy(ended, ({ subscriptionId }) => subscriptionId)
  // In the order of ids, so that two processes cannot deadlock.
  for (const [id, attempts] of [...bySubscription].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { shopId } = attempts[0]!
    const failures = attempts.filter(({ code }) => code !== 'ok')
    const maxInFlight = attempts.at(-1)!.isComplete ? RESPONSIVE : UNRESPONSIVE
    // Most deliveries succeed, and then the subscription need not be read.
    const mayChange =
      failures.length > 0 || attempts.some((last) => last.failingSince !== null || last.maxInFlight !== maxInFlight)
    const row = mayChange ? await findSubscription(trx, shopId, id) : undefined
    const isRetried = row?.retryPolicy === 'standard' && row.disabledAt === null
    results.push(...attempts.map((attempt) => toResult(attempt, isRetried)))
    if (!row || row.disabledAt !== null) continue
    const firstFailure = row.failingSince ?? failures[0]?.endedAt ?? null
    const failingSince = isRetried && failures.length === attempts.length ? firstFailure : null
    if (failingSince !== row.failingSince || maxInFlight !== row.maxInFlight)
      await updateRows(trx, 'subscriptions', { shopId, id }, { failingSince, maxInFlight })
    const reason = isRetried && reasonToDisable(failures, failingSince)
    if (reason) unreachable.push({ shopId, id, reason })
  }
  await recordResults(trx, results)
  return unreachable
}

function reasonToDisable(failures: EndedAttempt[], failingSince: string | null): Unreachable['reason'] | undefined {
  if (failures.some(({ httpStatus }) => httpStatus === GONE)) return 'gone'
  const last = failures.at(-1)
  const isTooLong = last && failingSince && Date.parse(last.endedAt) - Date.parse(failingSince) >= MAX_FAILING_MS
  return isTooLong ? 'failing' : undefined
}

function toResult(ended: EndedAttempt, isRetried: boolean): FinishedDelivery {
  const { shopId, id, code, httpStatus, durationMs, attempts, endedAt } = ended
  const result = { shopId, id, code, httpStatus, durationMs, attempts }
  if (code === 'ok') return { ...result, status: 'SENT', finishedAt: endedAt, nextAttemptAt: null }
  const next = isRetried && httpStatus !== GONE ? nextAttemptAt(ended) : undefined
  return next === undefined
    ? { ...result, status: 'FAILED', finishedAt: endedAt, nextAttemptAt: null }
    : { ...result, status: 'RETRYING', finishedAt: null, nextAttemptAt: new Date(next).toISOString() }
}
