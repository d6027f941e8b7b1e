import { rateLimited } from '../contract/errors.ts'
import type { Visit } from './authorize.ts'
import type { Server } from './server.ts'

/**
 * Requests per window and client address to what needs no credential: the contract, and pages before sign-in. Generous,
 * for behind a proxy that is not trusted every client has the same address.
 */
export const PUBLIC_LIMIT = 600

/** @throws ApiError 429 `rate_limited`. */
export async function countPublic({ limiter }: Pick<Server, 'limiter'>, { address }: Visit): Promise<void> {
  const window = await limiter.consume(`public:${address}`, PUBLIC_LIMIT)
  if (window.exceeded) throw rateLimited(window)
}
