import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Deps } from './context.ts'
import { droppedLines } from './log.ts'
import { findOutboxDepth } from './outbox.ts'

/** What a server process counts. */
export interface Metrics {
  /** An answered request: the operation's name in openapi.yaml, or `other`. */
  request: (operation: string, status: number, seconds: number) => void
  /** A request that was let through because its limit could not be counted. */
  limitStoreFailure: () => void
  /** A delivery that ended, by its fixed code. */
  delivery: (code: string) => void
  /** So many changes shared one transaction. */
  group: (size: number) => void
  /** Looks at the outbox of this database whenever it is asked. */
  watch: (deps: Pick<Deps, 'db' | 'now'>) => void
  /** Everything, as Prometheus reads it. */
  text: () => Promise<{ type: string; text: string }>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const SIZES = [1, 2, 4, 8, 16, 32, 64]

export function createMetrics(): Metrics {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register })
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: `referral_${name}`, help, labelNames, registers })
  const requests = counter('http_requests_total', 'Answered requests', ['operation', 'status'])
  const limitHits = counter('limit_hits_total', 'Requests refused with 429')
  const storeFailures = counter('limit_store_failures_total', 'Requests let through because they could not be counted')
  // Counted where lines are written, which is before anything here is.
  const dropped = counter('log_lines_dropped_total', 'Log lines that nobody read in time')
  const deliveries = counter('deliveries_total', 'Webhook deliveries that ended, by diagnostic code', ['code'])
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name: `referral_${name}`, help, buckets, labelNames, registers })
  const seconds = histogram('http_request_seconds', 'Time to the answer', SECONDS, ['operation'])
  const groups = histogram('commit_group_size', 'Changes that shared one transaction', SIZES)
  let look = async () => {}
  return {
    request: (operation, status, took) => {
      requests.inc({ operation, status })
      seconds.observe({ operation }, took)
      if (status === 429) limitHits.inc()
    },
    limitStoreFailure: () => storeFailures.inc(),
    delivery: (code) => deliveries.inc({ code }),
    group: (size) => groups.observe(size),
    watch: (deps) => {
      look = watchOutbox(deps, registers)
    },
    text: async () => {
      // Before anything is written: a gauge that looked by itself would leave those before it at their last values.
      await look()
      dropped.reset()
      dropped.inc(droppedLines())
      return { type: register.contentType, text: await register.metrics() }
    },
  }
}

/** The outbox is shared: every process that uses the database tells the same. */
function watchOutbox({ db, now }: Pick<Deps, 'db' | 'now'>, registers: Registry[]): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name: `referral_${name}`, help, registers })
  const depth = gauge('outbox_pending', 'Deliveries that wait')
  const age = gauge('outbox_oldest_seconds', 'Age of the oldest delivery that waits')
  const isUp = gauge('database_up', 'Whether the database answered')
  return async () => {
    try {
      const { pending, oldest } = await findOutboxDepth(db.read)
      depth.set(pending)
      age.set(oldest === null ? 0 : Math.max(0, (now() - Date.parse(oldest)) / 1000))
      isUp.set(1)
    } catch {
      // The rest is told all the same, and this of it.
      isUp.set(0)
    }
  }
}
