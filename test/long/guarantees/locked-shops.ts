import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Answer, call, withAffiliate } from '../../support/calls.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { createWorld } from '../world.ts'

/** Three times the connections for writing. */
const LOCKED = 24
const ORDERS_EACH = 1
const CALLERS = 4
const ORDERS = 100
/** The guarantee. */
const MAX_RATIO = 2
/** Between the orders of locked shops: orders that arrive together could wait in one transaction. */
const ARRIVAL_MS = 25

const p99 = (times: number[]) => times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1]!

/** Rounds of orders of a free shop, in turn alone and while another transaction has locked 24 shops that have orders. */
export const guarantee: LongTest = {
  title: 'A locked shop delays no other shop, and loses no order',
  engines: ['postgres'],
  minutes: 10,
  run: async (given) => {
    const world = await createWorld(given)
    const [free, ...locked] = await Promise.all(
      Array.from({ length: LOCKED + 1 }, (_, n) => world.createShop(n === 0 ? 32 : 2)),
    )
    const server = await world.start()
    for (const { keys } of [free!, ...locked]) await withAffiliate(server, keys[0]!)
    const lock = new pg.Client(world.url)
    await lock.connect()
    const shopIds = locked.map(({ shopId }) => shopId)
    let made = 0
    const order = (keys: string[], id = `o-${++made}`): Promise<Answer> => {
      const body = { externalOrderId: id, amountCents: 1000, couponCode: 'NISA16' }
      return call(server, keys[made % keys.length]!, ['POST', '/api/v1/events', body, id])
    }
    const loadFree = async (times: number[]) => {
      const send = async () => {
        for (let n = 0; n < ORDERS / CALLERS; n++) {
          const startedAt = performance.now()
          assert.equal((await order(free!.keys)).status, 201)
          times.push(performance.now() - startedAt)
        }
      }
      await Promise.all(Array.from({ length: CALLERS }, send))
    }
    const [alone, neighbors]: [number[], number[]] = [[], []]
    const rounds = sized(20, given)
    let recorded = 0
    let repeated = 0
    await loadFree([])
    for (let round = 0; round < rounds; round++) {
      await loadFree(alone)
      await lock.query('begin')
      await lock.query('select from "auditHeads" where "shopId" = any($1) for update', [shopIds])
      const ids = locked.flatMap(({ keys }, n) =>
        Array.from({ length: ORDERS_EACH }, (_, i) => ({ keys, id: `locked-${round}-${n}-${i}` })),
      )
      const pending: Promise<Answer>[] = []
      for (const { keys, id } of ids) {
        pending.push(order(keys, id))
        await sleep(ARRIVAL_MS)
      }
      await loadFree(neighbors)
      await lock.query('rollback')
      const statuses = (await Promise.all(pending)).map(({ status }) => status)
      assert.deepEqual(
        statuses.filter((status) => status !== 201 && status !== 503),
        [],
      )
      for (const [n, { keys, id }] of ids.entries()) {
        if (statuses[n] === 201) continue
        repeated++
        assert.equal((await order(keys, id)).status, 201)
      }
      recorded += ids.length
    }
    await lock.end()
    const rows = await world.look((db) =>
      db.read.selectFrom('commissions').select('id').where('externalOrderId', 'like', 'locked-%').execute(),
    )
    assert.equal(rows.length, recorded, 'one commission for each order of a locked shop')
    await server.stop()
    assert.deepEqual(await world.problems(), [])
    await world.remove()
    const ratio = p99(neighbors) / p99(alone)
    const times = `p99 of ${figure(alone.length)} orders each: ${p99(alone).toFixed(1)} ms alone, ${p99(neighbors).toFixed(1)} ms while ${LOCKED} other shops are locked (${ratio.toFixed(2)} ×)`
    if (ratio > MAX_RATIO) throw new Error(times)
    return `${times}; ${figure(recorded)} orders of locked shops: 0 lost, 0 doubled, ${repeated} rejected with 503 and repeated`
  },
}
