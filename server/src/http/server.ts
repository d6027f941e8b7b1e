import type { KeyWithShop } from '../accounts/queries.ts'
import type { Deps } from '../core/context.ts'
import type { ApiSwitch } from '../core/installation.ts'
import type { Metrics } from '../core/metrics.ts'
import type { BodyBudget, BodyReservation } from './body-budget.ts'
import type { ParseQueue } from './parse-body.ts'
import type { RateLimit, RateLimiter } from './rate-limit.ts'

/** What all requests of one server process share. */
export interface Server {
  deps: Deps
  limiter: RateLimiter
  bodyBudget: BodyBudget
  parseQueue: ParseQueue
  apiSwitch: ApiSwitch
  metrics: Metrics | undefined
  recordKeyUse: (key: KeyWithShop['key']) => void
}

/** The caller's `X-Request-Id` when it is short and safe to log, else a new id. */
export function resolveRequestId(given: string | undefined, deps: Pick<Deps, 'newId'>): string {
  return given && /^[\w.:-]{1,128}$/.test(given) ? given : deps.newId('req')
}

/** The state of one request, from its first byte to its response. */
export interface RequestState {
  /** From `performance.now()`. */
  startedAt: number
  authorization: string | null
  /** The client's address or network; requests without a valid key are rate-limited by it. */
  address: string
  requestId: string
  /** The operation id, once the path is matched. */
  operation?: string
  /** Sent in the `X-RateLimit-*` headers. */
  rateLimit?: RateLimit
  /** The memory reserved for the body. */
  bodyReservation?: BodyReservation
}

/** The Hono variables of a request. */
export type Env = { Variables: { request: RequestState } }
