import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../../server/src/database/database.ts'
import { TABLE_NAMES } from '../../../server/src/database/personal-data.ts'
import { call, withAffiliate } from '../../support/calls.ts'
import { freePort, type RunningServer } from '../../support/process.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'
import { createWorld } from '../world.ts'

const ORDERS = 10_000
/** Orders of other customers, one for this many. */
const OTHERS = 20
const CALLERS = 16
const MAX_KILLS = 40
const EMAIL = 'Zoe.Canary@example.com'

/** Orders of one customer, each with a refund reason, a stored response, and an event that waits to be sent. */
async function reportOrders(server: RunningServer, keys: string[], orders: number): Promise<void> {
  await withAffiliate(server, keys[0]!)
  const webhook = { url: 'https://hooks.invalid/a', extendedEvents: true, retryPolicy: 'standard' }
  assert.equal((await call(server, keys[0]!, ['POST', '/api/v1/webhooks', webhook])).status, 200)
  let n = 0
  const caller = async () => {
    for (let i = n++; i < orders; i = n++) {
      const isOther = i % OTHERS === 0
      const customerEmail = isOther ? `other-${i}@example.com` : EMAIL.replace('@', `+${i % 3}@`)
      const order = { externalOrderId: isOther ? `o-${i}` : `order-${i}-of-${EMAIL}`, customerEmail, amountCents: 1000 }
      const body = { type: 'conversion', ...order, couponCode: 'NISA16', sessionId: `s-${i}` }
      const { status, text } = await call(server, keys[i % keys.length]!, ['POST', '/api/v1/events', body, `key-${i}`])
      assert.equal(status, 201, text)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
}

const sumsOf = async (db: Database) =>
  (
    await sql<object>`
      select count(*) as "count", sum("commissionAmountCents") as "cents", min("orderStatus") as "status"
      from "commissions"`.execute(db.read as never)
  ).rows

/** How many rows of each table contain the person. */
async function tracesIn(db: Database): Promise<string[]> {
  const traces: string[] = []
  for (const table of TABLE_NAMES) {
    const { rows } = await sql<object>`select * from ${sql.table(table)}`.execute(db.read as never)
    const found = rows.filter((row) => /canary/i.test(JSON.stringify(row))).length
    if (found > 0) traces.push(`${found} rows of ${table}`)
  }
  return traces
}

/** The process is killed again and again during one erasure, which the next start continues. */
export const guarantee: LongTest = {
  title: 'An erasure is completed when the process is killed',
  engines: ['sqlite', 'postgres'],
  minutes: 40,
  run: async (options: RunOptions) => {
    const world = await createWorld(options, { PORT: String(await freePort()) })
    const orders = sized(ORDERS, options)
    let server = await world.start()
    const { ownerToken, keys } = await world.createShop(20)
    await reportOrders(server, keys, orders)
    const before = await world.look(sumsOf)
    const erase = () =>
      call(server, ownerToken, ['POST', '/admin/v1/privacy/erasures', { email: EMAIL }]).catch(() => undefined)
    let kills = 0
    let done = erase()
    // From the search for the ids to the last rows: the erasure advances between kills, whatever the speed of the machine.
    for (let ms = 200; kills < MAX_KILLS; ms = Math.min(ms * 1.3, 3000)) {
      if ((await Promise.race([done, sleep(ms)]))?.body.data.status === 'DONE') break
      await server.stop('SIGKILL')
      kills++
      server = await world.start()
      done = erase()
    }
    let reply = await done
    while (reply?.body.data?.status === 'RUNNING') reply = await erase()
    assert.equal(reply?.body.data?.status, 'DONE', String(reply?.text))
    await server.stop()
    assert.deepEqual(await world.look(tracesIn), [])
    assert.deepEqual(await world.look(sumsOf), before)
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    assert.ok(kills > 0, 'the erasure ended before the first kill')
    return `${figure(orders)} orders, ${kills} kills: no row contains the person, and sums, replays, and the audit chain are as before`
  },
}
