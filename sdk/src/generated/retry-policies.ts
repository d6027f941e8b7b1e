// Generated from openapi.yaml by `pnpm run generate`. Do not edit.
import type { RetryPolicy } from '../retry.ts'

/** The paths whose responses are text. */
export const TEXT_PATH = /\/(docs|file|ledger|export|exports)$/

/** Returns the retry policy of an operation. */
export const retryPolicyOf = (method: string, path: string): RetryPolicy => {
  if (method === 'GET' || /\/(backtests|exports)$/.test(path)) return 'safe'
  if (method !== 'POST' || /\/(approve|reject|cancel|reverse|reopen|refund|moderate|discard|reconcile|erasures|orders-paid|orders-cancelled|refunds-create)$/.test(path)) return 'repeatable'
  return path.startsWith('/api/') ? 'keyed' : 'never'
}
