import { foreignTo, trespass } from '../../fuzz/tenants.ts'
import { fuzzed, fuzzWorld } from '../../fuzz/world.ts'
import { figure, type Given, type LongTest, sized } from '../guarantee.ts'

async function run(given: Given): Promise<string> {
  const seed = Date.now() % 2 ** 31
  const numRuns = sized(given.engine === 'postgres' ? 20 : 150, given)
  const ops = fuzzed.filter(({ isPublic }) => !isPublic)
  const world = await fuzzWorld()
  const foreign = foreignTo(world)
  let calls = 0
  try {
    for (const op of ops) {
      calls += await trespass(world, foreign, op, { numRuns, seed }).catch((error) => {
        throw new Error(`${op.id}, seed ${seed}: ${error.message}`)
      })
    }
  } finally {
    await world.server.close()
  }
  return `${figure(calls)} calls of a stranger to ${ops.length} operations with ids of another shop in every place: 0 of its ${foreign.texts.length} texts told, 0 of its rows changed`
}

export const guarantee: LongTest = {
  title: 'A shop never reads or changes data of another shop',
  engines: ['sqlite', 'postgres'],
  minutes: 5,
  run,
}
