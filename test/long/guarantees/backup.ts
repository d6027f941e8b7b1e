import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { backup, restore } from '../../../server/src/database/backup.ts'
import { openDatabase } from '../../../server/src/database/open.ts'
import { check } from '../../../server/src/operator/check.ts'
import { until, withAffiliate } from '../../support/calls.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { Load } from '../load.ts'
import { createWorld } from '../world.ts'

/** The content of a backup that is restored elsewhere. */
async function restored(file: string, folder: string) {
  const target = join(folder, 'restored.db')
  await restore(file, `file:${target}`)
  const db = await openDatabase(`file:${target}`)
  try {
    const rows = await db.read.selectFrom('commissions').select('id').execute()
    return { ids: new Set(rows.map(({ id }) => id)), problems: (await check({ db })).problems }
  } finally {
    await db.close()
    for (const ending of ['', '-wal', '-shm']) rmSync(target + ending, { force: true })
  }
}

/** Creates backups under load, and restores and reads each of them. */
export const guarantee: LongTest = {
  title: 'A backup under load contains every change acknowledged before it started',
  minutes: 6,
  run: async (given) => {
    const world = await createWorld(given)
    const { keys } = await world.createShop(64)
    const server = await world.start()
    await withAffiliate(server, keys[0]!)
    const load = new Load(keys)
    load.aim(server)
    load.start()
    const times = sized(30, given)
    for (let n = 0; n < times; n++) {
      const enough = load.acknowledged.length + 40
      await until(() => load.acknowledged.length > enough, 20_000, 'load')
      await sleep(Math.random() * 50)
      const before = load.acknowledged.map(({ commissionId }) => commissionId)
      const file = join(world.folder, `backup-${n}.db`)
      await backup(world.url, file)
      const { ids, problems } = await restored(file, world.folder)
      assert.deepEqual([before.filter((id) => !ids.has(id)), problems], [[], []], `backup ${n}`)
      rmSync(file)
    }
    await load.stop()
    await server.stop()
    await world.remove()
    assert.deepEqual([...load.refused.keys()], [], 'no request was refused')
    return `${times} backups and restores under load, ${figure(load.acknowledged.length)} orders: none lacks one, all are sound, nobody was refused`
  },
}
