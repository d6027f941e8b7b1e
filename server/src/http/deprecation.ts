import type { OperationObject } from './document.ts'

const MIN_NOTICE_MS = 180 * 86_400_000

type Dates = Pick<OperationObject, 'operationId' | 'deprecated' | 'x-deprecated-since' | 'x-sunset'>

/**
 * `Deprecation` (RFC 9745) with the date of the deprecation, `Sunset` (RFC 8594) with the date of the end, and a `Link`;
 * nothing for an operation that stays.
 *
 * @throws Error for a deprecated operation without both dates, or with less than 180 days between them.
 */
export function deprecationHeaders(operation: Dates): Record<string, string> {
  if (!operation.deprecated) return {}
  const since = Date.parse(operation['x-deprecated-since'] ?? '')
  const sunset = Date.parse(operation['x-sunset'] ?? '')
  if (!(sunset - since >= MIN_NOTICE_MS)) {
    throw new Error(`${operation.operationId} needs x-deprecated-since and an x-sunset at least 180 days later.`)
  }
  return {
    Deprecation: `@${Math.floor(since / 1000)}`,
    Sunset: new Date(sunset).toUTCString(),
    Link: '</api/v1/docs>; rel="deprecation"',
  }
}
