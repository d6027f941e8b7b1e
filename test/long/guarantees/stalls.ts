import { heavyRequests, stallOf } from '../../fuzz/heavy.ts'
import { fuzzWorld } from '../../fuzz/world.ts'
import { type LongTest, type RunOptions, sized } from '../guarantee.ts'

const MS = 50

async function run(options: RunOptions): Promise<string> {
  const world = await fuzzWorld()
  const tries = sized(10, options)
  const heavies = heavyRequests(world)
  let worst = { ms: 0, name: '' }
  try {
    for (const heavy of heavies) {
      const { ms, status } = await stallOf(world, heavy, { tries })
      if (status >= 500) throw new Error(`${heavy.name} was answered ${status}`)
      if (ms > worst.ms) worst = { ms, name: heavy.name }
    }
  } finally {
    await world.server.close()
  }
  const figure = `${worst.ms.toFixed(1)} ms at worst (${worst.name}) of ${heavies.length} requests of up to 4 MiB`
  if (worst.ms > MS) throw new Error(`${figure}; ${MS} ms are promised`)
  return figure
}

export const guarantee: LongTest = {
  title: 'No request blocks the others',
  engines: ['sqlite', 'postgres'],
  minutes: 2,
  run,
}
