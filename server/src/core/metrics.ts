import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Config, isPostgresUrl, VERSION } from '../config.ts'
import type { DatabaseObserver } from '../database/database.ts'
import type { Deps, PaymentCount } from './context.ts'
import { type DatabaseHealth, settlesWithin } from './health.ts'
import { findOldestSnapshotSeconds } from './installation.ts'
import { droppedLines } from './log.ts'
import { findOutboxDepth } from './outbox.ts'

/** The metrics of a server process. */
export interface Metrics {
  /** Counts a response. `operation`: the operationId in openapi.yaml, or `other`. */
  request: (operation: string, status: number, seconds: number) => void
  /** Counts a request that was accepted because the rate limit store failed. */
  limitStoreFailure: () => void
  /** Counts a finished delivery by its diagnostic code, and the failures of its subscription. */
  delivery: (code: string, subscriptionId: string) => void
  /** Counts payments by their reported result, or as blocked. */
  payments: (result: PaymentCount, count: number) => void
  /** What the database reports. */
  database: DatabaseObserver
  /** Adds gauges that are read from the database for every scrape. */
  watch: (deps: Pick<Deps, 'db' | 'now' | 'config'>, checkHealth: () => Promise<DatabaseHealth>) => void
  /** All metrics in the text format of Prometheus. */
  text: () => Promise<{ type: string; text: string }>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const ALERTING_RESULTS: PaymentCount[] = ['blocked', 'returned', 'amount_mismatch', 'settled_twice', 'unknown']
const SIZES = [1, 2, 4, 8, 16, 32, 64]
/** How long a scrape waits for the database, in addition to the health check. */
const SCRAPE_TIMEOUT_MS = 400

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
  const deliveries = counter('deliveries_total', 'Attempts of webhook deliveries by diagnostic code', ['code'])
  const payments = counter('payments_total', 'Payments by reported result, and those that a payment file left out', [
    'result',
  ])
  // An increase is visible only when the series starts at zero.
  for (const result of ALERTING_RESULTS) payments.inc({ result }, 0)
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name: `referral_${name}`, help, buckets, labelNames, registers })
  const seconds = histogram('http_request_seconds', 'Time to the response', SECONDS, ['operation'])
  const groups = histogram('commit_group_size', 'Changes that shared one transaction', SIZES)
  const queries = histogram('database_seconds', 'Time of reads and of changes with their commit', SECONDS, ['kind'])
  const failing = new FailingSubscriptions()
  const failingGauge = new Gauge({
    name: 'referral_subscriptions_failing',
    help: `Subscriptions whose last ${FAILING_AFTER} deliveries of this process failed`,
    registers,
  })
  let readDatabase = async () => {}
  return {
    request: (operation, status, took) => {
      requests.inc({ operation, status })
      seconds.observe({ operation }, took)
      if (status === 429) limitHits.inc()
    },
    limitStoreFailure: () => storeFailures.inc(),
    delivery: (code, subscriptionId) => {
      deliveries.inc({ code })
      failing.record(subscriptionId, code === 'ok')
    },
    payments: (result, count) => payments.inc({ result }, count),
    database: {
      onGroup: (size) => groups.observe(size),
      onRead: (took) => queries.observe({ kind: 'read' }, took),
      onChange: (took) => queries.observe({ kind: 'change' }, took),
    },
    watch: (deps, checkHealth) => {
      const labels = { version: VERSION, node: process.versions.node, database: engineOf(deps.config) }
      const help = 'Always 1; the labels name the versions'
      const build = new Gauge({ name: 'referral_build_info', help, labelNames: Object.keys(labels), registers })
      build.set(labels, 1)
      readDatabase = watchDatabase(deps, checkHealth, registers)
    },
    text: async () => {
      // Update all gauges first; otherwise one scrape would mix old and new values.
      await readDatabase()
      failingGauge.set(failing.count())
      dropped.reset()
      dropped.inc(droppedLines())
      return { type: register.contentType, text: await register.metrics() }
    },
  }
}

const engineOf = ({ databaseUrl }: Pick<Config, 'databaseUrl'>) => (isPostgresUrl(databaseUrl) ? 'postgres' : 'sqlite')

/** The outbox is shared, so every process of the same database reports the same values. */
function watchDatabase(
  { db, now, config }: Pick<Deps, 'db' | 'now' | 'config'>,
  checkHealth: () => Promise<DatabaseHealth>,
  registers: Registry[],
): () => Promise<void> {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name: `referral_${name}`, help, labelNames, registers })
  const depth = gauge('outbox_pending', 'Pending deliveries')
  const retries = gauge('outbox_retrying', 'Failed deliveries that will be attempted again')
  const disabled = gauge('subscriptions_disabled', 'Subscriptions that were disabled because their receiver failed')
  const age = gauge('outbox_oldest_seconds', 'Age of the oldest pending delivery')
  const isUp = gauge('database_up', 'Whether the database responds')
  const isWritable = gauge('database_writable', 'Whether changes can be committed')
  const snapshot = gauge('database_oldest_snapshot_seconds', 'Age of the oldest open transaction (PostgreSQL)')
  const connections = gauge('database_connections', 'Connections of this process', ['pool', 'state'])
  async function read(): Promise<boolean> {
    const { pending, oldest, ...counts } = await findOutboxDepth(db.read)
    depth.set(pending)
    retries.set(counts.retrying)
    disabled.set(counts.disabled)
    age.set(oldest === null ? 0 : Math.max(0, (now() - Date.parse(oldest)) / 1000))
    if (isPostgresUrl(config.databaseUrl)) snapshot.set(await findOldestSnapshotSeconds(db.read))
    return true
  }
  let reading: Promise<boolean> | undefined
  return async () => {
    const health = await checkHealth()
    isUp.set(Number(health.isUp))
    isWritable.set(Number(health.isWritable))
    for (const { pool, ...states } of db.connections())
      for (const [state, count] of Object.entries(states)) connections.set({ pool, state }, count)
    // The other metrics are reported without the database.
    if (!health.isUp) return
    reading ??= read()
      .catch(() => false)
      .finally(() => {
        reading = undefined
      })
    await settlesWithin(reading, SCRAPE_TIMEOUT_MS)
  }
}

const FAILING_AFTER = 3
/** A subscription without deliveries for this long is no longer counted; it may have been deleted. */
const FORGET_MS = 60 * 60_000

/** Subscriptions by consecutive failures. */
class FailingSubscriptions {
  readonly #failures = new Map<string, { count: number; at: number }>()

  record(subscriptionId: string, isSent: boolean): void {
    if (isSent) return void this.#failures.delete(subscriptionId)
    const { count = 0 } = this.#failures.get(subscriptionId) ?? {}
    this.#failures.set(subscriptionId, { count: count + 1, at: performance.now() })
  }

  count(): number {
    const since = performance.now() - FORGET_MS
    for (const [id, { at }] of this.#failures) if (at < since) this.#failures.delete(id)
    return [...this.#failures.values()].filter(({ count }) => count >= FAILING_AFTER).length
  }
}
