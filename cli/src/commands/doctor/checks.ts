import type { components, PayoutBatch, ReferralClient, WebhookSubscription } from '@referral/sdk'
import type { Period } from '../../days.ts'
import { formatMoney } from '../../money.ts'
import { counted } from '../../output/text.ts'
import type { Settings } from '../../settings.ts'

/** The result of one check. */
export interface Check {
  check: string
  result: 'ok' | 'warning' | 'failed' | 'skipped'
  detail: string
}

const ok = (check: string, detail: string): Check => ({ check, result: 'ok', detail })
const failed = (check: string, detail: string): Check => ({ check, result: 'failed', detail })
const skipped = (check: string, detail: string): Check => ({ check, result: 'skipped', detail })

// Half of the five minutes after which receivers reject a delivery.
const SKEW_WARNING_MS = 150_000

/** Checks that the service responds, and the difference between the clocks. */
export async function checkService({ baseUrl }: Settings, now: () => number): Promise<Check[]> {
  const started = now()
  let response: Response
  try {
    response = await fetch(`${baseUrl}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(10_000) })
    await response.body?.cancel()
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return [failed('service', `no response from ${baseUrl}: ${cause?.code ?? message}`)]
  }
  const ms = now() - started
  if (response.status !== 200)
    return [failed('service', `${baseUrl}/healthz returned ${response.status}; check the URL`)]
  return [ok('service', `${baseUrl} responded in ${ms} ms`), checkClock(response, started + ms / 2)]
}

function checkClock(response: Response, middle: number): Check {
  const date = Date.parse(response.headers.get('Date') ?? '')
  if (Number.isNaN(date)) return skipped('clock', 'the service sent no Date header')
  // The header has a resolution of one second.
  const skew = Math.abs(date + 500 - middle)
  const text = `${Math.round(skew / 1000)} s difference`
  return skew < SKEW_WARNING_MS
    ? ok('clock', text)
    : { check: 'clock', result: 'warning', detail: `${text}; receivers reject webhooks beyond 300 s` }
}

/** Distinguishes the causes of a 401 or 403. */
export function explainAuthError(error: { code?: string | undefined; message: string }): Check[] {
  const { code, message } = error
  if (code === 'plan_required')
    return [ok('key', 'valid'), failed('plan', `${message} The key is valid: change the plan of the shop.`)]
  if (code === 'api_disabled') return [ok('key', 'valid'), failed('plan', message)]
  return [failed('key', `${message} Log in with another key.`)]
}

// The scope is checked before the body, and an empty body is invalid, so that nothing is written.
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

/** Tests each scope with a request that cannot change anything. */
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
  if (!rateLimit) return skipped('rate limit', 'the service sent no rate limit headers')
  const { remaining, limit, resetSeconds } = rateLimit
  const detail = `${remaining} of ${limit} requests remaining for ${resetSeconds} s`
  return remaining * 5 > limit ? ok('rate limit', detail) : { check: 'rate limit', result: 'warning', detail }
}

/** Checks which receivers this machine can reach, which may differ from what the service can reach. */
export async function checkWebhooks(client: ReferralClient): Promise<Check[]> {
  const { data, error } = await client.webhooks.list().safe()
  if (error) return [skipped('webhooks', error.message)]
  if (data.data.length === 0) return [ok('webhooks', 'no subscriptions')]
  const probed = await Promise.all(data.data.map(async ({ url }) => ({ url, problem: await probeUrl(url) })))
  const unreachable = probed.filter(({ problem }) => problem !== undefined)
  const unsigned = data.data.filter(({ hasSecret }) => !hasSecret).length
  const checks = unreachable.map(({ url, problem }) => failed('webhooks', `${url}: ${problem}`))
  if (unreachable.length < probed.length)
    checks.push(
      ok('webhooks', `${probed.length - unreachable.length} of ${counted(probed.length, 'receiver')} reachable`),
    )
  checks.push(...data.data.flatMap(checkState))
  if (unsigned)
    checks.push({ check: 'webhooks', result: 'warning', detail: `${counted(unsigned, 'subscription')} unsigned` })
  return checks
}

const REASONS: Record<string, string> = { gone: 'its receiver returned 410', failing: 'its receiver failed for 5 days' }

/** Disabled subscriptions receive nothing until an owner enables them. */
function checkState({ id, url, status, disabledReason, disabledAt, failingSince }: WebhookSubscription): Check[] {
  if (status === 'disabled') {
    const reason = REASONS[disabledReason ?? ''] ?? disabledReason
    return [
      failed(
        'webhooks',
        `${id} (${url}) has been disabled since ${disabledAt}: ${reason}. Run referral webhooks enable ${id}`,
      ),
    ]
  }
  const detail = `${id} (${url}) has failed since ${failingSince}`
  return failingSince ? [{ check: 'webhooks', result: 'warning', detail }] : []
}

/** Counts failed deliveries of the last 30 days; requires an owner token. */
export async function checkDeliveries(owner: ReferralClient): Promise<Check> {
  const count = async (status: 'FAILED' | 'RETRYING') => {
    const { data } = await owner.GET('/admin/v1/deliveries', { params: { query: { status, limit: 1, page: 1 } } })
    return data?.pagination.total
  }
  const [failures, retrying] = [await count('FAILED'), await count('RETRYING')]
  if (failures === undefined || retrying === undefined) return skipped('deliveries', 'the owner token was rejected')
  const detail = `${failures} failed and ${retrying} retrying of the last 30 days`
  return failures + retrying === 0 ? ok('deliveries', detail) : { check: 'deliveries', result: 'warning', detail }
}

/** Returns an error code, or undefined for any HTTP response: receivers may reject a HEAD request. */
async function probeUrl(url: string): Promise<string | undefined> {
  try {
    await fetch(url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(5000) })
    return undefined
  } catch (error) {
    return (error as { cause?: { code?: string } }).cause?.code ?? 'no response'
  }
}

const BATCHES_TO_CHECK = 5

/** Compares the latest batches' totals with their commissions. */
export async function checkBatches(client: ReferralClient): Promise<Check[]> {
  const { data, error } = await client.payouts.list({ limit: BATCHES_TO_CHECK }).safe()
  if (error) return [skipped('payouts', error.message)]
  const batches = data.data.filter(({ status }) => status !== 'FAILED')
  const checks: Check[] = []
  for (const batch of batches) {
    const wrong = await compareTotals(client, batch)
    if (wrong) checks.push(wrong)
  }
  const latest = data.pagination.total > data.data.length
  if (checks.length === 0)
    checks.push(
      ok('payouts', `${latest ? 'the latest ' : ''}${counted(batches.length, 'batch', 'batches')} consistent`),
    )
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
    `${id} has a total of ${formatMoney(totals.netPayableCents, currency)}, but its ${counted(count, 'commission')} add up to ${formatMoney(cents - tax, currency)}`,
  )
}

const CURRENCY_DAYS = 30

/** Checks for recent orders in a currency other than the shop's. */
export async function checkCurrency(client: ReferralClient, now: number): Promise<Check> {
  const from = new Date(now - CURRENCY_DAYS * 86_400_000).toISOString()
  const { data, error } = await client.analytics.get({ from }).safe()
  if (error) return skipped('currency', error.message)
  const others = data.currencies.filter((currency) => currency !== data.currency)
  if (others.length === 0) return ok('currency', data.currency)
  return {
    check: 'currency',
    result: 'warning',
    detail: `orders of the last ${CURRENCY_DAYS} days are in ${others.join(', ')}, but the shop's currency is ${data.currency}; an order without currency is in USD`,
  }
}

/** Checks for approved commissions from before a period that a monthly payout run missed. */
export async function checkUnpaid(
  client: ReferralClient,
  { from: periodStart, to: periodEnd }: Period,
): Promise<Check> {
  try {
    const { reasons } = await client.payouts.unpaid({ periodStart, periodEnd })
    const late = reasons.filter(({ reason }) => reason === 'LATE')
    if (late.length === 0) return ok('unpaid', 'no unpaid commissions from before last month')
    const problems = late.map(
      ({ commissions, netPayableCents, currency }) =>
        `${counted(commissions, 'approved commission')} (${formatMoney(netPayableCents, currency)})`,
    )
    const command = `referral payouts create --month last --include-earlier${late.length > 1 ? ' --each-currency' : ''}`
    const detail = `not paid from before last month: ${problems.join(' and ')}; \`${command}\` includes them`
    return { check: 'unpaid', result: 'warning', detail }
  } catch (error) {
    return skipped('unpaid', (error as Error).message)
  }
}
