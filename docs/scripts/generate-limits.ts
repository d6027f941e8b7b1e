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
  ['Requests per minute and key', `${requestsByPlan}; the operator can set another limit for a shop`],
  [
    'Rate limit headers',
    '`X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (seconds until the window resets)',
  ],
  ['Rows per page', '20, at most 100; journey 100, at most 500'],
  ['Body', '1 MiB, 65,000 values'],
  ['Headers and request line', '16 KiB'],
  ['Discount code', '9 characters, without `0`, `o`, and `O`'],
  ['Commission percentage', 'above 0, at most 100'],
  ['Active API keys of a shop', `${MAX_ACTIVE_KEYS}; the operator can set another limit`],
  ['Webhook subscriptions of a shop', String(MAX_SUBSCRIPTIONS)],
  ['Webhook delivery', '5 seconds to connect, 10 seconds in total, no redirects'],
  ['Analytics', 'the newest 10,000 commissions of the period, 30 days by default'],
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
