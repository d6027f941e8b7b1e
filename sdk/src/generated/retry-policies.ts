// Generated from openapi.yaml by `pnpm run generate`. Do not edit.
import type { RetryPolicy } from '../retry.ts'

/** The paths whose responses are text. */
export const TEXT_PATH = /(ocs|file|ger|rt|rts)$/

/** Returns the retry policy of an operation. */
export const retryPolicyOf = (method: string, path: string): RetryPolicy => {
  if (method === 'GET') return 'safe'
  if (method !== 'POST') return 'repeatable'
  if (path.startsWith('/api/')) return 'keyed'
  return /(ts)$/.test(path) ? 'safe' : /(ve|ct|el|se|en|nd|rate|rd|le|res|id|ed|eate)$/.test(path) ? 'repeatable' : 'never'
}
