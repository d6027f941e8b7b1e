import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { withConnection } from '../../server/src/database/database.ts'
import { recount } from '../../server/src/operator/check.ts'
import { type Answer, call, withAffiliate } from '../support/calls.ts'
import { expectedBatch, manyRows } from '../support/many-commissions.ts'
import type { RunningServer } from '../support/process.ts'
import { figure, type Given } from './guarantee.ts'
import { createWorld, type World } from './world.ts'

export const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
export const AFFILIATES = 2000

/** Inserts the commissions of a batch. On SQLite, indexes and counts are built afterwards: in between they take an hour. */
export async function fill(
  { url }: World,
  engine: Given['engine'],
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

/** The longest step of each phase since `from`, as the server logs it. */
function longestSteps(server: RunningServer, from: number): string {
  const lines = server.log().slice(from).split('\n')
  const steps = lines.filter((line) => line.includes('"payout steps"')).map((line) => JSON.parse(line))
  return steps.map(({ phase, steps: count, longestMs }) => `${phase} ${count} ≤ ${longestMs} ms`).join(', ')
}

/** Creates, cancels, creates again and pays a large batch, while the same shop reports orders. */
export async function measureLargePayout(given: Given, commissions: number, actions: Action[]): Promise<string> {
  const world = await createWorld(given, { LOG_LEVEL: 'info' })
  const { shopId, ownerToken, keys } = await world.createShop(64)
  const key = keys[0]!
  await fill(world, given.engine, shopId, commissions)
  const server = await world.start()
  await withAffiliate(server, key)
  let n = 0
  const orders = new Waits()
  const health = new Waits()
  orders.start(4, 20, async () => {
    const id = `live-${n++}`
    const order = { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' }
    const answer = await call(server, keys[1 + (n % 63)]!, ['POST', '/api/v1/events', order, `key-${id}`])
    assert.equal(answer.status, 201, answer.text)
  })
  health.start(1, 10, async () => void (await (await fetch(`${server.url}/healthz`)).text()))
  await sleep(5000)
  const idle = orders.take()
  health.take()
  const report: string[] = [`alone: worst order ${idle.worst} ms`]
  const expected = expectedBatch({ commissions, affiliates: AFFILIATES })
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
      const paid = await call(server, key, ['PATCH', `/api/v1/payouts?id=${id}&action=pay`])
      assert.equal(paid.status, 200, paid.text)
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    const [order, beat] = [orders.take(), health.take()]
    report.push(
      `${action} ${seconds} s (${longestSteps(server, from)}), worst of ${figure(order.count)} orders ${order.worst} ms, p99 ${order.p99} ms, worst /healthz ${beat.worst} ms`,
    )
  }
  await Promise.all([orders.stop(), health.stop()])
  await server.stop()
  assert.deepEqual(await world.problems(), [])
  await world.remove()
  return `${figure(commissions)} commissions: ${report.join('; ')}`
}

export type Action = 'create' | 'cancel' | 'lines' | 'pay'
