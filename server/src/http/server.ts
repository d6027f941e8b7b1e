import type { KeyWithShop } from '../accounts/queries.ts'
import type { ApiSwitch } from '../core/api-switch.ts'
import type { Deps } from '../core/context.ts'
import type { Metrics } from '../core/metrics.ts'
import type { BodyBudget, BodyReservation } from './body-budget.ts'
import type { ParseQueue } from './parse-body.ts'
import type { RateLimit, RateLimiter } from './rate-limit.ts'

/** What the HTTP side holds beside the world: limits, the kill switch, and the note of a key's use. */
export interface Server {
  deps: Deps
  limiter: RateLimiter
  bodyBudget: BodyBudget
  parseQueue: ParseQueue
  apiSwitch: ApiSwitch
  metrics: Metrics | undefined
  recordKeyUse: (key: KeyWithShop['key']) => void
}

/** The caller's own id when it is short and harmless, else a new one. */
export function resolveRequestId(given: string | undefined, deps: Pick<Deps, 'newId'>): string {
  return given && /^[\w.:-]{1,128}$/.test(given) ? given : deps.newId('req')
}

export interface RequestState {
  /** As `performance.now()` tells it. */
  startedAt: number
  authorization: string | null
  /** The client's address or network, which calls without a valid key are counted by. */
  address: string
  requestId: string
  /** The operation that it is for, once it is known. */
  operation?: string
  /** The window that the response headers tell. */
  rateLimit?: RateLimit
  /** What the body takes of the server's memory. */
  bodyReservation?: BodyReservation
}

/** What every handler finds beside its request. */
export type Env = { Variables: { request: RequestState } }
