import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../support/calls.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { checkLedger } from '../ledger.ts'
import { startUnderLoad } from '../under-load.ts'
import type { World } from '../world.ts'

const storedOrders = ({ look }: World) =>
  look(async ({ read }) => {
    const rows = await read.selectFrom('commissions').select('externalOrderId').execute()
    return new Set(rows.map(({ externalOrderId }) => externalOrderId ?? ''))
  })

/**
 * Repeated SIGTERM under load. Every request that the server processed got a response: whatever it stored, it reported.
 * Connections that were no longer accepted are not counted.
 */
export const guarantee: LongTest = {
  title: 'SIGTERM resets no accepted request and loses no event',
  engines: ['sqlite', 'postgres'],
  minutes: 10,
  run: async (given) => {
    const { world, receiver, load, server: first } = await startUnderLoad(given)
    let server = first
    const stops = sized(50, given)
    let longest = 0
    for (let stop = 0; stop < stops; stop++) {
      load.aim(server)
      const enough = load.acknowledged.length + Math.random() * 60
      await until(() => load.acknowledged.length > enough, 20_000, 'load')
      await sleep(Math.random() * 30)
      const at = performance.now()
      const stopping = server.stop('SIGTERM')
      assert.equal(await stopping, 0, `it ended with 0: ${server.log()}`)
      longest = Math.max(longest, performance.now() - at)
      load.aim(undefined)
      // Sent responses may not have reached the callers yet.
      await sleep(50)
      const told = new Set(load.acknowledged.map(({ id }) => id))
      const untold = [...(await storedOrders(world))].filter((id) => !told.has(id))
      assert.deepEqual(untold, [], 'what was stored was answered')
      server = await world.start()
    }
    load.aim(server)
    await load.stop()
    await server.stop()
    await world.look((db) => checkLedger(db, load))
    const received = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.deepEqual([...load.refused.keys()], [], 'nobody was refused')
    assert.equal(new Set(received).size, load.acknowledged.length, 'every event arrives')
    assert.equal(received.length, load.acknowledged.length, 'and once')
    receiver.stop()
    await world.remove()
    return `${stops} stops, ${figure(load.acknowledged.length)} orders: each one stored was answered, each event sent once, the longest stop ${Math.round(longest)} ms`
  },
}
