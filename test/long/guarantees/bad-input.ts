import { fuzz, type Tally } from '../../fuzz/check.ts'
import { fuzzPages, readPages, sessionOf } from '../../fuzz/pages.ts'
import { fuzzed, fuzzWorld } from '../../fuzz/world.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'

async function run(options: RunOptions): Promise<string> {
  const seed = Date.now() % 2 ** 31
  const runs = sized(options.engine === 'postgres' ? 30 : 250, options)
  const world = await fuzzWorld()
  const tallies: Tally[] = []
  let visits = 0
  try {
    for (const op of fuzzed) {
      const tally = await fuzz(world, op, runs, seed).catch((error) => {
        throw new Error(`${op.id}, seed ${seed}: ${error.message}`)
      })
      tallies.push(tally)
    }
    const session = await sessionOf(world, world.server.shop.ownerToken)
    const pages = await readPages(world, session)
    visits = await fuzzPages(world, { pages, session }, { numRuns: Math.ceil(runs / 3), seed })
  } finally {
    await world.server.close()
  }
  const count = (from: number, to: number) =>
    tallies
      .flatMap(({ byStatus }) => Object.entries(byStatus))
      .filter(([status]) => Number(status) >= from && Number(status) < to)
      .reduce((sum, [, calls]) => sum + calls, 0)
  return `${figure(count(0, 600))} calls of ${fuzzed.length} operations, ${figure(count(400, 500))} refused and nothing changed, ${figure(count(200, 300))} done, ${figure(visits)} visits of the dashboard, 0 bugs, 0 replies against the document`
}

export const guarantee: LongTest = {
  title: 'Invalid input causes no fault',
  engines: ['sqlite', 'postgres'],
  minutes: 6,
  run,
}
