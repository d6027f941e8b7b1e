import { call, withAffiliate } from '../support/calls.ts'
import { freePort, type RunningServer } from '../support/process.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import type { RunOptions } from './guarantee.ts'
import { Load } from './load.ts'
import { createWorld, type World } from './world.ts'

export interface UnderLoad {
  world: World
  receiver: Receiver
  load: Load
  /** The first server; the load is not directed to it yet. */
  server: RunningServer
}

/** A server on a port that it keeps, a shop with a subscriber, and callers who report orders. */
export async function startUnderLoad(options: RunOptions): Promise<UnderLoad> {
  const receiver = await startReceiver()
  const world = await createWorld(options, { REFERRAL_WEBHOOK_ALLOW: receiver.host, PORT: String(await freePort()) })
  const { keys } = await world.createShop(64)
  const load = new Load(keys)
  const server = await world.start()
  await withAffiliate(server, keys[0]!)
  await call(server, keys[0]!, ['POST', '/api/v1/webhooks', { url: receiver.at('/ok'), secret: 'shh' }])
  load.start()
  return { world, receiver, load, server }
}
