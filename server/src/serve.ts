import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createApp, loadDashboard } from './app.ts'
import { baseUrlOf, type Config, encryptionKeySource, endFirstStart, readConfig, VERSION } from './config.ts'
import { readContract } from './contract/document.ts'
import { compile } from './contract/validator.ts'
import type { Deps } from './core/context.ts'
import { createDeps } from './core/context.ts'
import { createHealthCheck } from './core/health.ts'
import { checkEncryptionKey } from './core/installation.ts'
import { bestEffort } from './core/log.ts'
import { createMetrics } from './core/metrics.ts'
import { createTracing } from './core/tracing.ts'
import { openDatabase } from './database/open.ts'
import { startPayoutProcesses } from './domains/payouts/process.ts'
import { continueErasures } from './domains/privacy/erasure.ts'
import { loadTransport } from './domains/webhooks/delivery/deliver.ts'
import { createDispatcher } from './domains/webhooks/delivery/dispatcher.ts'
import { disable } from './domains/webhooks/webhooks.ts'
import { createListener } from './http/listen.ts'
import { openRateLimiter } from './http/rate-limit.ts'
import { hasRedoc, readRedoc } from './http/redoc.ts'
import { prepareDemo } from './operator/demo.ts'
import { startRetention } from './operator/retention.ts'

const WEBHOOK_DRAIN_MS = 10_000
/** How long in-flight requests may take after the stop signal. */
const REQUEST_DRAIN_MS = 5_000
/** The longest turn of the event loop in which hardly any connection can arrive. */
const QUIET_TURN_MS = 0.05
const QUIET_TIMEOUT_MS = 500
/** How long a new connection may take to send its first request while in-flight requests drain. */
const FIRST_REQUEST_MS = 500
/** How long to wait before loading the rest, which takes about 40 ms and must not delay the first requests. */
const LOAD_REST_AFTER_MS = 500
/** How often idle connections are closed while in-flight requests drain. */
const IDLE_SWEEP_MS = 20

/** Opens the database, migrates it and serves the app until SIGTERM or SIGINT. */
export async function serve(): Promise<void> {
  const config = readConfig()
  const metrics = createMetrics()
  const db = await openDatabase(config.databaseUrl, metrics.database)
  await db.migrate()
  endFirstStart(config)
  const deps = createDeps(config, db)
  await checkEncryptionKey(deps, encryptionKeySource(config.dataDir))
  const checkHealth = createHealthCheck(deps)
  metrics.watch(deps, checkHealth)
  const dispatcher = createDispatcher({
    ...deps,
    onEnd: metrics.delivery,
    disable: (subscription) => disable(deps, subscription),
  })
  deps.wakeDispatcher = dispatcher.wake
  deps.countPayments = metrics.payments
  const stopping = new AbortController()
  deps.stopping = stopping.signal
  for (const unknown of config.unknownSettings) deps.log.warn(unknown, 'unknown setting')
  if (config.webhookAllow.length > 0)
    deps.log.warn({ targets: config.webhookAllow.length }, 'webhooks may be sent to private addresses')
  const url = baseUrlOf(config)
  const demo = config.demo ? await prepareDemo(deps, url) : undefined
  const limits = await openRateLimiter(deps, metrics.limitStoreFailure)
  const tracing = config.tracing && createTracing(config.tracing, deps)
  let isDraining = false
  const app = createApp(deps, { limiter: limits.limiter, metrics, tracing, checkHealth, isDraining: () => isDraining })
  const keepAliveMs = config.keepAliveSeconds * 1000
  const server = await bind(createListener(app.fetch, deps, { keepAliveMs }), config)
  const unused = trackUnusedConnections(server)
  await dispatcher.start()
  startRetention(deps)
  startPayoutProcesses(deps)
  void bestEffort(deps.log, 'erasure_failed', () => continueErasures(deps))
  onSignal(deps, async () => {
    isDraining = true
    closeConnectionsAfterResponses(server)
    if (config.shutdownDelaySeconds > 0) {
      await sleep(config.shutdownDelaySeconds * 1000)
      await quietTurn()
    }
    stopping.abort()
    await drainRequests(server, unused)
    await dispatcher.drain(WEBHOOK_DRAIN_MS)
    await Promise.all([limits.close(), db.close(), tracing?.close()])
  })
  deps.log.info({ version: VERSION, node: process.versions.node, url }, 'started')
  if (demo) console.log(demo)
  console.log(`listening on ${url}`)
  await sleep(LOAD_REST_AFTER_MS, undefined, { ref: false })
  await bestEffort(deps.log, 'preload_failed', loadRest)
}

/** Loads modules that only later requests need. After an in-place upgrade, their files belong to another version. */
async function loadRest(): Promise<void> {
  await loadDashboard()
  // Loads the library.
  compile({})
  await loadTransport()
  readContract('openapi.yaml')
  readContract('referral.arazzo.yaml')
  if (hasRedoc()) readRedoc()
}

/** `stop` runs once. A second signal of the same kind ends the process immediately. */
function onSignal({ log }: Deps, stop: () => Promise<void>): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      if (isStopping) return
      isStopping = true
      log.info({ signal }, 'stopping')
      void stop().then(() => process.exit(0))
    })
  }
}

/** Otherwise, a busy keep-alive connection would stay open until it is cut off in the middle of a request. */
function closeConnectionsAfterResponses(server: Server): void {
  server.prependListener('request', (_, response: ServerResponse) => response.setHeader('Connection', 'close'))
}

/** Stops accepting connections and drains in-flight requests. `unused`: connections without a request yet. */
async function drainRequests(server: Server, unused: Set<Socket>): Promise<void> {
  // Closes only the listener. The HTTP server's own method would also close connections whose first request is in
  // transit.
  const closed = new Promise((done) => NetServer.prototype.close.call(server, done))
  const until = performance.now() + FIRST_REQUEST_MS
  const closeIdle = () => {
    if (unused.size === 0 || performance.now() > until) server.closeIdleConnections()
  }
  closeIdle()
  const closing = setInterval(closeIdle, IDLE_SWEEP_MS)
  // A stalled client must not delay the delivery of pending webhooks.
  await Promise.race([closed, sleep(REQUEST_DRAIN_MS)])
  clearInterval(closing)
  server.closeAllConnections()
}

/** The connections that have not sent a request yet. */
function trackUnusedConnections(server: Server): Set<Socket> {
  const unused = new Set<Socket>()
  server.on('connection', (socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }) => unused.delete(socket))
  return unused
}

/**
 * Waits for a turn of the event loop that took almost no time, which means that all established connections have been
 * accepted. The operating system resets connections that are still queued when the listening socket is closed.
 */
async function quietTurn(): Promise<void> {
  const until = performance.now() + QUIET_TIMEOUT_MS
  for (let now = performance.now(); now < until; ) {
    await nextTurn()
    const before = now
    now = performance.now()
    if (now - before < QUIET_TURN_MS) return
  }
}

function bind(server: Server, { host, port }: Pick<Config, 'host' | 'port'>): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.listen(port, host, () => resolve(server))
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE' ? `port ${port} is already in use; set PORT to a different one` : error.message
      reject(new Error(`Cannot listen on ${host}:${port}: ${reason}.`))
    })
  })
}
