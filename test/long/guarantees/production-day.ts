import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { call, until, withAffiliate } from '../../support/calls.ts'
import { administer } from '../../support/database.ts'
import { createCluster, type PostgresCluster } from '../../support/postgres-cluster.ts'
import { freePort, type RunningServer, run, startServer } from '../../support/process.ts'
import { type Proxy as ReverseProxy, requiredSettings, startProxy, whyNoProxy } from '../../support/proxies.ts'
import { createRedis, type TestRedis, whyNoRedis } from '../../support/redis.ts'
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts'
import { type ControlTimes, startControl } from '../control.ts'
import { figure, type LongTest, Missing, type RunOptions, sized } from '../guarantee.ts'
import { checkAcknowledged } from '../ledger.ts'
import { Load } from '../load.ts'
import { createWorld, type World } from '../world.ts'

const SERVERS = 3
const DISK_BYTES = 6 * 1024 ** 3
const CALLERS = { workers: 8, pauseMs: 40 }
const PAYOUT_COMMISSIONS = 100_000
const SNAPSHOT_SECONDS = 600
/** How long a server runs before the next one is restarted; a proxy needs a moment to use it again. */
const RESTART_PAUSE_MS = 4000
/** Less is not enough for a 99th percentile. */
const MIN_PHASE_MS = 20_000
const RECOVERY_MS = 60_000
/** While nothing is broken, the longest wait of another shop is at most this many times its 99th percentile. */
const MAX_RATIO = 2

interface Attempt {
  ms: number
  status: number | undefined
}

interface Phase {
  name: string
  /** The requests of the shop that nothing happens to. */
  neighbor: Attempt[]
  /** The requests of the shop with the large payout. */
  busy: Attempt[]
  /** Transactions of constant work in another database of the same PostgreSQL. */
  control?: ControlTimes
}

interface Merchant {
  shopId: string
  keys: string[]
  load: Load
}

const isFailed = ({ status }: Attempt): boolean => status !== 201

function percentile(attempts: Attempt[], share: number): number {
  const sorted = attempts.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** Everything a production installation consists of, on loopback. */
class Site {
  readonly phases: Phase[] = []
  readonly #disk: SmallDisk
  readonly #redis: TestRedis
  readonly postgres: PostgresCluster
  readonly world: World
  readonly bin: string
  #ports: number[] = []
  #servers: RunningServer[] = []
  #proxy: ReverseProxy | undefined

  constructor(parts: { disk: SmallDisk; redis: TestRedis; postgres: PostgresCluster; world: World; bin: string }) {
    this.#disk = parts.disk
    this.#redis = parts.redis
    this.postgres = parts.postgres
    this.world = parts.world
    this.bin = parts.bin
  }

  get proxy(): ReverseProxy {
    assert(this.#proxy, 'the proxy is running')
    return this.#proxy
  }

  async open(): Promise<void> {
    this.#ports = await Promise.all(Array.from({ length: SERVERS }, freePort))
    this.#servers = await Promise.all(this.#ports.map((port) => this.#serve(port)))
    this.#proxy = await startProxy('nginx', this.#ports, this.world.folder)
  }

  #serve(port: number): Promise<RunningServer> {
    return startServer({ ...this.world.env, REDIS_URL: this.#redis.url, PORT: String(port) })
  }

  /** Stops one server with this signal and starts it again. */
  async restart(n: number, signal: NodeJS.Signals): Promise<void> {
    const server = this.#servers[n]
    assert(server, 'the server is running')
    const code = await server.stop(signal)
    if (signal === 'SIGTERM') assert.equal(code, 0, server.log())
    this.#servers[n] = await this.#serve(this.#ports[n] ?? 0)
  }

  async freezeRedis(ms: number): Promise<void> {
    this.#redis.freeze()
    await sleep(ms)
    this.#redis.thaw()
  }

  async fillDisk(during: () => Promise<void>): Promise<void> {
    await this.#disk.fill()
    await during().finally(this.#disk.free)
  }

  /** The tools of PostgreSQL, on the database of the servers. */
  async tool(name: string, ...args: string[]): Promise<void> {
    const child = spawn(join(this.bin, name), args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    const code = await new Promise((done) => child.once('close', done))
    assert.equal(code, 0, `${name}: ${errors}`)
  }

  async close(): Promise<void> {
    await this.#proxy?.stop()
    await Promise.all(this.#servers.map((server) => server.stop('SIGKILL')))
    await this.#redis.stop()
    await this.postgres.remove()
    this.#disk.remove()
  }
}

/** A shop whose callers report orders through the proxy, each request noted in the current phase. */
async function openShop(site: Site, note: (attempt: Attempt) => void): Promise<Merchant> {
  const { shopId, keys } = await site.world.createShop(32)
  await withAffiliate(site.proxy, keys[0] ?? '')
  const load = new Load(keys, { ...CALLERS, onAttempt: (ms, status) => note({ ms, status }) })
  load.aim(site.proxy)
  return { shopId, keys, load }
}

async function seed({ world }: Site, shopId: string, commissions: number): Promise<void> {
  const size = ['--affiliates', '200', '--commissions', String(commissions), '--clicks', '0', '--days', '20']
  const { code, stderr } = await run(['seed', '--shop', shopId, ...size], world.env)
  assert.equal(code, 0, stderr)
}

/** Creates, exports and pays one batch of all seeded commissions. Returns the times in seconds. */
async function payOut(site: Site, { keys }: Merchant): Promise<string> {
  const ask = async (...request: Parameters<typeof call>[2]) => {
    const startedAt = performance.now()
    const answer = await call(site.proxy, keys[1] ?? '', request)
    assert(answer.status < 300, `${request[0]} ${request[1]}: ${answer.status} ${answer.text}`)
    return { ...answer, seconds: ((performance.now() - startedAt) / 1000).toFixed(1) }
  }
  const today = new Date().toISOString().slice(0, 10)
  const created = await ask('POST', '/api/v1/payouts', { periodStart: '2020-01-01', periodEnd: today }, 'the-large-one')
  const { id, totals } = created.body.data
  const read = await ask('GET', `/api/v1/payouts?id=${id}&include=lines`)
  const lines: { netPayableCents: number }[] = read.body.data[0].lines
  assert.equal(
    lines.reduce((sum, { netPayableCents }) => sum + netPayableCents, 0),
    totals.netPayableCents,
  )
  const path = `/api/v1/payouts?id=${id}&action=pay&expectedTotalCents=${totals.netPayableCents}`
  const paid = await ask('PATCH', path)
  const after = await ask('GET', `/api/v1/payouts?id=${id}`)
  assert.equal(after.body.data[0].status, 'PAID')
  return `${figure(totals.commissions)} commissions created in ${created.seconds} s, paid in ${paid.seconds} s`
}

/** A transaction that sees the database as it was, as `pg_dump` of a large database does. */
async function holdSnapshot({ world }: Site, seconds: number): Promise<void> {
  const client = new pg.Client(world.url)
  await client.connect()
  await client.query('begin isolation level repeatable read read only')
  await client.query('select count(*) from commissions')
  await sleep(seconds * 1000)
  await client.query('commit')
  await client.end()
}

async function day(site: Site, options: RunOptions): Promise<string> {
  let current: Phase = { name: 'start', neighbor: [], busy: [] }
  const neighbor = await openShop(site, (attempt) => current.neighbor.push(attempt))
  const busy = await openShop(site, (attempt) => current.busy.push(attempt))
  await seed(site, busy.shopId, sized(PAYOUT_COMMISSIONS, options))
  neighbor.load.start()
  busy.load.start()
  const control = startControl(site.postgres.url)
  await sleep(sized(10_000, options))
  await control.take()
  const phase = async (name: string, work: () => Promise<unknown>): Promise<Phase> => {
    current = { name, neighbor: [], busy: [] }
    site.phases.push(current)
    const [said] = await Promise.all([work(), sleep(sized(MIN_PHASE_MS, options))])
    if (typeof said === 'string') current.name = `${name}: ${said}`
    current.control = await control.take()
    return current
  }
  const goesOn = () => {
    const enough = neighbor.load.acknowledged.length + 50
    return until(() => neighbor.load.acknowledged.length > enough, RECOVERY_MS, 'orders')
  }
  const dump = join(site.world.folder, 'referral.dump')

  let beforeBackup = 0
  const calm = await phase('calm', async () => {})
  const quiet = [
    await phase('rolling deploy', async () => {
      for (let n = 0; n < SERVERS * 2; n++) {
        await site.restart(n % SERVERS, 'SIGTERM')
        await sleep(RESTART_PAUSE_MS)
      }
    }),
    await phase('proxy reload', async () => {
      for (let n = 0; n < 3; n++) {
        site.proxy.reload()
        await sleep(2000)
      }
    }),
    await phase('payout', () => payOut(site, busy)),
    await phase('snapshot', () => holdSnapshot(site, sized(SNAPSHOT_SECONDS, options))),
    await phase('backup', () => {
      beforeBackup = neighbor.load.acknowledged.length
      const options = ['--schema=public', '--format=custom', '--no-unlogged-table-data', `--file=${dump}`]
      return site.tool('pg_dump', ...options, site.world.url)
    }),
    await phase('Redis frozen', () => site.freezeRedis(sized(10_000, options))),
  ]
  const broken = [
    await phase('kill -9', async () => {
      for (let n = 0; n < SERVERS; n++) {
        await site.restart(n, 'SIGKILL')
        await sleep(RESTART_PAUSE_MS)
      }
    }),
    await phase('PostgreSQL restart', async () => {
      await site.postgres.stop('fast')
      await sleep(2000)
      await site.postgres.start()
      await goesOn()
    }),
    await phase('disk full', async () => {
      await site.fillDisk(() => until(() => current.neighbor.filter(isFailed).length > 8, RECOVERY_MS, 'a full disk'))
      // PostgreSQL ends when it cannot write its log; a service manager starts it again.
      await goesOn().catch(async () => {
        await site.postgres.start()
        await goesOn()
      })
    }),
  ]
  control.stop()
  await Promise.all([neighbor.load.stop(), busy.load.stop()])
  await verify(site, [neighbor, busy])
  await verifyBackup(site, dump, { ...neighbor, orders: neighbor.load.acknowledged.slice(0, beforeBackup) })
  report(site.phases)
  const failed = quiet.filter(({ neighbor, busy }) => [...neighbor, ...busy].some(isFailed))
  assert.deepEqual(
    failed.map(({ name, neighbor, busy }) => `${name}: ${[...neighbor, ...busy].filter(isFailed).length} failed`),
    [],
    'no request fails while nothing is broken',
  )
  const slow = quiet.filter((one) => percentile(one.neighbor, 1) > allowedWait(one))
  assert.deepEqual(
    slow.map((one) => `${one.name}: ${ms(percentile(one.neighbor, 1))}, allowed ${ms(allowedWait(one))}`),
    [],
    'another shop waits at most twice its 99th percentile, and as long as the machine delayed the control',
  )
  const refused = new Set(broken.flatMap(({ neighbor, busy }) => [...neighbor, ...busy].map(({ status }) => status)))
  refused.delete(201)
  return summary(site.phases, calm, [...refused])
}

async function verify(site: Site, shops: Merchant[]): Promise<void> {
  await site.world.look(async (db) => {
    for (const { shopId, load } of shops) await checkAcknowledged(db, shopId, load)
  })
  assert.deepEqual(await site.world.problems(), [])
}

/** The backup, restored into its own database, has the orders that were acknowledged before it. */
async function verifyBackup(
  site: Site,
  dump: string,
  { shopId, orders }: { shopId: string; orders: { id: string }[] },
): Promise<void> {
  const url = site.postgres.urlOf('restored')
  await administer(site.postgres.url, 'create database restored')
  await site.tool('pg_restore', '--schema=public', '--no-owner', '--single-transaction', `--dbname=${url}`, dump)
  const { code, stdout, stderr } = await run(['check'], { ...site.world.env, DATABASE_URL: url })
  assert.equal(code, 0, stdout + stderr)
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('select "externalOrderId" as id from commissions where "shopId" = $1', [shopId])
  await client.end()
  const stored = new Set(rows.map(({ id }) => id))
  const missing = orders.filter(({ id }) => !stored.has(id))
  assert.deepEqual(missing, [], 'the backup has every order acknowledged before it')
}

/** Of another shop: twice its 99th percentile in the same phase, and what the machine added to the longest control. */
const allowedWait = ({ neighbor, control }: Phase): number =>
  MAX_RATIO * percentile(neighbor, 0.99) + (control?.excess ?? 0)

const ms = (value: number): string => `${Math.round(value)} ms`

/** A row per phase. */
function report(phases: Phase[]): void {
  const cells = [
    'phase',
    'requests',
    'not 201',
    'another shop: p50',
    'p99',
    'longest',
    'longest ÷ p99',
    'control: median',
    'longest',
  ]
  const rows = phases.map(({ name, neighbor, busy, control }) => {
    const all = [...neighbor, ...busy]
    const [p99, longest] = [percentile(neighbor, 0.99), percentile(neighbor, 1)]
    const counts = [figure(all.length), figure(all.filter(isFailed).length)]
    return [
      name,
      ...counts,
      ms(percentile(neighbor, 0.5)),
      ms(p99),
      ms(longest),
      (longest / p99).toFixed(1),
      ms(control?.median ?? 0),
      ms(control?.worst ?? 0),
    ]
  })
  const lines = [cells, cells.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`)
  process.stderr.write(`${lines.join('')}Load average: ${loadavg().map(Math.round).join(', ')}\n`)
}

function summary(phases: Phase[], calm: Phase, refused: (number | undefined)[]): string {
  const all = phases.flatMap(({ neighbor, busy }) => [...neighbor, ...busy])
  const reference = percentile(calm.neighbor, 0.99)
  const ratios = phases
    .filter(({ name }) => /^(payout|snapshot|backup)/.test(name))
    .map(({ name, neighbor }) => `${name} ${(percentile(neighbor, 0.99) / reference).toFixed(1)} ×`)
  return `${figure(all.length)} requests, 0 lost, 0 doubled, 0 failed during deploys; while broken: ${refused.join(', ') || 'none failed'}; p99 of another shop ÷ calm: ${ratios.join(', ')}`
}

function findTools(): string {
  const found = globSync('/usr/lib/postgresql/*/bin/pg_restore')
    .map((file) => dirname(file))
    .find((folder) => ['initdb', 'postgres', 'pg_dump'].every((tool) => existsSync(join(folder, tool))))
  if (!found) throw new Missing('no PostgreSQL with pg_dump is installed')
  return found
}

/** Three servers, nginx, PostgreSQL and Redis live through what happens to them in production. */
export const guarantee: LongTest = {
  title: 'A day in production loses and doubles no order',
  engines: ['postgres'],
  minutes: 45,
  run: async (options) => {
    const missing = whyNoProxy('nginx') ?? whyNoRedis()
    if (missing) throw new Missing(missing)
    const bin = findTools()
    const disk = mountSmallDisk(DISK_BYTES)
    if (!disk) throw new Missing('mounting a small file system is not permitted')
    const [redis, postgres] = await Promise.all([
      createRedis(),
      createCluster(['max_wal_size=512MB'], { installed: bin, home: disk.path }),
    ])
    const home = process.env.TEST_POSTGRES_URL
    process.env.TEST_POSTGRES_URL = postgres.url
    const world = await createWorld(options, requiredSettings('nginx'))
    const site = new Site({ disk, redis, postgres, world, bin })
    try {
      await site.open()
      return await day(site, options)
    } finally {
      await site.close()
      process.env.TEST_POSTGRES_URL = home
    }
  },
}
