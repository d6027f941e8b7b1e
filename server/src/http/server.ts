import type { ApiSwitch } from '../core/api-switch.ts'
import type { Deps } from '../core/context.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Caller } from './authenticate.ts'
import type { BodyBudget } from './body-budget.ts'
import type { ReadingLine } from './parse-queue.ts'
import type { RateLimiter } from './rate-limit.ts'

/** What the HTTP side holds beside the world: limits, the kill switch, and the note of a key's use. */
export interface Server {
  deps: Deps
  limiter: RateLimiter
  bodies: BodyBudget
  readingLine: ReadingLine
  apiSwitch: ApiSwitch
  metrics: Metrics | undefined
  noteUse: (key: Caller['key']) => void
}
