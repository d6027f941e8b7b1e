import { fork, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { allOperations } from '../support/document.ts'
import { insertKeys } from '../support/keys.ts'
import { type OwnerServer, ownerServer } from '../support/owner.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { OPERATOR_TOKEN, type TestShop } from '../support/server.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { heavyRequests, STORE_SECRET } from './heavy-requests.ts'
import { fillLargeShop, type Size } from './large-shop.ts'
import { type LoadCall, type LoadStream, startSteadyLoad } from './steady-load.ts'

/** The maximum number of keys of a shop; each may send 100 requests per minute. */
const KEYS = 20
const KEYS_PER_SECOND = (KEYS * 100) / 60
/** The limit of a shop's store equals that of all its keys. */
const STORE_PER_SECOND = KEYS_PER_SECOND
const OWNER_PER_SECOND = 600 / 60
/** The operator has no limit, and one client. */
const OPERATOR_PER_SECOND = 2
/** Ordinary orders of the neighbor, within its own limit. */
const ORDERS_PER_SECOND = 33
const SUBSCRIPTIONS = 100
const MIB = 1024 * 1024
const PATIENCE_MS = 60_000

/** p99 latency of an order. */
export interface Delay {
  wallMs: number
  /** CPU time of the server's main thread until the response: a busy machine increases only the wall time. */
  cpuMs: number
}

export interface NeighborDelay {
  name: string
  /** Medians of all rounds. */
  underLoad: Delay
  /** Alongside as many requests of the same shop, each light. */
  light: Delay
  /** While the load is sent to a server that only reads it, so that both figures include the cost of sending. */
  alone: Delay
  /** Minimum and maximum of the rounds without load: the noise of the machine. */
  aloneMs: [number, number]
  /** How often the other shop received each status, in all rounds. */
  statuses: Record<string, number>
}

/**
 * Whether orders take more than `times` as long alongside a load, both in wall time and in CPU time: other programs on a
 * busy machine increase only the former.
 */
export const isSlowed = ({ underLoad, alone }: NeighborDelay, times: number): boolean =>
  (['wallMs', 'cpuMs'] as const).every((ms) => underLoad[ms] > times * alone[ms])

/** One line for each load. */
export const neighborTable = (delays: NeighborDelay[]): string =>
  delays
    .map(({ name, underLoad, light, alone, aloneMs, statuses }) => {
      const of = ({ wallMs, cpuMs }: Delay) => `${wallMs.toFixed(1)} ms (work ${cpuMs.toFixed(1)} ms)`
      const times = (a: Delay, b: Delay) =>
        `${(a.wallMs / b.wallMs).toFixed(1)} × (work ${(a.cpuMs / b.cpuMs).toFixed(1)} ×)`
      const noise = aloneMs.map((ms) => ms.toFixed(1)).join('–')
      return `${name}: p99 ${of(underLoad)}, alone ${of(alone)} (rounds ${noise} ms), alongside light requests ${of(light)}; ${times(underLoad, alone)} of alone, ${times(underLoad, light)} of light; ${JSON.stringify(statuses)}`
    })
    .join('\n')

/** The load of one shop while the orders of another are timed. */
interface Load {
  name: string
  streams: LoadStream[]
  /** The same number of requests, each light. */
  light: LoadStream[]
  /** Runs before the load and returns what undoes it. */
  prepare?: () => Promise<() => void>
}

interface Neighbors {
  server: OwnerServer
  process: RunningServer
  /** A server that reads every request. */
  sink: string
  receiver: Receiver
  /** The neighbor's. */
  keys: string[]
  loads: Load[]
  close: () => Promise<void>
}

interface Rounds {
  seconds: number
  rounds: number
  /** Only loads whose name contains it. */
  only?: string
}

/** p99 of the neighbor's orders alongside each load: medians of rounds that alternate between no load and each load. */
export async function measureNeighbors(size: Size, { seconds, rounds, only = '' }: Rounds): Promise<NeighborDelay[]> {
  const at = await startNeighbors(size)
  const measured = at.loads
    .filter(({ name }) => name.includes(only))
    .map((load) => ({ load, alone: [] as Delay[], light: [] as Delay[], underLoad: [] as Delay[] }))
  const counts = new Map<Load, Record<string, number>>()
  try {
    await delayOf(at, 2)
    // The first requests of each kind compile code.
    for (const { load } of measured) await round(at, load, 1)
    for (let n = 0; n < rounds; n++) {
      for (const { load, alone, light, underLoad } of measured) {
        alone.push((await besideLoad(at, { url: at.sink, streams: load.streams, seconds })).delay)
        light.push((await besideLoad(at, { url: at.process.url, streams: load.light, seconds })).delay)
        const heavy = await round(at, load, seconds)
        underLoad.push(heavy.delay)
        const statuses = counts.get(load) ?? {}
        for (const [status, count] of Object.entries(heavy.statuses)) statuses[status] = (statuses[status] ?? 0) + count
        counts.set(load, statuses)
      }
    }
    return measured.map(({ load, alone, light, underLoad }) => ({
      name: load.name,
      underLoad: median(underLoad),
      light: median(light),
      alone: median(alone),
      aloneMs: [Math.min(...alone.map(({ wallMs }) => wallMs)), Math.max(...alone.map(({ wallMs }) => wallMs))],
      statuses: counts.get(load) ?? {},
    }))
  } finally {
    await at.close()
  }
}

function median(delays: Delay[]): Delay {
  const of = (ms: keyof Delay) => delays.map((delay) => delay[ms]).sort((a, b) => a - b)[delays.length >> 1]!
  return { wallMs: of('wallMs'), cpuMs: of('cpuMs') }
}

async function round(at: Neighbors, { streams, prepare }: Load, seconds: number) {
  const restore = await prepare?.()
  try {
    return await besideLoad(at, { url: at.process.url, streams, seconds })
  } finally {
    restore?.()
  }
}

async function besideLoad(
  at: Neighbors,
  { url, streams, seconds }: { url: string; streams: LoadStream[]; seconds: number },
) {
  const load = await startSteadyLoad(url, streams, seconds)
  try {
    await sleep(300)
    const delay = await delayOf(at, seconds)
    return { delay, statuses: await load.stop() }
  } finally {
    await load.stop()
  }
}

let orders = 0

/** Latencies of orders sent at a fixed rate, whether earlier ones have been answered or not. */
async function delayOf({ process, keys }: Neighbors, seconds: number): Promise<Delay> {
  const took: Delay[] = []
  const sending: Promise<void>[] = []
  const startedAt = performance.now()
  const order = async (n: number) => {
    const headers = { Authorization: `Bearer ${keys[n % keys.length]}`, 'Idempotency-Key': `neighbor-${n}` }
    const body = JSON.stringify({ externalOrderId: `neighbor-${n}`, amountCents: 1000, couponCode: 'NEXT' })
    const [wall, worked] = [performance.now(), workedMs(process)]
    const response = await fetch(`${process.url}/api/v1/events`, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const text = await response.text()
    took.push({ wallMs: performance.now() - wall, cpuMs: workedMs(process) - worked })
    if (response.status !== 201) throw new Error(`the neighbor's order was refused with ${response.status}: ${text}`)
  }
  for (let n = 0; n < seconds * ORDERS_PER_SECOND; n++) {
    const wait = startedAt + (n / ORDERS_PER_SECOND) * 1000 - performance.now()
    if (wait > 0) await sleep(wait)
    const sent = order(++orders)
    sent.catch(() => {})
    sending.push(sent)
  }
  // Throws only after all connections are closed.
  for (const sent of await Promise.allSettled(sending)) if (sent.status === 'rejected') throw sent.reason
  const p99 = (all: number[]) => all.sort((a, b) => a - b)[Math.ceil(all.length * 0.99) - 1]!
  return { wallMs: p99(took.map(({ wallMs }) => wallMs)), cpuMs: p99(took.map(({ cpuMs }) => cpuMs)) }
}

/** CPU time of the main thread of a process, as reported by Linux. */
const workedMs = ({ pid }: RunningServer): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6

/** Pins the server to one processor, and the senders and PostgreSQL to another. */
function separateProcessors(): string[] {
  if (availableParallelism() < 2 || spawnSync('taskset', ['-acp', '1', String(process.pid)]).status !== 0) return []
  return ['taskset', '-c', '0']
}

async function startSink(): Promise<{ url: string; stop: () => void }> {
  const child = fork(fileURLToPath(new URL('sink-process.ts', import.meta.url)))
  const port = await new Promise<number>((ready) => child.once('message', (port) => ready(port as number)))
  return { url: `http://127.0.0.1:${port}`, stop: () => void child.kill('SIGKILL') }
}

/** A real server process with a large shop and a small one. */
async function startNeighbors(size: Size): Promise<Neighbors> {
  const under = separateProcessors()
  const [server, receiver, sink] = await Promise.all([ownerServer(), startReceiver(), startSink()])
  await fillLargeShop(server, size)
  const newKeys = async ({ shopId }: TestShop) => insertKeys(await shops.operatorContext(server.deps, shopId), KEYS)
  const neighbor = await server.createShop()
  await withAffiliate(server, { key: neighbor.key, code: 'NEXT' })
  const loads = await loadsOf(server, { size, receiver, tokens: await newKeys(server.shop), newKeys })
  const keys = await newKeys(neighbor)
  const env = {
    DATABASE_URL: server.url,
    REFERRAL_DATA_DIR: server.deps.config.dataDir,
    REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    REFERRAL_DEMO: '0',
    REFERRAL_OPERATOR_TOKEN: OPERATOR_TOKEN,
    REFERRAL_WEBHOOK_ALLOW: receiver.host,
    LOG_LEVEL: 'error',
  }
  const process = await startServer(env, under)
  const close = async () => {
    await process.stop('SIGKILL')
    receiver.stop()
    sink.stop()
    await server.close()
  }
  return { server, process, sink: sink.url, receiver, keys, loads, close }
}

const READS = new Set(allOperations.filter(({ method }) => method === 'GET').map(({ id }) => id)).add('runBacktest')

const idempotent = { 'Idempotency-Key': 'attack-{n}' }
const orderOf = (more: object): LoadCall => ({
  method: 'POST',
  path: '/api/v1/events',
  headers: idempotent,
  body: JSON.stringify({ externalOrderId: 'attack-{n}', couponCode: 'NISA16', ...more }),
})
const LIGHT = [{ method: 'GET', path: '/api/v1/programs?limit=1' }, orderOf({ amountCents: 1000 })]

interface LoadOptions {
  size: Size
  receiver: Receiver
  tokens: string[]
  newKeys: (shop: TestShop) => Promise<string[]>
}

async function loadsOf(server: OwnerServer, { size, receiver, tokens, newKeys }: LoadOptions): Promise<Load[]> {
  const all = await readsOf(server, size)
  const isOperators = ({ path }: LoadCall) => path.startsWith('/operator/')
  const reads = all.filter((call) => !isOperators(call))
  const isOwners = ({ path }: LoadCall) => path.startsWith('/admin/')
  const light = { perSecond: KEYS_PER_SECOND, calls: LIGHT, tokens }
  const lightOfOwner = {
    perSecond: OWNER_PER_SECOND,
    calls: [{ method: 'GET', path: '/admin/v1/settings' }],
    tokens: [server.shop.ownerToken],
  }
  const hanging = await server.createShop()
  await withAffiliate(server, { key: hanging.key, code: 'HANG' })
  const hangingTokens = await newKeys(hanging)
  const toHanging = orderOf({ amountCents: 1000, couponCode: 'HANG' })
  const atItsLimit = (calls: LoadCall[]) => [{ perSecond: KEYS_PER_SECOND, calls, tokens }]
  return [
    {
      name: 'lists and reports',
      streams: [
        ...atItsLimit(reads.filter((call) => !isOwners(call))),
        { ...lightOfOwner, calls: reads.filter(isOwners) },
      ],
      light: [light, lightOfOwner],
    },
    { name: 'orders of 1,000 lines in 1 MiB', streams: atItsLimit([largestOrder()]), light: [light] },
    {
      name: 'store orders of 4 MiB',
      streams: [{ perSecond: STORE_PER_SECOND, calls: [largestStoreOrder(server)], tokens: [] }],
      light: [light],
    },
    {
      name: 'exports and lists of the operator',
      streams: [{ perSecond: OPERATOR_PER_SECOND, calls: all.filter(isOperators), tokens: [OPERATOR_TOKEN] }],
      light: [
        {
          perSecond: OPERATOR_PER_SECOND,
          calls: [{ method: 'GET', path: '/operator/v1/shops?limit=1' }],
          tokens: [OPERATOR_TOKEN],
        },
      ],
    },
    {
      name: `orders for ${SUBSCRIPTIONS} webhooks that hang`,
      streams: [{ perSecond: KEYS_PER_SECOND, calls: [toHanging], tokens: hangingTokens }],
      light: [{ ...light, calls: [toHanging], tokens: hangingTokens }],
      prepare: () => subscribe(server, { shop: hanging, receiver }),
    },
  ]
}

/** All reads, as heavy as allowed. */
async function readsOf(server: OwnerServer, size: Size): Promise<LoadCall[]> {
  const reads = (await heavyRequests(server, size)).filter(({ operation }) => READS.has(operation))
  return Promise.all(
    reads.map(async ({ make }) => {
      const { body, ...call } = await make()
      return { ...call, ...(body !== undefined && { body: JSON.stringify(body) }) }
    }),
  )
}

function largestOrder(): LoadCall {
  const line = { productId: '7001', variantId: '90001', quantity: 900, priceCents: 100, sku: 'x'.repeat(100) }
  const lineItems = Array.from({ length: 1000 }, () => ({ ...line, title: 'x'.repeat(800) }))
  const call = orderOf({ lineItems })
  if (call.body!.length > MIB || call.body!.length < 0.9 * MIB) throw new Error('the order should be just below 1 MiB')
  return call
}

function largestStoreOrder({ shop }: OwnerServer): LoadCall {
  const line = { product_id: 7001, variant_id: 90_001, price: '9.99', quantity: 3, name: 'x'.repeat(4000) }
  const body = JSON.stringify({
    id: 0,
    financial_status: 'paid',
    cancelled_at: null,
    total_line_items_price: '29970.00',
    discount_codes: [{ code: 'NISA16' }],
    line_items: Array.from({ length: 1000 }, () => line),
  }).replace('"id":0', '"id":{n}')
  if (body.length > 4 * MIB || body.length < 0.9 * 4 * MIB) throw new Error('the order should be just below 4 MiB')
  return {
    method: 'POST',
    path: `/integrations/shopify/${shop.shopId}/orders-paid`,
    headers: { 'X-Shopify-Topic': 'orders/paid' },
    body,
    storeSecret: STORE_SECRET,
  }
}

/** Creates the maximum number of subscriptions, to a receiver that never responds. Returns a function that removes them. */
async function subscribe(
  server: OwnerServer,
  { shop, receiver }: { shop: TestShop; receiver: Receiver },
): Promise<() => void> {
  const { shopId, key } = shop
  const post = (url: string) => expectOk(server.request('POST', '/api/v1/webhooks', { key, body: { url } }))
  for (let n = 0; n < SUBSCRIPTIONS; n++) await post(`https://93.184.215.14/${n}`)
  server.sql.prepare('update subscriptions set url = ? || id where "shopId" = ?').run(receiver.at('/hang/'), shopId)
  return () => {
    for (const table of ['subscriptions', 'deliveries'])
      server.sql.prepare(`delete from ${table} where "shopId" = ?`).run(shopId)
  }
}
