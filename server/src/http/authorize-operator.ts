import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError, forbidden, pathUnknown } from '../contract/errors.ts'
import type { OperatorContext } from '../core/context.ts'
import { parseBearerToken } from './authorize-key.ts'
import type { RequestState, Server } from './server.ts'

/** Unknown operator tokens per client address and window. */
const OPERATOR_LIMIT = 10

/**
 * Authorizes the operator. Without an operator token in the configuration, the path does not exist.
 *
 * @throws ApiError 401, 403, 404 or 429.
 */
export async function authorizeOperator(server: Server, request: RequestState): Promise<OperatorContext> {
  const { operatorToken } = server.deps.config
  if (operatorToken === undefined) throw pathUnknown()
  if (!request.authorization) throw unauthorized('operator_credentials_missing', 'missing')
  const token = parseBearerToken(request.authorization)
  if (!token) throw unauthorized('operator_credentials_malformed', 'malformed')
  if (!timingSafeEqual(digest(token), digest(operatorToken))) throw await unknownToken(server, request)
  return { ...server.deps, actor: 'operator', requestId: request.requestId }
}

/** Both digests have the same length, as the comparison in constant time requires. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const unauthorized = (code: 'operator_credentials_missing' | 'operator_credentials_malformed', what: string) =>
  new ApiError(401, code, `The Authorization header is ${what}. Send Authorization: Bearer <OPERATOR_TOKEN>.`)

async function unknownToken({ limiter }: Server, { address }: RequestState): Promise<ApiError> {
  const { exceeded, reset } = await limiter.consume(`operator:${address}`, OPERATOR_LIMIT)
  if (!exceeded) return forbidden('operator_token_unknown', 'This operator token is unknown.')
  return new ApiError(429, 'operator_throttled', `Too many unknown operator tokens. Retry in ${reset} seconds.`, {
    retryAfter: reset,
  })
}
