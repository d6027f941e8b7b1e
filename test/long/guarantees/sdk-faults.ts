import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReferralClient, type ReferralClient, ReferralError, UnknownOutcomeError } from '@referral/sdk'
import { createAdminClient } from '@referral/sdk/admin'
import { withAffiliate } from '../../support/calls.ts'
import { freePort, type RunningServer } from '../../support/process.ts'
import { BREAKS, type Break, startBreakingProxy } from '../breaking-proxy.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { checkLedger } from '../ledger.ts'
import type { Acknowledged, Sent } from '../load.ts'
import { createWorld } from '../world.ts'

const CALLERS = 16
const KILLS = 3
const BROKEN = 2 / 3
const KINDS = Object.keys(BREAKS) as Break[]

/** How the calls ended whose first attempt broke in one way. */
interface Row {
  kind: string
  calls: number
  succeeded: number
  'unknown, reconciled': number
  'failed, not recorded': number
}

/** Orders are reported with the SDK through a proxy that breaks two of three requests, while the server is killed. */
export const guarantee: LongTest = {
  title: 'An order that is reported with the SDK is neither lost nor duplicated, whatever breaks on the way',
  engines: ['sqlite', 'postgres'],
  minutes: 10,
  run: async (given) => {
    const world = await createWorld(given, { PORT: String(await freePort()) })
    const { keys, ownerToken } = await world.createShop(CALLERS)
    let server = await world.start()
    await withAffiliate(server, keys[0]!)
    const proxy = await startProxy(() => server)
    const admin = createAdminClient({ apiKey: ownerToken, baseUrl: server.url, maxRetries: 60, timeoutMs: 5_000 })

    const orders = sized(500, given)
    const kills = sized(KILLS, given)
    const sent: Sent[] = []
    const acknowledged: Acknowledged[] = []

    /** Reports an order until it is acknowledged, as an import does. */
    const report = async (client: ReferralClient, { id, amountCents }: Sent): Promise<void> => {
      const order = { externalOrderId: id, amountCents, couponCode: 'NISA16' }
      const start = async () => client.events.conversion(order, { headers: { 'X-Order': id } })
      let next = start
      for (;;) {
        proxy.expect(id)
        try {
          const { commission } = await next()
          proxy.ended(id, 'succeeded')
          acknowledged.push({ id, amountCents, text: '', commissionId: commission.id ?? '' })
          return
        } catch (error) {
          if (!(error instanceof ReferralError)) throw error
          if (error instanceof UnknownOutcomeError) {
            assert.equal(error.canReconcile, true)
            proxy.ended(id, 'unknown, reconciled')
            next = () => error.reconcile() as ReturnType<typeof start>
          } else {
            // Every other error promises that nothing was recorded.
            const { error: missing } = await admin.orders.explain(id).safe()
            assert.equal(missing?.code, 'order_not_found', `${id} was recorded, in spite of ${error}`)
            proxy.ended(id, 'failed, not recorded')
            next = start
          }
        }
      }
    }
    const work = async (apiKey: string) => {
      const logger = { debug: () => {}, warn: () => {} }
      const client = createReferralClient({ apiKey, baseUrl: proxy.url, timeoutMs: 1_000, logger })
      while (sent.length < orders) {
        const order = { id: `o-${sent.length}`, amountCents: Math.floor(Math.random() * 50_000) + 1 }
        sent.push(order)
        await report(client, order)
      }
    }
    const kill = async () => {
      for (let kill = 1; kill <= kills; kill++) {
        while (acknowledged.length < (orders * kill) / (kills + 1)) await sleep(10)
        await server.stop('SIGKILL')
        await sleep(300)
        server = await world.start()
      }
    }
    await Promise.all([kill(), ...keys.map(work)])
    proxy.stop()
    await server.stop()
    await world.look((db) => checkLedger(db, { sent, acknowledged }))
    assert.equal(new Set(acknowledged.map(({ id }) => id)).size, orders)
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    if (given.scale === 1) console.table(proxy.rows)
    const { requests, broken } = proxy.counts()
    return `${figure(orders)} orders in ${figure(requests)} requests, of which ${figure(broken)} were broken in ${KINDS.length} ways, and ${kills} kills: 0 lost, 0 duplicated`
  },
}

/** The proxy, with a table of what happened to the calls. */
async function startProxy(server: () => RunningServer) {
  const rows = KINDS.map((kind): Row => {
    const none = { succeeded: 0, 'unknown, reconciled': 0, 'failed, not recorded': 0 }
    return { kind, calls: 0, ...none }
  })
  /** By order: the row of the first attempt of the current call, null when nothing broke it. */
  const first = new Map<string, Row | null>()
  let [requests, broken] = [0, 0]
  const { url, stop } = await startBreakingProxy(
    () => server().url,
    ({ headers }) => {
      const order = String(headers['x-order'])
      const kind = Math.random() < BROKEN ? KINDS[Math.floor(Math.random() * KINDS.length)] : undefined
      requests++
      if (kind) broken++
      if (!first.has(order)) first.set(order, rows.find((row) => row.kind === kind) ?? null)
      return kind
    },
  )
  return {
    url,
    stop,
    rows,
    counts: () => ({ requests, broken }),
    expect: (order: string) => void first.delete(order),
    ended: (order: string, how: Exclude<keyof Row, 'kind' | 'calls'>) => {
      const row = first.get(order)
      if (!row) return
      row.calls++
      row[how]++
    },
  }
}
