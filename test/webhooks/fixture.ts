import type { Config } from '../../server/src/config.ts'
import type { DeliveryRow } from '../../server/src/database/tables.ts'
import { createDispatcher, type DispatcherOptions } from '../../server/src/domains/webhooks/delivery/dispatcher.ts'
import { PLAIN_SUBSCRIPTION } from '../../server/src/domains/webhooks/queries.ts'
import { disable } from '../../server/src/domains/webhooks/webhooks.ts'
import { insertRow, rowsOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** The addresses of host names; no DNS server is queried. */
export const names = new Map<string, string[]>()

export async function resolve(host: string): Promise<string[]> {
  const addresses = names.get(host)
  if (!addresses) throw new Error('no such name')
  return addresses
}

export interface Fixture extends TestServer {
  receiver: Receiver
  /** Starts a sender over the same outbox; mutations wake the latest. */
  send: (options?: Partial<DispatcherOptions>) => Promise<ReturnType<typeof createDispatcher>>
  /** Inserts a subscription past every check. */
  plant: (
    url: string,
    given?: {
      events?: string[]
      secret?: string
      shopId?: string
      retryPolicy?: 'none' | 'standard'
      extendedEvents?: 0 | 1
    },
  ) => string
  deliveries: (where?: Partial<DeliveryRow>) => DeliveryRow[]
  /** The deliveries that are no longer pending. */
  finished: () => DeliveryRow[]
  /** Requests a test event. */
  test: () => Promise<void>
}

/** A server whose dispatcher may reach the receiver. */
export async function webhookFixture(config: Partial<Config> = {}): Promise<Fixture> {
  const receiver = await startReceiver()
  const server = await testServer({ config: { webhookAllow: [receiver.host], ...config } })
  Object.assign(server.deps, { resolve })
  const senders: ReturnType<typeof createDispatcher>[] = []
  let planted = 0
  return {
    ...server,
    receiver,
    send: async (options = {}) => {
      const dispatcher = createDispatcher({
        ...server.deps,
        resolve,
        disable: (subscription) => disable(server.deps, subscription),
        ...options,
      })
      senders.push(dispatcher)
      server.deps.wakeDispatcher = dispatcher.wake
      await dispatcher.start()
      return dispatcher
    },
    plant: (url, { events = [], secret, shopId = server.shop.shopId, ...given } = {}) => {
      const id = `whs_planted${String(planted++).padStart(5, '0')}`
      const sealed = secret === undefined ? null : server.deps.vault.seal(secret, id)
      const at = new Date(server.clock.ms).toISOString()
      const row = {
        ...PLAIN_SUBSCRIPTION,
        id,
        shopId,
        url,
        events: JSON.stringify(events),
        source: 'api',
        secret: sealed,
      }
      insertRow(server, 'subscriptions', { ...row, ...given, createdAt: at, updatedAt: at })
      return id
    },
    deliveries: (where = {}) => rowsOf(server, 'deliveries', where),
    finished: () => rowsOf(server, 'deliveries').filter(({ finishedAt }) => finishedAt !== null),
    test: async () => {
      const body = { url: 'https://hooks.example.com/' }
      const { status } = await server.request('POST', '/api/v1/webhooks?test=1', { body })
      if (status !== 200) throw new Error(`the test event was refused with ${status}`)
    },
    close: async () => {
      for (const sender of senders) await sender.stop()
      receiver.stop()
      await server.close()
    },
  }
}

/** Waits until a condition is true; fails after 10 s. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`never happened: ${holds}`)
    await new Promise((done) => setTimeout(done, 5))
  }
}
