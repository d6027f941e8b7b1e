import type { Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from './app.ts'
import { addressOf, type Config, encryptionKeyPlace, endFirstStart, readConfig } from './config.ts'
import type { Deps } from './core/context.ts'
import { createDeps } from './core/deps.ts'
import { checkEncryptionKey } from './core/encryption-check.ts'
import { createMetrics } from './core/metrics.ts'
import { openDatabase } from './database/database.ts'
import { createListener } from './http/listen.ts'
import { openRateLimiter } from './http/rate-limit.ts'
import { makeDemo } from './operator/demo.ts'
import { startRetention } from './operator/retention.ts'
import { createDispatcher } from './webhooks/delivery/dispatcher.ts'

const DRAIN_MS = 10_000
/** How long requests under way may take after the signal. */
const FINISH_MS = 5_000
/** How soon a connection is closed whose last request was under way at the signal. */
const IDLE_LOOK_MS = 20

/** Configuration, database, migrations, app; then serves until it is told to stop. */
export async function serve(): Promise<void> {
  const config = readConfig()
  const metrics = createMetrics()
  const db = await openDatabase(config.databaseUrl, metrics.group)
  await db.migrate()
  endFirstStart(config)
  const deps = createDeps(config, db)
  await checkEncryptionKey(deps, encryptionKeyPlace(config.dataDir))
  metrics.watch(deps)
  const dispatcher = createDispatcher({ ...deps, onEnd: metrics.delivery })
  deps.wakeDispatcher = dispatcher.wake
  const stopping = new AbortController()
  deps.stopping = stopping.signal
  if (config.webhookAllow.length > 0)
    deps.log.warn({ targets: config.webhookAllow.length }, 'webhooks may reach private addresses')
  const url = addressOf(config)
  const demo = config.demo ? await makeDemo(deps, url) : undefined
  const limits = await openRateLimiter(deps, metrics.limitStoreFailure)
  const app = createApp(deps, { limiter: limits.limiter, metrics })
  const server = await bind(createListener(app.fetch, { ...deps, limiter: limits.limiter }), config)
  await dispatcher.start()
  startRetention(deps)
  onSignal(deps, async () => {
    stopping.abort()
    await finish(server)
    await dispatcher.drain(DRAIN_MS)
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

/** Takes no more connections, and lets requests under way end. */
async function finish(server: Server): Promise<void> {
  const closed = new Promise((done) => server.close(done))
  // A caller that keeps its connection busy would be served until it is cut off in the middle of a request.
  server.prependListener('request', (_, response: ServerResponse) => response.setHeader('Connection', 'close'))
  server.closeIdleConnections()
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_LOOK_MS)
  // A client that stalls must not keep what waits in the outbox from being sent.
  await Promise.race([closed, sleep(FINISH_MS)])
  clearInterval(closing)
  server.closeAllConnections()
}

function bind(server: Server, { host, port }: Pick<Config, 'host' | 'port'>): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.listen(port, host, () => resolve(server))
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? `port ${port} is taken; set PORT to another one` : error.message
      reject(new Error(`Cannot listen on ${host}:${port}: ${reason}.`))
    })
  })
}
