import type { components, PayoutBatch, ReferralClient } from '@referral/sdk'
import { formatMoney } from '../money.ts'
import { describeUnpaid } from '../payouts/late.ts'
import { monthPeriod } from '../period.ts'
import type { Settings } from '../settings.ts'

/** One thing that was looked at. */
export interface Check {
  check: string
  result: 'ok' | 'warning' | 'failed' | 'skipped'
  detail: string
}

const ok = (check: string, detail: string): Check => ({ check, result: 'ok', detail })
const failed = (check: string, detail: string): Check => ({ check, result: 'failed', detail })
const skipped = (check: string, detail: string): Check => ({ check, result: 'skipped', detail })

// A receiver refuses what is more than five minutes off; half of that is a reason to look.
const SKEW_WARNING_MS = 150_000

/** Whether somebody answers there, and how far the clocks are apart. */
export async function checkService({ baseUrl }: Settings, now: () => number): Promise<Check[]> {
  const started = now()
  let response: Response
  try {
    response = await fetch(`${baseUrl}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(10_000) })
    await response.body?.cancel()
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return [failed('service', `nothing answers at ${baseUrl}: ${cause?.code ?? message}`)]
  }
  const ms = now() - started
  if (response.status !== 200)
    return [failed('service', `${baseUrl}/healthz answers ${response.status}: is the address right?`)]
  return [ok('service', `${baseUrl} answers in ${ms} ms`), checkClock(response, started + ms / 2)]
}

function checkClock(response: Response, middle: number): Check {
  const date = Date.parse(response.headers.get('Date') ?? '')
  if (Number.isNaN(date)) return skipped('clock', 'the service does not tell its time')
  // The header counts whole seconds.
  const skew = Math.abs(date + 500 - middle)
  const text = `${Math.round(skew / 1000)} s apart`
  return skew < SKEW_WARNING_MS
    ? ok('clock', text)
    : { check: 'clock', result: 'warning', detail: `${text}: webhooks are refused beyond 300 s` }
}

/** A 403 has three causes, and each has another cure. */
export function explainAuthError(error: { code?: string | undefined; message: string }): Check[] {
  const { code, message } = error
  if (code === 'plan_required')
    return [ok('key', 'known'), failed('plan', `${message} The key itself is right: change the plan of the shop.`)]
  if (code === 'api_disabled') return [ok('key', 'known'), failed('plan', message)]
  return [failed('key', `${message} Log in with another key.`)]
}

// Each is refused for its missing scope before its empty body is looked at, so that nothing can be written.
const SCOPE_PROBES: Record<components['schemas']['Scope'], [method: 'GET' | 'POST', path: string]> = {
  'affiliates:read': ['GET', '/api/v1/affiliates?limit=1'],
  'affiliates:write': ['POST', '/api/v1/affiliates'],
  'programs:read': ['GET', '/api/v1/programs?limit=1'],
  'programs:write': ['POST', '/api/v1/programs'],
  'commissions:read': ['GET', '/api/v1/commissions?limit=1'],
  'coupons:read': ['GET', '/api/v1/coupons?limit=1'],
  'coupons:write': ['POST', '/api/v1/coupons'],
  'payouts:read': ['GET', '/api/v1/payouts?limit=1'],
  'payouts:write': ['POST', '/api/v1/payouts'],
  'analytics:read': ['GET', '/api/v1/journey'],
  'events:write': ['POST', '/api/v1/events'],
  'webhooks:read': ['GET', '/api/v1/webhooks'],
  'webhooks:write': ['POST', '/api/v1/webhooks'],
}

type UntypedMethod = (path: string, init: object) => Promise<{ error?: unknown; response: Response }>

/** Asks for each scope with a call that cannot do anything. */
export async function checkScopes(client: ReferralClient): Promise<Check> {
  const missing: string[] = []
  for (const [scope, [method, target]] of Object.entries(SCOPE_PROBES)) {
    const url = new URL(target, 'http://service')
    const call = client[method] as unknown as UntypedMethod
    const { response } = await call(url.pathname, {
      params: { query: Object.fromEntries(url.searchParams) },
      ...(method === 'POST' ? { body: {} } : {}),
    })
    if (response.headers.get('X-Error-Code') === 'scope_missing') missing.push(scope)
  }
  const all = Object.keys(SCOPE_PROBES).length
  const have = all - missing.length
  return missing.length
    ? { check: 'scopes', result: 'warning', detail: `${have} of ${all}; missing ${missing.join(', ')}` }
    : ok('scopes', `all ${have}`)
}

export function checkRateLimit({ rateLimit }: ReferralClient): Check {
  if (!rateLimit) return skipped('rate limit', 'the service did not say')
  const { remaining, limit, resetSeconds } = rateLimit
  const detail = `${remaining} of ${limit} requests left for ${resetSeconds} s`
  return remaining * 5 > limit ? ok('rate limit', detail) : { check: 'rate limit', result: 'warning', detail }
}

/** Whether receivers can be reached from here; the service itself may see more or less. */
export async function checkWebhooks(client: ReferralClient): Promise<Check[]> {
  const { data, error } = await client.webhooks.list().safe()
  if (error) return [skipped('webhooks', error.message)]
  if (data.data.length === 0) return [ok('webhooks', 'no subscriptions')]
  const reached = await Promise.all(data.data.map(async ({ url }) => ({ url, answer: await probeUrl(url) })))
  const dead = reached.filter(({ answer }) => answer !== undefined)
  const unsigned = data.data.filter(({ hasSecret }) => !hasSecret).length
  const checks = dead.map(({ url, answer }) => failed('webhooks', `${url}: ${answer}`))
  if (dead.length < reached.length)
    checks.push(ok('webhooks', `${reached.length - dead.length} of ${reached.length} receivers can be reached`))
  if (unsigned)
    checks.push({ check: 'webhooks', result: 'warning', detail: `${unsigned} subscriptions are not signed` })
  return checks
}

/** Any answer is one: receivers need not like a HEAD. */
async function probeUrl(url: string): Promise<string | undefined> {
  try {
    await fetch(url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(5000) })
    return undefined
  } catch (error) {
    return (error as { cause?: { code?: string } }).cause?.code ?? 'no answer'
  }
}

const BATCHES_TO_CHECK = 5

/** The totals of the latest batches against their commissions, added up here. */
export async function checkBatches(client: ReferralClient): Promise<Check[]> {
  const { data, error } = await client.payouts.list({ limit: BATCHES_TO_CHECK }).safe()
  if (error) return [skipped('payouts', error.message)]
  const batches = data.data.filter(({ status }) => status !== 'FAILED')
  const checks: Check[] = []
  for (const batch of batches) {
    const wrong = await compareTotals(client, batch)
    if (wrong) checks.push(wrong)
  }
  const more = data.pagination.total > data.data.length ? ` of ${data.pagination.total}` : ''
  if (checks.length === 0) checks.push(ok('payouts', `${batches.length}${more} batches add up`))
  return checks
}

async function compareTotals(
  client: ReferralClient,
  { id, totals, currency }: PayoutBatch,
): Promise<Check | undefined> {
  let cents = 0n
  let tax = 0n
  let count = 0
  try {
    for await (const row of client.commissions.list({ payoutBatchId: id })) {
      cents += BigInt(row.commissionAmountCents)
      tax += BigInt(row.taxWithheldCents)
      count += 1
    }
  } catch (error) {
    return skipped('payouts', (error as Error).message)
  }
  if (cents === BigInt(totals.commissionCents) && tax === BigInt(totals.taxWithheldCents)) return undefined
  return failed(
    'payouts',
    `${id} says ${formatMoney(totals.netPayableCents, currency)}, its ${count} commissions come to ${formatMoney(cents - tax, currency)}`,
  )
}

/** What the run that pays each month has passed by: it only ever looks at the month before. */
export async function checkUnpaid(client: ReferralClient, now: number): Promise<Check> {
  const { from: periodStart, to: periodEnd } = monthPeriod('last', now)
  try {
    const late = await describeUnpaid(client, { periodStart, periodEnd })
    return late
      ? { check: 'unpaid', result: 'warning', detail: late }
      : ok('unpaid', 'nothing waits from before last month')
  } catch (error) {
    return skipped('unpaid', (error as Error).message)
  }
}
