import type { Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from './app.ts'
import { baseUrlOf, type Config, encryptionKeySource, endFirstStart, readConfig } from './config.ts'
import type { Deps } from './core/context.ts'
import { createDeps } from './core/context.ts'
import { checkEncryptionKey } from './core/installation.ts'
import { createMetrics } from './core/metrics.ts'
import { openDatabase } from './database/database.ts'
import { createListener } from './http/listen.ts'
import { openRateLimiter } from './http/rate-limit.ts'
import { prepareDemo } from './operator/demo.ts'
import { startRetention } from './operator/retention.ts'
import { createDispatcher } from './webhooks/delivery/dispatcher.ts'

const WEBHOOK_DRAIN_MS = 10_000
/** How long in-flight requests may take after the signal. */
const REQUEST_DRAIN_MS = 5_000
/** How often idle connections are closed while in-flight requests drain. */
const IDLE_SWEEP_MS = 20

/** Opens the database, migrates it and serves the app until SIGTERM or SIGINT. */
export async function serve(): Promise<void> {
  const config = readConfig()
  const metrics = createMetrics()
  const db = await openDatabase(config.databaseUrl, metrics.group)
  await db.migrate()
  endFirstStart(config)
  const deps = createDeps(config, db)
  await checkEncryptionKey(deps, encryptionKeySource(config.dataDir))
  metrics.watch(deps)
  const dispatcher = createDispatcher({ ...deps, onEnd: metrics.delivery })
  deps.wakeDispatcher = dispatcher.wake
  const stopping = new AbortController()
  deps.stopping = stopping.signal
  if (config.webhookAllow.length > 0)
    deps.log.warn({ targets: config.webhookAllow.length }, 'webhooks may be sent to private addresses')
  const url = baseUrlOf(config)
  const demo = config.demo ? await prepareDemo(deps, url) : undefined
  const limits = await openRateLimiter(deps, metrics.limitStoreFailure)
  const app = createApp(deps, { limiter: limits.limiter, metrics })
  const server = await bind(createListener(app.fetch, { ...deps, limiter: limits.limiter }), config)
  await dispatcher.start()
  startRetention(deps)
  onSignal(deps, async () => {
    stopping.abort()
    await drainRequests(server)
    await dispatcher.drain(WEBHOOK_DRAIN_MS)
    await Promise.all([limits.close(), db.close()])
  })
  if (demo) console.log(demo)
  console.log(`listening on ${url}`)
}

function onSignal({ log }: Deps, stop: () => Promise<void>): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping')
      void stop().then(() => process.exit(0))
    })
  }
}

/** Stops accepting connections and drains in-flight requests. */
async function drainRequests(server: Server): Promise<void> {
  const closed = new Promise((done) => server.close(done))
  // A busy keep-alive connection would otherwise stay open until it is cut off in the middle of a request.
  server.prependListener('request', (_, response: ServerResponse) => response.setHeader('Connection', 'close'))
  server.closeIdleConnections()
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  // A stalled client must not delay the delivery of pending webhooks.
  await Promise.race([closed, sleep(REQUEST_DRAIN_MS)])
  clearInterval(closing)
  server.closeAllConnections()
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
