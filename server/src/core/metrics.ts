import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Deps } from './context.ts'
import { droppedLines } from './log.ts'
import { findOutboxDepth } from './outbox.ts'

/** The metrics of a server process. */
export interface Metrics {
  /** Counts a response. `operation`: the operationId in openapi.yaml, or `other`. */
  request: (operation: string, status: number, seconds: number) => void
  /** Counts a request that was accepted because the rate limit store failed. */
  limitStoreFailure: () => void
  /** Counts a finished delivery by its diagnostic code. */
  delivery: (code: string) => void
  /** Records how many changes shared one transaction. */
  group: (size: number) => void
  /** Adds gauges of the outbox, which is read from the database for every scrape. */
  watch: (deps: Pick<Deps, 'db' | 'now'>) => void
  /** All metrics in the text format of Prometheus. */
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
  const requests = counter('http_requests_total', 'Responses', ['operation', 'status'])
  const limitHits = counter('limit_hits_total', 'Requests rejected with 429')
  const storeFailures = counter('limit_store_failures_total', 'Requests accepted because the rate limit store failed')
  // The log counts them itself, because it is written before the metrics exist.
  const dropped = counter('log_lines_dropped_total', 'Log lines dropped because standard error was not read in time')
  const deliveries = counter('deliveries_total', 'Finished webhook deliveries by diagnostic code', ['code'])
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name: `referral_${name}`, help, buckets, labelNames, registers })
  const seconds = histogram('http_request_seconds', 'Time to the response', SECONDS, ['operation'])
  const groups = histogram('commit_group_size', 'Changes that shared one transaction', SIZES)
  let readOutbox = async () => {}
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
      readOutbox = watchOutbox(deps, registers)
    },
    text: async () => {
      // Before the text is built: gauges that collect on their own would leave earlier ones at their last values.
      await readOutbox()
      dropped.reset()
      dropped.inc(droppedLines())
      return { type: register.contentType, text: await register.metrics() }
    },
  }
}

/** The outbox is shared, so every process of the same database reports the same values. */
function watchOutbox({ db, now }: Pick<Deps, 'db' | 'now'>, registers: Registry[]): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name: `referral_${name}`, help, registers })
  const depth = gauge('outbox_pending', 'Pending deliveries')
  const age = gauge('outbox_oldest_seconds', 'Age of the oldest pending delivery')
  const isUp = gauge('database_up', 'Whether the database can be reached')
  return async () => {
    try {
      const { pending, oldest } = await findOutboxDepth(db.read)
      depth.set(pending)
      age.set(oldest === null ? 0 : Math.max(0, (now() - Date.parse(oldest)) / 1000))
      isUp.set(1)
    } catch {
      // The other metrics are reported without the database.
      isUp.set(0)
    }
  }
}
