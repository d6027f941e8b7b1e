import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../support/calls.ts'
import type { RunningServer } from '../../support/process.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { checkLedger } from '../ledger.ts'
import type { Load } from '../load.ts'
import { startUnderLoad } from '../under-load.ts'
import type { World } from '../world.ts'

/** How many of the latest acknowledged orders are reported again after each kill; these could have been lost. */
const LATEST = 16
/** A server is killed at the latest after it acknowledged this many orders, or after this time. */
const MAX_ORDERS = 96
const MAX_LOAD_MS = 3000

/** Waits until the load has received a random number of further responses, and a moment longer. */
async function someLoad({ acknowledged }: Load): Promise<void> {
  const enough = acknowledged.length + Math.random() * MAX_ORDERS
  const deadline = performance.now() + MAX_LOAD_MS
  while (acknowledged.length < enough && performance.now() < deadline) await sleep(5)
  await sleep(Math.random() * 20)
}

async function expectReplays(load: Load, server: RunningServer): Promise<void> {
  const latest = load.acknowledged.slice(-LATEST)
  const again = await Promise.all(latest.map((order, n) => load.repeat(order, server, n)))
  const said = again.map(({ text, headers }) => [text, headers.get('Idempotent-Replayed')])
  assert.deepEqual(
    said,
    latest.map(({ text }) => [text, 'true']),
    'acknowledged requests are replayed byte-identical',
  )
}

const waiting = ({ look }: World) =>
  look(async ({ read }) => {
    const pending = read.selectFrom('deliveries').where('status', '=', 'PENDING')
    return Number((await pending.select(({ fn }) => fn.countAll<number>().as('n')).executeTakeFirst())?.n)
  })

/** The server is killed at random moments under load and started again; then the database is compared with the responses. */
export const guarantee: LongTest = {
  title: 'An acknowledged conversion is neither lost nor duplicated (kill -9)',
  engines: ['sqlite', 'postgres'],
  minutes: 12,
  run: async (given) => {
    const { world, receiver, load, server: first } = await startUnderLoad(given)
    let server = first
    const kills = sized(200, given)
    for (let kill = 0; kill < kills; kill++) {
      load.aim(server)
      await someLoad(load)
      await server.stop('SIGKILL')
      load.aim(undefined)
      server = await world.start()
      await expectReplays(load, server)
    }
    load.aim(server)
    await load.stop()
    await until(async () => (await waiting(world)) === 0, 60_000, 'all events sent')
    await server.stop()
    await world.look((db) => checkLedger(db, load))
    const deliveries = await world.look(({ read }) => read.selectFrom('deliveries').select('webhookId').execute())
    const received = receiver.received.map(({ headers }) => headers['webhook-id'])
    const arrived = new Set(received)
    assert.deepEqual(
      deliveries.filter(({ webhookId }) => !arrived.has(webhookId)),
      [],
      'every event arrives',
    )
    assert.equal(deliveries.length, load.acknowledged.length)
    assert.deepEqual(await world.problems(), [])
    assert.deepEqual([...load.refused.keys()], [], 'no other answer was given')
    receiver.stop()
    await world.remove()
    const repeated = received.length - arrived.size
    return `${kills} kills, ${figure(load.acknowledged.length)} acknowledged, 0 lost, 0 doubled, ${figure(load.unanswered)} cut off and repeated; ${figure(arrived.size)} events arrived, ${figure(repeated)} of them twice`
  },
}
