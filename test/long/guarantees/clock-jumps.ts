import assert from 'node:assert/strict'
import { call, until, withAffiliate } from '../../support/calls.ts'
import { startReceiver } from '../../webhooks/receiver.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { checkLedger } from '../ledger.ts'
import { Load } from '../load.ts'
import { createWorld } from '../world.ts'

const CLOCK = new URL('../clock.ts', import.meta.url).href
const REPLAYED = 16

/** The wall clock of a server under load jumps: hours, days and a year, forwards and backwards. */
export const guarantee: LongTest = {
  title: 'Clock jumps lose and duplicate nothing',
  engines: ['sqlite', 'postgres'],
  minutes: 2,
  run: async (given) => {
    const receiver = await startReceiver()
    const world = await createWorld(given, { REFERRAL_WEBHOOK_ALLOW: receiver.host })
    const { keys } = await world.createShop(64)
    const server = await world.start({ NODE_OPTIONS: `--import ${CLOCK}` })
    await withAffiliate(server, keys[0]!)
    await call(server, keys[0]!, ['POST', '/api/v1/webhooks', { url: receiver.at('/ok'), secret: 'shh' }])
    const load = new Load(keys)
    load.aim(server)
    load.start()
    const jumps = sized(16, given)
    for (let jump = 0; jump < jumps; jump++) {
      process.kill(server.pid, 'SIGUSR2')
      const enough = load.acknowledged.length + 60
      await until(() => load.acknowledged.length > enough, 20_000, `going on after jump ${jump}`)
      const earlier = load.acknowledged.filter(() => Math.random() < REPLAYED / load.acknowledged.length)
      const again = await Promise.all(earlier.map((order, n) => load.repeat(order, server, n)))
      const said = again.map(({ text, headers }) => [text, headers.get('Idempotent-Replayed')])
      assert.deepEqual(
        said,
        earlier.map(({ text }) => [text, 'true']),
        `replays after jump ${jump}`,
      )
    }
    await load.stop()
    await until(() => receiver.received.length >= load.acknowledged.length, 20_000, 'all events sent')
    assert.equal(await server.stop(), 0)
    await world.look((db) => checkLedger(db, load))
    assert.deepEqual(await world.problems(), [])
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.deepEqual([ids.length, new Set(ids).size], [load.acknowledged.length, load.acknowledged.length])
    assert.deepEqual([...load.refused.keys()], [], 'nobody was refused')
    receiver.stop()
    await world.remove()
    return `${jumps} jumps under load, up to 366 days: ${figure(load.acknowledged.length)} orders, 0 lost, 0 doubled, 0 refused, replays identical, each event sent once`
  },
}
