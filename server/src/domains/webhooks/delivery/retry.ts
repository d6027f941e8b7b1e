import type { Transaction } from '../../../database/database.ts'
import { type FinishedDelivery, recordResults } from '../delivery-queries.ts'
import { findSubscription, updateSubscription } from '../queries.ts'
import type { Outcome } from './outcome.ts'

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000]
/** How long to wait after each failed attempt; after the last one the delivery has failed. */
const DELAYS_MS = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS]
/** Each delay is varied by up to this part, so that the retries of an outage do not arrive at once. */
const JITTER = 0.1
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS
/** A subscription is disabled when none of its deliveries has succeeded for this long. */
export const MAX_FAILING_MS = 5 * 24 * HOUR_MS
const GONE = 410

/** The end of an attempt. */
export interface EndedAttempt extends Omit<Outcome, 'isComplete'> {
  shopId: string
  id: string
  subscriptionId: string
  durationMs: number
  /** How many attempts have ended, with this one. */
  attempts: number
  /** No delivery of the subscription had succeeded since one failed, as of the attempt. */
  wasFailing: boolean
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
 * attempt. Also records since when a subscription has been failing. The policy is that of the time of recording.
 *
 * @returns the subscriptions to disable
 */
export async function recordAttempts(trx: Transaction, ended: EndedAttempt[]): Promise<Unreachable[]> {
  const results: FinishedDelivery[] = []
  const unreachable: Unreachable[] = []
  for (const [id, own] of Map.groupBy(ended, ({ subscriptionId }) => subscriptionId)) {
    const { shopId } = own[0]!
    const failures = own.filter(({ code }) => code !== 'ok')
    // Most deliveries succeed, and then the subscription need not be read.
    const mayChange = failures.length > 0 || own.some(({ wasFailing }) => wasFailing)
    const row = mayChange ? await findSubscription(trx, shopId, id) : undefined
    const isRetried = row?.retryPolicy === 'standard' && row.disabledAt === null
    results.push(...own.map((one) => toResult(one, isRetried)))
    if (!row || !isRetried) continue
    const failingSince = failures.length < own.length ? null : (row.failingSince ?? failures[0]!.endedAt)
    if (failingSince !== row.failingSince) await updateSubscription(trx, shopId, id, { failingSince })
    const reason = reasonToDisable(failures, failingSince)
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
