import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until, withAffiliate } from '../../support/calls.ts'
import { temporaryFolder } from '../../support/process.ts'
import { figure, type LongTest, Missing, sized } from '../guarantee.ts'
import { checkLedger } from '../ledger.ts'
import { Load } from '../load.ts'
import { createWorld, type World } from '../world.ts'

const BYTES = 64 * 1024 * 1024

/** A separate small file system. */
function mountSmall(): ReturnType<typeof temporaryFolder> {
  const folder = temporaryFolder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${BYTES}`, 'tmpfs', folder.path])
  const remove = () => {
    spawnSync('umount', ['-l', folder.path])
    folder.remove()
  }
  if (status === 0) return { path: folder.path, remove }
  folder.remove()
  throw new Missing('mounting a small file system is not permitted')
}

/** Fills the disk and frees space again, under load. */
async function fillAndFree({ folder }: World, load: Load): Promise<void> {
  const ballast = join(folder, 'ballast')
  const before = load.refused.get(503) ?? 0
  // Writes as much as fits.
  assert.throws(() => writeFileSync(ballast, Buffer.alloc(BYTES)), { code: 'ENOSPC' })
  await until(() => (load.refused.get(503) ?? 0) > before + 24, 20_000, 'a full disk')
  rmSync(ballast)
  const acknowledged = load.acknowledged.length
  await until(() => load.acknowledged.length > acknowledged + 48, 20_000, 'going on')
}

export const guarantee: LongTest = {
  title: 'A full disk loses no acknowledged order',
  minutes: 6,
  run: async (given) => {
    const world = await createWorld(given, {}, mountSmall())
    return run(world, sized(5, given)).finally(world.remove)
  },
}

async function run(world: World, times: number): Promise<string> {
  const { keys } = await world.createShop(32)
  const server = await world.start()
  await withAffiliate(server, keys[0]!)
  const load = new Load(keys)
  load.aim(server)
  load.start()
  for (let i = 0; i < times; i++) await fillAndFree(world, load)
  await load.stop()
  assert.deepEqual([...load.refused.keys()], [503], 'refused with 503 and nothing else')
  assert.equal(load.unanswered, 0, 'every call was answered')
  assert.equal(await server.stop(), 0)
  await world.look((db) => checkLedger(db, load))
  assert.deepEqual(await world.problems(), [])
  return `filled and freed ${times} times under load: ${figure(load.refused.get(503) ?? 0)} calls refused with 503, ${figure(load.acknowledged.length)} acknowledged, 0 lost, 0 doubled, no restart`
}
