import { type ExitCode, exitCode } from '../../errors.ts'
import { requirePeriod } from '../../period.ts'
import type { Run } from '../../run.ts'
import {
  type Check,
  checkBatches,
  checkCurrency,
  checkDeliveries,
  checkRateLimit,
  checkScopes,
  checkService,
  checkUnpaid,
  checkWebhooks,
  explainAuthError,
} from './checks.ts'

/** Runs all checks and prints a report. */
export async function doctor(run: Run): Promise<ExitCode | undefined> {
  const checks = await runChecks(run)
  const isForMachines = run.style.format === 'json' || run.style.format === 'ndjson'
  const worst = exitCodeFor(checks)
  if (isForMachines) run.printRecord({ healthy: worst === undefined, checks })
  else run.printRows(checks, ['result', 'check', 'detail'])
  return worst
}

async function runChecks(run: Run): Promise<Check[]> {
  const { settings } = run
  const checks: Check[] = [{ check: 'credentials', result: 'ok', detail: `from ${settings.location}` }]
  checks.push(...(await checkService(settings, run.context.now)))
  if (checks.some(({ check, result }) => check === 'service' && result === 'failed')) return checks
  if (!settings.apiKey) return [...checks, { check: 'key', result: 'failed', detail: 'no API key was found' }]
  const client = await run.client()
  const { error } = await client.affiliates.list({ limit: 1 }).safe()
  const status = (error as { status?: number } | undefined)?.status
  if (error && error.code !== 'scope_missing') {
    if (status === 401 || status === 403) return [...checks, ...explainAuthError(error)]
    return [...checks, { check: 'service', result: 'failed', detail: error.message }]
  }
  const isTest = (await client.shop.get().safe()).data?.isTest === true
  checks.push(
    { check: 'key', result: 'ok', detail: isTest ? 'valid, of a test shop' : 'valid' },
    { check: 'plan', result: 'ok', detail: 'includes API access' },
  )
  checks.push(await checkScopes(client), checkRateLimit(client))
  const lastMonth = await requirePeriod({ month: 'last' }, run)
  const payouts = [...(await checkBatches(client)), await checkUnpaid(client, lastMonth)]
  const currency = await checkCurrency(client, run.context.now())
  const deliveries = settings.ownerToken ? [await checkDeliveries(await run.ownerClient())] : []
  return [...checks, ...(await checkWebhooks(client)), ...deliveries, ...payouts, currency]
}

/** The exit code for the first failed check. */
function exitCodeFor(checks: readonly Check[]): ExitCode | undefined {
  const first = checks.find(({ result }) => result === 'failed')
  if (!first) return undefined
  if (first.check === 'service') return exitCode.unavailable
  return first.check === 'key' || first.check === 'plan' ? exitCode.auth : exitCode.partial
}
