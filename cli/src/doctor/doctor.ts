import { type Exit, exit } from '../exit.ts'
import type { Run } from '../run.ts'
import {
  type Check,
  checkBatches,
  checkBudget,
  checkLate,
  checkReach,
  checkScopes,
  checkWebhooks,
  explainRefusal,
} from './checks.ts'

/** Looks at everything that can be wrong between here and the service. */
export async function doctor(run: Run): Promise<Exit | undefined> {
  const checks = await examine(run)
  const isForMachines = run.style.format === 'json' || run.style.format === 'ndjson'
  const worst = exitOf(checks)
  if (isForMachines) run.record({ healthy: worst === undefined, checks })
  else run.rows(checks, ['result', 'check', 'detail'])
  return worst
}

async function examine(run: Run): Promise<Check[]> {
  const { settings } = run
  const checks: Check[] = [{ check: 'credentials', result: 'ok', detail: `from ${settings.where}` }]
  checks.push(...(await checkReach(settings, run.world.now)))
  if (checks.some(({ check, result }) => check === 'service' && result === 'failed')) return checks
  if (!settings.apiKey) return [...checks, { check: 'key', result: 'failed', detail: 'there is no API key' }]
  const client = await run.client()
  const { error } = await client.affiliates.list({ limit: 1 }).safe()
  const status = (error as { status?: number } | undefined)?.status
  if (error && error.code !== 'scope_missing') {
    if (status === 401 || status === 403) return [...checks, ...explainRefusal(error)]
    return [...checks, { check: 'service', result: 'failed', detail: error.message }]
  }
  checks.push(
    { check: 'key', result: 'ok', detail: 'known' },
    { check: 'plan', result: 'ok', detail: 'has API access' },
  )
  checks.push(await checkScopes(client), checkBudget(client))
  const payouts = [...(await checkBatches(client)), await checkLate(client, run.world.now())]
  return [...checks, ...(await checkWebhooks(client)), ...payouts]
}

/** The exit code of the first thing that must be cured. */
function exitOf(checks: readonly Check[]): Exit | undefined {
  const first = checks.find(({ result }) => result === 'failed')
  if (!first) return undefined
  if (first.check === 'service') return exit.unavailable
  return first.check === 'key' || first.check === 'plan' ? exit.auth : exit.partial
}
