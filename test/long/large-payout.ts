import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { withConnection } from '../../server/src/database/open.ts'
import { recount } from '../../server/src/operator/check.ts'
import { type Answer, call, until, withAffiliate } from '../support/calls.ts'
import { databaseUrl } from '../support/database.ts'
import { expectedBatch, manyRows } from '../support/many-commissions.ts'
import type { RunningServer } from '../support/process.ts'
import { startControl } from './control.ts'
import { figure, type RunOptions } from './guarantee.ts'
import { createWorld, type World } from './world.ts'

export const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
export const AFFILIATES = 2000

/** Inserts the commissions of a batch. On SQLite, indexes and counts are built afterwards: in between they take an hour. */
export async function fill(
  { url }: World,
  engine: RunOptions['engine'],
  shopId: string,
  commissions: number,
  prefix = 'm',
  affiliates = AFFILIATES,
) {
  await withConnection(url, async (db) => {
    const run = (text: string) => sql.raw(text).execute(db)
    const { rows } =
      engine === 'sqlite'
        ? await sql<{ type: string; name: string; sql: string }>`select type, name, sql from sqlite_master
            where tbl_name = 'commissions' and sql is not null and type in ('index', 'trigger')`.execute(db)
        : { rows: [] }
    if (engine === 'sqlite') await run('pragma cache_size = -400000')
    for (const { type, name } of rows) await run(`drop ${type} "${name}"`)
    for (const text of manyRows(engine, { shopId, prefix, commissions, affiliates })) await run(text)
    for (const { sql: text } of rows) await run(text)
    // What a running installation has: without it, the first statements are planned for empty tables.
    if (engine === 'postgres') await run('vacuum analyze')
  })
  if (engine === 'sqlite') await recount({ databaseUrl: url })
}

/** How long requests waited. */
export class Waits {
  readonly all: number[] = []
  #isOver = false
  #workers: Promise<void>[] = []

  /** Sends requests until `stop`, with a pause after each. */
  start(workers: number, pauseMs: number, send: () => Promise<void>): void {
    const work = async () => {
      while (!this.#isOver) {
        const startedAt = performance.now()
        await send()
        this.all.push(performance.now() - startedAt)
        await sleep(pauseMs)
      }
    }
    this.#workers = Array.from({ length: workers }, work)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#workers)
  }

  /** The longest wait since the last call, in whole milliseconds. */
  take(): { worst: number; p99: number; count: number } {
    const sorted = this.all.splice(0).sort((a, b) => a - b)
    const at = (share: number) => Math.ceil(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
    return { worst: at(1), p99: at(0.99), count: sorted.length }
  }
}

/** Sends a request again with the same key while it gets no response, as a client does. */
async function untilAnswered(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send().catch(() => undefined)
    if (answer) return answer
    await sleep(100)
  }
}

/** What a step may take beyond the longest time by which the machine delayed a transaction of constant work. */
const MAX_STEP_MS = 50
/** As in a production installation: a quarter of a small machine. Everything else is as installed. */
export const POSTGRES = ['shared_buffers=1GB', 'max_wal_size=4GB']
const MAX_PAY_MS = 20 * 60_000
const PROBE = fileURLToPath(new URL('loop-probe.mjs', import.meta.url))

interface StepsLine {
  becomes: string
  steps: number
  longestMs: number
}

/** The steps of each change since `from`, as the server logs them. */
function stepsSince(server: RunningServer, from: number): StepsLine[] {
  const lines = server.log().slice(from).split('\n')
  return lines.filter((line) => line.includes('"payout steps"')).map((line) => JSON.parse(line))
}

/** The longest turn of the server's event loop since the last call. */
export async function longestTurn({ pid }: RunningServer, file: string): Promise<{ wallMs: number; cpuMs: number }> {
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    await sleep(20)
    try {
      return JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      // It is not written yet.
    }
  }
}

/** Starts a server that measures the turns of its event loop. */
export async function startProbed(world: World): Promise<{ server: RunningServer; turn: () => Promise<string> }> {
  const file = join(world.folder, 'turn.json')
  const server = await world.start({ NODE_OPTIONS: `--import=${PROBE}`, LOOP_PROBE: file })
  const turn = async () => {
    const { wallMs, cpuMs } = await longestTurn(server, file)
    return `${Math.ceil(wallMs)} ms, ${Math.ceil(cpuMs)} ms of CPU time`
  }
  return { server, turn }
}

/** Reports orders of a shop all the time. */
async function keepOrdering(server: RunningServer, keys: string[]): Promise<Waits> {
  await withAffiliate(server, keys[0]!)
  const orders = new Waits()
  let n = 0
  orders.start(4, 20, async () => {
    const id = `live-${n++}`
    const order = { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' }
    const answer = await call(server, keys[1 + (n % (keys.length - 1))]!, [
      'POST',
      '/api/v1/events',
      order,
      `key-${id}`,
    ])
    assert.equal(answer.status, 201, `${answer.text} ${server.log().slice(-2000)}`)
  })
  return orders
}

/** Creates, cancels, creates again and pays a large batch, while the same shop and another one report orders. */
export async function measureLargePayout(options: RunOptions, commissions: number, actions: Action[]): Promise<string> {
  const world = await createWorld(options, { LOG_LEVEL: 'info' })
  const { shopId, ownerToken, keys } = await world.createShop(64)
  const other = await world.createShop(64)
  const key = keys[0]!
  await fill(world, options.engine, shopId, commissions)
  const { server, turn } = await startProbed(world)
  const isPostgres = options.engine === 'postgres'
  const control = startControl(
    isPostgres ? databaseUrl(process.env.TEST_POSTGRES_URL ?? '', 'postgres') : `file:${world.folder}/control.db`,
  )
  const own = await keepOrdering(server, keys)
  const others = await keepOrdering(server, other.keys)
  const health = new Waits()
  health.start(1, 10, async () => void (await (await fetch(`${server.url}/healthz`)).text()))
  const waits = async () => {
    const [mine, theirs, beat] = [own.take(), others.take(), health.take()]
    const { median, worst, excess } = await control.take()
    const text = `longest of ${figure(mine.count)} orders ${mine.worst} ms (p99 ${mine.p99}), of another shop ${theirs.worst} ms (p99 ${theirs.p99}), of /healthz ${beat.worst} ms, turn ${await turn()}, control ${worst} ms (median ${median})`
    return { text, excess }
  }
  // The start of the server and of the control is not measured.
  await sleep(2000)
  await waits()
  await sleep(10_000)
  const report: string[] = [`without a payout: ${(await waits()).text}`]
  const expected = expectedBatch({ commissions, affiliates: AFFILIATES })
  const slow: string[] = []
  let id = ''
  for (const action of actions) {
    const from = server.log().length
    const startedAt = performance.now()
    if (action === 'create') {
      const key1 = `create-${performance.now()}`
      const made = await untilAnswered(() => call(server, key, ['POST', '/api/v1/payouts', OCTOBER, key1]))
      assert.equal(made.status, 200, made.text)
      const { totals, heldBack } = made.body.data
      assert.deepEqual({ totals, heldBack }, expected)
      id = made.body.data.id
    }
    if (action === 'cancel') {
      const canceled = await call(server, ownerToken, ['POST', `/admin/v1/payouts/${id}/cancel`, {}])
      assert.equal(canceled.status, 200, canceled.text)
    }
    if (action === 'lines') {
      const listed = await call(server, key, ['GET', `/api/v1/payouts?id=${id}&include=lines`])
      const lines: { netPayableCents: number }[] = listed.body.data[0].lines
      const paid = lines.reduce((sum, line) => sum + line.netPayableCents, 0)
      assert.equal(paid, expected.totals.netPayableCents)
    }
    if (action === 'pay') {
      const pay = () => call(server, key, ['PATCH', `/api/v1/payouts?id=${id}&action=pay`])
      const paid = await untilAnswered(pay)
      // A request is options up after five minutes, and the steps go on.
      const goesOn = ['payout_already_paid', 'payout_processing'].includes(paid.headers.get('X-Error-Code') ?? '')
      assert(paid.status === 200 || goesOn, paid.text)
      await until(() => stepsSince(server, from).length > 0, MAX_PAY_MS, 'the steps of the payment')
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    const steps = stepsSince(server, from)
    const { text, excess } = await waits()
    for (const { becomes, longestMs } of steps) {
      if (longestMs > MAX_STEP_MS + excess)
        slow.push(`${becomes}: ${longestMs} ms, while the machine delayed by ${excess}`)
    }
    const changes = steps.map(({ becomes, steps: count, longestMs }) => `${becomes} ${count} ≤ ${longestMs} ms`)
    report.push(`${action} ${seconds} s (${changes.join(', ')}), ${text}`)
  }
  await Promise.all([own.stop(), others.stop(), health.stop()])
  control.stop()
  await server.stop()
  const summary = `${figure(commissions)} commissions: ${report.join('; ')}`
  assert.deepEqual(slow, [], summary)
  assert.deepEqual(await world.problems(), [])
  await world.remove()
  return summary
}

export type Action = 'create' | 'cancel' | 'lines' | 'pay'
