import assert from 'node:assert/strict'
import { until, withAffiliate } from '../../support/calls.ts'
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts'
import { figure, type LongTest, Missing, type RunOptions, sized } from '../guarantee.ts'
import { checkLedger } from '../ledger.ts'
import { Load } from '../load.ts'
import { createWorld } from '../world.ts'

const BYTES = 64 * 1024 * 1024

/** Fills the disk and frees space again, under load. */
async function fillAndFree(disk: SmallDisk, load: Load): Promise<void> {
  const before = load.refused.get(503) ?? 0
  await disk.fill()
  await until(() => (load.refused.get(503) ?? 0) > before + 24, 20_000, 'a full disk')
  disk.free()
  const acknowledged = load.acknowledged.length
  await until(() => load.acknowledged.length > acknowledged + 48, 20_000, 'going on')
}

export const guarantee: LongTest = {
  title: 'A full disk loses no acknowledged order',
  minutes: 6,
  run: async (options) => {
    const disk = mountSmallDisk(BYTES)
    if (!disk) throw new Missing('mounting a small file system is not permitted')
    return run(options, disk)
  },
}

async function run(options: RunOptions, disk: SmallDisk): Promise<string> {
  const world = await createWorld(options, {}, disk)
  const times = sized(5, options)
  const { keys } = await world.createShop(32)
  const server = await world.start()
  await withAffiliate(server, keys[0]!)
  const load = new Load(keys)
  load.aim(server)
  load.start()
  for (let i = 0; i < times; i++) await fillAndFree(disk, load)
  await load.stop()
  assert.deepEqual([...load.refused.keys()], [503], 'refused with 503 and nothing else')
  assert.equal(load.unanswered, 0, 'every call was answered')
  assert.equal(await server.stop(), 0)
  await world.look((db) => checkLedger(db, load))
  assert.deepEqual(await world.problems(), [])
  await world.remove()
  return `filled and freed ${times} times under load: ${figure(load.refused.get(503) ?? 0)} calls refused with 503, ${figure(load.acknowledged.length)} acknowledged, 0 lost, 0 doubled, no restart`
}
