import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, call, withAffiliate } from '../../support/calls.ts'
import { freePort, type RunningServer, startServer } from '../../support/process.ts'
import { type ProxyName, requiredSettings, startProxy, whyNoProxy } from '../../support/proxies.ts'
import { figure, type LongTest, Missing, type RunOptions, sized } from '../guarantee.ts'
import { createWorld, type World } from '../world.ts'

const SERVERS = 3
const WORKERS = 16
const REQUESTS = 20_000
/** How long a server runs before the next one is restarted; a proxy needs a moment to use it again. */
const PAUSE_MS = 4000

type Call = Parameters<typeof call>[2]

/** Requests of every kind, with and without an `Idempotency-Key`, and the status each returns. */
const MIX: ((id: string) => [expected: number, call: Call])[] = [
  (id) => [201, ['POST', '/api/v1/events', { externalOrderId: id, amountCents: 100, couponCode: 'NISA16' }, id]],
  () => [200, ['GET', '/api/v1/commissions?limit=5']],
  (id) => [202, ['POST', '/api/v1/events?type=click', { type: 'click', ref: 'nisa16', sessionId: id }]],
  (id) => [201, ['POST', '/api/v1/affiliates', { email: `${id}@example.com`, name: 'A' }]],
]

/** Callers who never pause, and the requests that failed. */
class Callers {
  sent = 0
  readonly failures: string[] = []
  readonly created: Record<'orders' | 'affiliates', number> = { orders: 0, affiliates: 0 }
  readonly #target: Pick<RunningServer, 'url'>
  readonly #keys: string[]
  #isOver = false
  #workers: Promise<void>[] = []

  constructor(url: string, keys: string[]) {
    this.#target = { url }
    this.#keys = keys
  }

  start(): void {
    this.#workers = Array.from({ length: WORKERS }, () => this.#work())
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#workers)
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const n = this.sent++
      const [expected, options] = MIX[n % MIX.length]!(`deploy-${n}`)
      const key = this.#keys[n % this.#keys.length]!
      const answer: Answer | Error = await call(this.#target, key, options).catch((error: Error) => error)
      if (!(answer instanceof Error) && answer.status === expected) {
        if (n % MIX.length === 0) this.created.orders++
        if (n % MIX.length === 3) this.created.affiliates++
      } else {
        const said = answer instanceof Error ? `${answer.cause ?? answer}` : `${answer.status} ${answer.text}`
        this.failures.push(`${options[0]} ${options[1]}: ${said}`)
      }
    }
  }
}

const countOf = (world: World, table: 'commissions' | 'affiliates') =>
  world.look(async ({ read }) => (await read.selectFrom(table).select('id').execute()).length)

async function deploy(name: ProxyName, options: RunOptions): Promise<string> {
  const world = await createWorld(options, requiredSettings(name))
  const { keys } = await world.createShop(64)
  const ports = await Promise.all(Array.from({ length: SERVERS }, freePort))
  const start = (port: number) => startServer({ ...world.env, PORT: String(port) })
  const servers = await Promise.all(ports.map(start))
  const proxy = await startProxy(name, ports, world.folder)
  let restarts = 0
  try {
    await withAffiliate(servers[0]!, keys[0]!)
    const before = await countOf(world, 'affiliates')
    const callers = new Callers(proxy.url, keys)
    callers.start()
    const enough = sized(REQUESTS, options)
    for (let n = 0; n < SERVERS || callers.sent < enough; n++) {
      const at = n % SERVERS
      assert.equal(await servers[at]!.stop(), 0, servers[at]!.log())
      servers[at] = await start(ports[at]!)
      restarts++
      await sleep(PAUSE_MS)
    }
    await callers.stop()
    assert.deepEqual(callers.failures, [], `no request fails behind ${name}`)
    assert.equal(await countOf(world, 'commissions'), callers.created.orders, 'every order is recorded once')
    assert.equal((await countOf(world, 'affiliates')) - before, callers.created.affiliates, 'no affiliate is doubled')
    return `${name}: 0 of ${figure(callers.sent)} requests failed during ${restarts} restarts`
  } finally {
    await proxy.stop()
    await Promise.all(servers.map((server) => server.stop('SIGKILL')))
    await world.remove()
  }
}

export const guarantee: LongTest = {
  title: 'Rolling restarts of three servers behind a proxy fail no request',
  engines: ['postgres'],
  minutes: 20,
  run: async (options) => {
    const lines: string[] = []
    for (const name of ['nginx', 'haproxy'] as const) {
      const missing = whyNoProxy(name)
      if (missing) throw new Missing(missing)
      lines.push(await deploy(name, options))
    }
    return lines.join('; ')
  },
}
