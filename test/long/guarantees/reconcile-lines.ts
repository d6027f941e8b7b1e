import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../../server/src/config.ts'
import { createDeps } from '../../../server/src/core/context.ts'
import { sealPayee } from '../../../server/src/domains/affiliates/payees.ts'
import { MAX_STALL_MS } from '../../attack/measure.ts'
import { type Answer, call, withAffiliate } from '../../support/calls.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { fill, longestTurn, OCTOBER, Waits } from '../large-payout.ts'
import { createWorld, type World } from '../world.ts'

const PROBE = fileURLToPath(new URL('../loop-probe.mjs', import.meta.url))
const CLI = fileURLToPath(new URL('../../../cli/src/main.ts', import.meta.url))
const PREFIX = 'm'
const CHUNK = 500

/** Payee details of every affiliate, stored as the server stores them. */
async function addPayees({ look, env }: World, shopId: string, affiliates: number): Promise<void> {
  await look(async (db) => {
    const { vault } = createDeps({ ...readConfig(env), logLevel: 'silent' }, db)
    const at = '2026-10-20T12:00:00.000Z'
    for (let start = 0; start < affiliates; start += CHUNK) {
      const rows = Array.from({ length: Math.min(CHUNK, affiliates - start) }, (_, i) => {
        const affiliateId = `${PREFIX}aff${start + i}`
        const details = { method: 'PAYPAL', email: `p${start + i}@pay.example` } as const
        const sealed = sealPayee(vault, affiliateId, details)
        return { shopId, affiliateId, method: details.method, details: sealed, createdAt: at, updatedAt: at }
      })
      await db.transact(
        (trx) =>
          trx
            .insertInto('payees')
            .values(rows)
            .execute()
            .then(() => undefined),
        shopId,
      )
    }
  })
}

/** The most memory a process has used, in MB. */
const peakMb = (pid: number) =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)

/** A report of a bank about a payment file with as many payments, read with the command line while the shop reports orders. */
export const guarantee: LongTest = {
  title: 'A report of 100,000 payments blocks nothing',
  engines: ['sqlite', 'postgres'],
  minutes: 40,
  run: async (given) => {
    const world = await createWorld(given)
    const { shopId, ownerToken, keys } = await world.createShop(64)
    const key = keys[0]!
    // 2% of the affiliates are rejected.
    const affiliates = sized(102_500, given)
    await fill(world, given.engine, shopId, affiliates, PREFIX, affiliates)
    await addPayees(world, shopId, affiliates)
    const probe = join(world.folder, 'turn.json')
    const server = await world.start({ NODE_OPTIONS: `--import=${PROBE}`, LOOP_PROBE: probe })
    await withAffiliate(server, key)
    const owner = async (...request: Parameters<typeof call>[2]): Promise<Answer> => {
      const answer = await call(server, ownerToken, request)
      assert.equal(answer.status, 200, answer.text)
      return answer
    }
    const created = await call(server, key, ['POST', '/api/v1/payouts', OCTOBER])
    assert.equal(created.status, 200, created.text)
    const batchId = created.body.data.id
    // Without the start of the server.
    await longestTurn(server, probe)
    const createdAt = performance.now()
    const { lines, totalCents } = (await owner('PUT', '/admin/v1/payout-files/october', { batchId, format: 'paypal' }))
      .body.data
    const fileSeconds = Math.round((performance.now() - createdAt) / 1000)
    const rows = ['paymentReference,outcome']
    for (let after = ''; ; ) {
      const page = (await owner('GET', `/admin/v1/payout-files/october/lines${after && `?after=${after}`}`)).body
      for (const { paymentReference } of page.data)
        rows.push(`${paymentReference},${rows.length % 100 === 0 ? 'returned' : 'settled'}`)
      if (!page.hasMore) break
      after = page.data.at(-1).id
    }
    assert.equal(rows.length - 1, lines)
    const report = join(world.folder, 'report.csv')
    writeFileSync(report, rows.join('\n'))
    const [idle, creation] = [peakMb(server.pid), await longestTurn(server, probe)]

    const orders = new Waits()
    let n = 0
    orders.start(2, 50, async () => {
      const id = `live-${n++}`
      const order = { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' }
      const answer = await call(server, keys[1 + (n % 63)]!, ['POST', '/api/v1/events', order, `key-${id}`])
      assert.equal(answer.status, 201, answer.text)
    })
    const reconcile = async () => {
      const startedAt = performance.now()
      const env = { PATH: process.env.PATH ?? '', HOME: world.folder, NODE_NO_WARNINGS: '1' }
      const child = spawn(process.execPath, [CLI, 'payouts', 'reconcile', report, '--json', '--quiet'], {
        env: { ...env, REFERRAL_BASE_URL: server.url, REFERRAL_OWNER_TOKEN: ownerToken, REFERRAL_API_KEY: key },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const counts: Record<string, number> = {}
      const count = (text: string) => {
        for (const [, result = ''] of text.matchAll(/"result": ?"(\w+)"/g)) counts[result] = (counts[result] ?? 0) + 1
      }
      let [rest, errors, peak] = ['', '', 0]
      const watch = setInterval(() => {
        peak = Math.max(peak, peakMb(child.pid!))
      }, 200)
      child.stdout.on('data', (chunk) => {
        const text = rest + chunk
        const end = text.lastIndexOf('}') + 1
        count(text.slice(0, end))
        rest = text.slice(end)
      })
      child.stderr.on('data', (chunk) => {
        errors += chunk
      })
      child.once('exit', () => clearInterval(watch))
      const [code] = await once(child, 'close')
      assert.equal(code, 0, errors)
      return { counts, peak, seconds: Math.round((performance.now() - startedAt) / 1000) }
    }
    const first = await reconcile()
    const [turn, memory] = [await longestTurn(server, probe), peakMb(server.pid)]
    const second = await reconcile()
    await orders.stop()
    const returned = Math.floor(lines / 100)
    // The command repeats a request that takes too long, such as the last one, which pays the batch.
    const { settled = 0, already_settled = 0, returned: bounced = 0, already_returned = 0 } = first.counts
    assert.deepEqual([settled + already_settled, bounced + already_returned], [lines - returned, returned])
    assert.deepEqual(second.counts, { already_settled: lines - returned, already_returned: returned })
    const [batch] = (await call(server, key, ['GET', `/api/v1/payouts?id=${batchId}`])).body.data
    assert.equal(batch.status, 'PAID')
    const { totals } = (await owner('GET', `/admin/v1/payouts/${batchId}/lines?limit=1`)).body
    assert.equal(totals.SETTLED.cents + totals.RETURNED.cents, totalCents)
    assert.equal(totalCents, batch.totals.netPayableCents)
    const { worst, p99, count } = orders.take()
    for (const one of [creation, turn])
      assert.ok(Math.min(one.wallMs, one.cpuMs) <= MAX_STALL_MS, `a turn of ${JSON.stringify(one)}`)
    await server.stop()
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    const ms = (value: number) => `${value.toFixed(0)} ms`
    return `${figure(lines)} payments: file created in ${fileSeconds} s, reconciled in ${first.seconds} s, again in ${second.seconds} s; longest turn of the event loop ${ms(turn.cpuMs)} of CPU time, ${ms(turn.wallMs)} by the clock (when the file is created ${ms(creation.cpuMs)} and ${ms(creation.wallMs)}); worst of ${figure(count)} orders ${worst} ms, p99 ${p99} ms; peak memory of the server ${idle} MB before and ${memory} MB after, of the command ${first.peak} MB`
  },
}
