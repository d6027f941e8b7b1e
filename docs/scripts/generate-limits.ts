// Writes the table of limits in reference/index.md. With --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_ACTIVE_KEYS } from '../../server/src/domains/accounts/keys.ts'
import { MAX_SUBSCRIPTIONS } from '../../server/src/domains/webhooks/webhooks.ts'
import { PLAN_LIMITS } from '../../server/src/http/rate-limit.ts'

const PLAN_NAMES = { PROFESSIONAL: 'Professional', ENTERPRISE: 'legacy Enterprise' } as const

const requestsByPlan = Object.entries(PLAN_NAMES)
  .map(([plan, name]) => `${PLAN_LIMITS[plan as keyof typeof PLAN_NAMES]?.toLocaleString('en-US')} (${name})`)
  .join(', ')

const LIMITS: [limit: string, value: string][] = [
  ['Requests per minute and key', `${requestsByPlan}. The operator can change it.`],
  ['Rate limit headers', '`X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (seconds)'],
  ['Rows per page', '1 to 100. Default 20. Journey: 1 to 500. Default 100.'],
  ['Body', 'At most 1 MiB and 65,000 values.'],
  ['Headers and request line', 'At most 16 KiB.'],
  ['Discount code', '1 to 9 characters, except `0`, `o`, and `O`.'],
  ['Commission percentage', 'Above 0, at most 100. At most two decimals.'],
  ['Active API keys per shop', `At most ${MAX_ACTIVE_KEYS}. The operator can change it.`],
  ['Webhook subscriptions per shop', `At most ${MAX_SUBSCRIPTIONS}.`],
  ['Webhook delivery', '5 seconds to connect, 10 seconds in total, no redirects.'],
  ['Analytics', "The period's newest 10,000 commissions. Default 30 days."],
]

const file = join(import.meta.dirname, '../reference/index.md')
const current = readFileSync(file, 'utf8')
const rows = LIMITS.map(([limit, value]) => `| ${limit} | ${value} |\n`)
// The table is the end of the page.
const text = current.replace(/^\| limit \| value \|.*/ms, () => `| limit | value |\n|---|---|\n${rows.join('')}`)

if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (text !== current) {
  console.error('docs/reference/index.md is stale. Run `pnpm run generate`.')
  process.exitCode = 1
}
